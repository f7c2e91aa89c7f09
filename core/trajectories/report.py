"""What an importer did with every case that it met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.trajectories.case import Case

Fate = Literal["accepted", "rejected"]


def several(n: int, one: str, many: str) -> str:
    """A number with the words that fit it, "1 image is" or "2 images are"."""
    return f"{n:,} {one if n == 1 else many}"


LONGEST_NAME, LONGEST_NOTE = 300, 2_000
"""Characters of a name and of a note that a report keeps."""


def printable(text: str, most: int = LONGEST_NAME) -> str:
    """A text that can be shown and written whatever it came from."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short if short.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in short)


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    Attributes:
        where: File, line or record, as a person finds it again.
        case_id: "" if it was too broken to have one.
        fate: Whether it is in the set.
        resampled: How its step was changed, "" if it was not.
        notes: What was found and done, one sentence each; reasons where it was rejected.
    """

    where: str
    case_id: str
    fate: Fate
    resampled: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Names come from strangers' files: what cannot be printed, or written as UTF-8, is replaced, and long ones are cut."""
        for name in ("where", "case_id"):
            object.__setattr__(self, name, printable(getattr(self, name)))
        object.__setattr__(self, "notes", tuple(printable(n, LONGEST_NOTE) for n in self.notes))


@dataclass(frozen=True)
class ImportReport:
    """What an importer met and did.

    Attributes:
        source: Name of the file or folder.
        format: Which importer read it.
        outcomes: One a case, in the order of the source.
        remarks: About the whole source, e.g. that handedness was turned.
    """

    source: str
    format: str
    outcomes: tuple[Outcome, ...]
    remarks: tuple[str, ...] = ()

    @property
    def accepted(self) -> int:
        """Cases that are in the set."""
        return sum(o.fate == "accepted" for o in self.outcomes)

    @property
    def rejected(self) -> int:
        """Cases that are not."""
        return sum(o.fate == "rejected" for o in self.outcomes)

    @property
    def resampled(self) -> int:
        """Accepted cases whose step was changed."""
        return sum(bool(o.resampled) and o.fate == "accepted" for o in self.outcomes)

    def reasons(self) -> Counter[str]:
        """How often each note was made."""
        return Counter(note for o in self.outcomes for note in o.notes)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "source": self.source,
            "format": self.format,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "resampled": self.resampled,
            "remarks": list(self.remarks),
            "outcomes": [
                {"where": o.where, "case_id": o.case_id, "fate": o.fate, "resampled": o.resampled, "notes": list(o.notes)}
                for o in self.outcomes
            ],
        }


@dataclass(frozen=True)
class FileSlice:
    """Bytes inside a large file, read only when they are needed.

    Attributes:
        path: The file.
        offset: Where they begin.
        length: How many.
    """

    path: Path
    offset: int
    length: int

    def read_bytes(self) -> bytes:
        """The bytes.

        Raises:
            OSError: The file cannot be read, or has become shorter.
        """
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(self.length)
        if len(data) < self.length:
            raise OSError(f"{self.path.name} ends before byte {self.offset + self.length:,}")
        return data


@dataclass(frozen=True, eq=False)
class Imported:
    """What an importer gives: cases, the images that they need, and the report.

    Attributes:
        cases: Accepted cases.
        images: For each `Frame.path` of the cases where its bytes are: a path on this machine, a `FileSlice`, or the bytes themselves.
        report: What was done.
    """

    cases: Sequence[Case]
    images: dict[str, Any] = field(default_factory=dict)
    report: ImportReport = field(default_factory=lambda: ImportReport("", "", ()))
