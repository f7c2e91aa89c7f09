"""Questions to begin with: what people who validate a driving model ask most (after the query set of SliceNav, appendix G)."""

from __future__ import annotations

FIRST = (
    "Which high-risk conditions have we not validated yet?",
    "We are expanding to construction zones. Which untested scenarios come first?",
    "Find missing foggy highway slices, retrieve test images and evaluate the model.",
)
"""Shown where nothing was asked yet."""

STARTERS: dict[str, tuple[str, ...]] = {
    "Inside the ODD": (
        FIRST[0],
        "Where are the blind spots of our test coverage?",
        FIRST[1],
        "Which night driving edge cases should we test?",
        "We deploy on rural highways. Which scenarios have we not covered?",
    ),
    "At its edge and beyond": (
        "Which scenarios outside our ODD should we test first?",
        "Which untested edge cases could cause failures in deployment?",
        "Which snow and ice scenarios are missing?",
        "Which tunnel and underpass scenarios need testing?",
        "Heavy rain worries us. Which wet road scenarios come first?",
        "Which rush hour congestion scenarios are undertested?",
        "Which dawn and dusk visibility scenarios are missing?",
    ),
    "With samples and an evaluation": (
        "Find high-risk untested scenarios and acquire test samples for evaluation.",
        FIRST[2],
        "Find untested night driving scenarios, generate synthetic test data and run the VLM evaluation.",
    ),
}
"""Fifteen questions by what they lead to."""
