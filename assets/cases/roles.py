"""What each case of the pack is for."""

from __future__ import annotations

EXAMPLES = (
    *("demo-01-altair", "demo-01-vega", "demo-02-deneb", "demo-02-mira", "demo-03-deneb", "demo-03-mira", "demo-04-deneb"),
    *("demo-05-mira", "demo-05-vega", "demo-06-deneb", "demo-07-mira", "demo-07-vega"),
)
"""Cases that the guidance explains."""

TRAINING = (
    *(
        "demo-01-deneb",
        "demo-02-altair",
        "demo-06-vega",
        "demo-08-altair",
        "demo-10-deneb",
        "demo-14-deneb",
        "demo-17-deneb",
        "demo-18-deneb",
    ),
)
"""Cases with the answer given after each."""

LABELLING = (
    *("demo-04-altair", "demo-04-vega", "demo-06-mira", "demo-07-deneb", "demo-08-mira", "demo-08-vega", "demo-09-altair", "demo-10-vega"),
    *("demo-11-deneb", "demo-11-mira", "demo-12-deneb", "demo-12-vega", "demo-13-mira", "demo-13-vega", "demo-14-mira", "demo-14-vega"),
    *(
        "demo-15-altair",
        "demo-16-vega",
        "demo-17-vega",
        "demo-18-altair",
        "demo-19-deneb",
        "demo-20-deneb",
        "demo-20-mira",
        "demo-20-altair",
    ),
)
"""Cases to be labelled; all others are for calibration."""


def role(scene: str, planner: str) -> str:
    """The role of a case."""
    case = f"{scene}-{planner}"
    return "example" if case in EXAMPLES else "training" if case in TRAINING else "labelling" if case in LABELLING else "calibration"
