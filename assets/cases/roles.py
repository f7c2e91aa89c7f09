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

LABELLING = ("demo-09", "demo-11", "demo-13", "demo-16", "demo-19", "demo-20")
"""Scenes whose cases are to be labelled, those of all planners, so that planners can be compared on the same scenes; all other cases
are for calibration."""


def role(scene: str, planner: str) -> str:
    """The role of a case."""
    case = f"{scene}-{planner}"
    return "example" if case in EXAMPLES else "training" if case in TRAINING else "labelling" if scene in LABELLING else "calibration"
