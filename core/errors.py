"""What a user may get wrong, told so that it can be put right.

Every error that the product raises on purpose is an `OddysseyError`. The command line turns it into exit code 2 with the
text on stderr; pages turn it into an error card. Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One thing wrong in one place of the input.

    Attributes:
        row: 1-based record number in the file (the first record below the header is 1), None if the problem is not in a row.
        column: Column of the file, or path inside a document.
        got: What stands there, as text.
        allowed: What would have been right, in words or as a list of values.
        suggestion: The nearest right thing, "" if there is none.
        kind: Short stable name of the kind of problem, for grouping and counting.
    """

    row: int | None
    column: str
    got: str
    allowed: str
    suggestion: str = ""
    kind: str = "invalid"

    def __str__(self) -> str:
        where = f'Row {self.row}, column "{self.column}"' if self.row is not None else f'"{self.column}"'
        hint = f' Did you mean "{self.suggestion}"?' if self.suggestion else ""
        return f'{where}: got "{self.got}"; allowed: {self.allowed}.{hint}'

    def as_dict(self) -> dict[str, Any]:
        """The problem as JSON-ready data."""
        return asdict(self)


class OddysseyError(Exception):
    """Base of every error that is told to the user."""


class InputError(OddysseyError):
    """The input cannot be used as it is.

    Attributes:
        problems: Every single problem found, so that all can be mended at once.
    """

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = tuple(problems)

    def __str__(self) -> str:
        return "\n".join([str(self.args[0]), *(f"  {p}" for p in self.problems)])


class MissingPackageError(OddysseyError):
    """A feature needs a package that is not installed; the text says which and how to get it."""


class ConflictError(OddysseyError):
    """Somebody else, or another tab, changed the same thing first; nothing was overwritten."""
