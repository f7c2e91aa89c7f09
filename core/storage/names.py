"""Names that people give: cleaned, unique whatever their case, and a free one at hand."""

from __future__ import annotations

from collections.abc import Collection

from core.errors import InputError

MAX_NAME = 120


def folded(name: str) -> str:
    """The name as it is compared."""
    return name.casefold()


def clean(name: str, noun: str) -> str:
    """The name without needless spaces.

    Raises:
        InputError: It is empty or too long; `noun` says what it would have named.
    """
    out = " ".join(name.split())
    if not out:
        raise InputError(f"A {noun} needs a name.")
    if len(out) > MAX_NAME:
        raise InputError(f"A {noun} name has at most {MAX_NAME} characters; this one has {len(out)}.")
    return out


def free(name: str, taken: Collection[str]) -> str:
    """The name itself if no folded one is equal, else the name with the first free number."""
    candidate, number = name, 1
    while folded(candidate) in taken:
        number += 1
        suffix = f" ({number})"
        candidate = name[: MAX_NAME - len(suffix)] + suffix
    return candidate


def refuse_taken(name: str, taken: Collection[str], noun: str) -> None:
    """Refuse a name that is taken.

    Raises:
        InputError: It is; a free one is suggested.
    """
    if folded(name) in taken:
        raise InputError(f'There is already a {noun} called "{name}". Choose another name, such as "{free(name, taken)}".')
