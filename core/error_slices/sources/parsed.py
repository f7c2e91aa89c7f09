"""What a reader took from its files, before the classes of both sides are put together."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from core.error_slices.detections import ClassName, Rle, Task

Xyxy = tuple[float, float, float, float]
NAN = math.nan
SHOWN = 20
"""Sentences of one kind that a report holds; the rest are counted."""


class Remarks:
    """What a reader left out or changed, by kind: every case is counted, the first of each kind are told with their place."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._told: dict[str, list[str]] = {}
        self._more: Counter[str] = Counter()

    def count(self, kind: str, n: int = 1) -> None:
        """Counts without a sentence."""
        if n:
            self._counts[kind] += n

    def tell(self, kind: str, sentence: str) -> None:
        """Counts one case and tells it."""
        self._counts[kind] += 1
        self.say(kind, sentence)

    def say(self, kind: str, sentence: str) -> None:
        """Tells a case that is counted elsewhere."""
        told = self._told.setdefault(kind, [])
        if len(told) < SHOWN:
            told.append(sentence)
        else:
            self._more[kind] += 1

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind."""
        return dict(self._counts)

    @property
    def problems(self) -> tuple[str, ...]:
        """All sentences, those of one kind together."""
        out: list[str] = []
        for kind, told in self._told.items():
            out += told
            if self._more[kind]:
                out.append(f"… and {self._more[kind]:,} more of this kind: {kind}.")
        return tuple(out)


@dataclass
class ParsedImage:
    """An image as a file names it.

    Attributes:
        id: As text.
        file_name: As in the file, "" if it names none.
        width: Pixels, 0 if the file does not tell.
        height: Pixels, 0 likewise.
        split: Part of the data set, "" if not told.
    """

    id: str
    file_name: str
    width: int = 0
    height: int = 0
    split: str = ""


@dataclass
class ParsedBoxes:
    """Boxes of one side in the order of the file, as growing columns; see `detections.Boxes` for what they mean.

    Attributes:
        cls: Index into the classes of its own side; -1 for any class.
        area: NaN where the file does not tell.
    """

    ids: list[str] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    cls: list[int] = field(default_factory=list)
    xyxy: list[Xyxy] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    ignore: list[bool] = field(default_factory=list)
    area: list[float] = field(default_factory=list)
    truncated: list[float] = field(default_factory=list)
    occluded: list[float] = field(default_factory=list)
    masks: list[Rle | None] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.xyxy)

    def keep(self, rows: list[int]) -> None:
        """Leaves these rows alone, in this order."""
        for name, column in vars(self).items():
            setattr(self, name, [column[i] for i in rows])

    def add(
        self,
        image: int,
        cls: int,
        xyxy: Xyxy,
        *,
        id: str = "",
        score: float = NAN,
        ignore: bool = False,
        area: float = NAN,
        truncated: float = NAN,
        occluded: float = NAN,
        mask: Rle | None = None,
        slice_name: str = "",
    ) -> None:
        """One more box; without an id it gets its position in the file."""
        self.ids.append(id or str(len(self.xyxy)))
        self.image.append(image)
        self.cls.append(cls)
        self.xyxy.append(xyxy)
        self.score.append(score)
        self.ignore.append(ignore)
        self.area.append(area)
        self.truncated.append(truncated)
        self.occluded.append(occluded)
        self.masks.append(mask)
        self.slices.append(slice_name)


@dataclass(frozen=True)
class Labelled:
    """What a classifier said of one image, with indices into the images and into the classes of each side."""

    image: int
    label: int
    prediction: int
    group: str


@dataclass
class Parsed:
    """All of a source.

    Attributes:
        format: Name of the reader.
        files: Names of the files read.
        task: What the model does.
        classes: Of the ground truth, in the order of the file.
        predicted: Of the predictions, with boxes or without.
        by_id: The predictions use the ids of the ground truth and have no names of their own.
        images: In the order of the file.
        complete: `predicted` holds every class that the detector knows, not only those that it found.
        truth: Boxes of the ground truth.
        predictions: Boxes of the predictions.
        labelled: Rows of a classifier, None otherwise.
        remarks: What was left out or changed.
        dataset: Name of the data set, "" if not told.
        licence: Of the images, "" if not told.
        model: Name of the model, "" if not told.
        synthetic: The images are made up, by the file's own word.
        paired: Ground truth and predictions of one id belong together, likewise.
        image_folder: Folder of the images that the source itself names, None if it names none.
    """

    format: str
    files: list[str]
    task: Task
    classes: list[ClassName]
    predicted: list[ClassName]
    images: list[ParsedImage]
    by_id: bool = False
    complete: bool = False
    truth: ParsedBoxes = field(default_factory=ParsedBoxes)
    predictions: ParsedBoxes = field(default_factory=ParsedBoxes)
    labelled: list[Labelled] | None = None
    remarks: Remarks = field(default_factory=Remarks)
    dataset: str = ""
    licence: str = ""
    model: str = ""
    synthetic: bool = False
    paired: bool = False
    image_folder: Path | None = None
