"""Whether a slice stands: what people decided goes before what the tests found."""

from __future__ import annotations

from core.error_slices.verification.settings import Tested, Verdict

HOLDS_UP: tuple[Verdict, ...] = ("verified", "elevated")
"""Verdicts under which a slice stands without anybody's word."""


def why_not(tested: Tested | None, said: str | None) -> str:
    """Why a slice does not stand, "" where it does.

    Args:
        tested: What the tests found, None if it was not tested.
        said: What people last decided on the slice as a whole, None if nobody did.
    """
    if said == "reject":
        return "a person rejected it"
    if said == "accept" or (tested is not None and tested.verdict in HOLDS_UP):
        return ""
    return f"it is {'not tested' if tested is None else tested.verdict}, and nobody accepted it"
