"""What a detector was shown and what it said: images, ground truth and predictions as columns, ids and boxes as in the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from core.digest import sha256_bytes

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Task = Literal["detection", "segmentation", "classification"]
Half = Literal["discovery", "verification"]


@dataclass(frozen=True)
class Image:
    """One image that was evaluated.

    Attributes:
        id: As in the file, as text.
        file_name: As in the file, relative to where the images lie.
        width: Pixels; 0 where neither the file nor the image tells.
        height: Pixels; 0 likewise.
        path: Where its file lies, None if the images were not given or it is missing.
        split: Part of the data set, such as "train" or "val"; "" if not known.
        sha256: Of the file's bytes, "" without a file.
    """

    id: str
    file_name: str
    width: int
    height: int
    path: Path | None = None
    split: str = ""
    sha256: str = ""

    @property
    def half(self) -> Half:
        """Which half of the data it belongs to: hypotheses born on one half are tested on the other.

        By hash of the image, so that two copies of a picture fall into the same half; of its id where there is no file.
        """
        return "discovery" if int(self.sha256 or sha256_bytes(self.id.encode()), 16) % 2 else "verification"


@dataclass(frozen=True)
class ClassName:
    """A class as the file names it.

    Attributes:
        id: As in the file, as text; never counted anew.
        name: For people and for mappings.
    """

    id: str
    name: str


@dataclass(frozen=True)
class Rle:
    """A mask in COCO's compressed run lengths.

    Attributes:
        size: Height and width, pixels.
        counts: Run lengths as pycocotools writes them.
    """

    size: tuple[int, int]
    counts: bytes


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of one side, n of them, as columns.

    Attributes:
        ids: Shape (n,): annotation ids of the file, or running numbers of the predictions in the order of the file.
        image: Shape (n,): index into the images.
        cls: Shape (n,): index into the classes; -1 for an ignore region of any class.
        xyxy: Shape (n, 4): left, top, right, bottom, px, floats as in the file, not clipped.
        score: Shape (n,): confidence of a prediction; NaN for ground truth.
        ignore: Shape (n,): crowd, DontCare or another region whose predictions count for nothing; all False for predictions.
        area: Shape (n,): px², as the file says, else of the mask, else of the box.
        truncated: Shape (n,): 0 to 1 (KITTI); NaN where not told.
        occluded: Shape (n,): 0 visible, 1 partly, 2 largely (KITTI); NaN where not told or unknown.
        masks: Shape (n,) or None: masks where the file has them.
        slices: Shape (n,) or None: name of the slice that experts put it into (GESD), "" for none.
    """

    ids: tuple[str, ...]
    image: IntArray
    cls: IntArray
    xyxy: FloatArray
    score: FloatArray
    ignore: BoolArray
    area: FloatArray
    truncated: FloatArray
    occluded: FloatArray
    masks: tuple[Rle | None, ...] | None = None
    slices: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls,
        image: Any,
        classes: Any,
        xyxy: Any,
        *,
        ids: Any = None,
        score: Any = None,
        ignore: Any = None,
        area: Any = None,
        truncated: Any = None,
        occluded: Any = None,
        masks: tuple[Rle | None, ...] | None = None,
        slices: tuple[str, ...] | None = None,
    ) -> Boxes:
        """Columns from anything that numpy takes; what is not given has its neutral value, ids count from 0."""
        box = np.asarray(xyxy, np.float64).reshape(-1, 4)
        n = len(box)

        def column(given: Any, neutral: float) -> FloatArray:
            return np.full(n, neutral) if given is None else np.asarray(given, np.float64)

        sides = np.maximum(box[:, 2:] - box[:, :2], 0)
        return cls(
            ids=tuple(str(i) for i in (range(n) if ids is None else ids)),
            image=np.asarray(image, np.int64).reshape(-1),
            cls=np.asarray(classes, np.int64).reshape(-1),
            xyxy=box,
            score=column(score, np.nan),
            ignore=np.zeros(n, bool) if ignore is None else np.asarray(ignore, bool),
            area=sides.prod(1) if area is None else np.asarray(area, np.float64),
            truncated=column(truncated, np.nan),
            occluded=column(occluded, np.nan),
            masks=masks,
            slices=slices,
        )


@dataclass(frozen=True, eq=False)
class Classified:
    """What a classifier said of each image, n rows.

    Attributes:
        image: Shape (n,): index into the images.
        label: Shape (n,): index into the classes.
        prediction: Shape (n,): index into the classes.
        group: Shape (n,): name of the group, "" for none.
    """

    image: IntArray
    label: IntArray
    prediction: IntArray
    group: tuple[str, ...]


@dataclass(frozen=True)
class SourceReport:
    """What a reader met and did.

    Attributes:
        format: Which reader.
        files: Names of the files read.
        counts: How many of what was read or left out, by a name that a screen can show, e.g. "crowd regions".
        problems: What was left out or changed, one sentence each, with the place in the file.
        unmapped: Classes of the predictions that no class of the ground truth matches, with how many predictions they have, all left out.
    """

    format: str
    files: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unmapped: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "format": self.format,
            "files": list(self.files),
            "counts": dict(self.counts),
            "problems": list(self.problems),
            "unmapped": dict(self.unmapped),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SourceReport:
        """The reverse of `to_json`."""
        return cls(data["format"], tuple(data["files"]), dict(data["counts"]), tuple(data["problems"]), dict(data["unmapped"]))


@dataclass(frozen=True, eq=False)
class DetectionSet:
    """One model's predictions on one set of images with ground truth.

    Attributes:
        name: For people.
        model: Name of the model that predicted, "" if not known.
        task: What it does.
        classes: In the order of the file.
        images: In the order of the file, those without boxes too.
        truth: Ground truth; empty for a classifier.
        predictions: Every prediction of the file, below the confidence cut too; empty for a classifier.
        classified: What a classifier said, None otherwise.
        report: What the reader did.
        dataset: Name of the data set, "" if not known.
        licence: Of the images, "" if not known.
        synthetic: Whether the images are made up, which every screen says.
        paired: Ground truth and predictions of one id belong together and others of their class do not, by the word of the file (GESD).
    """

    name: str
    model: str
    task: Task
    classes: tuple[ClassName, ...]
    images: tuple[Image, ...]
    truth: Boxes
    predictions: Boxes
    classified: Classified | None = None
    report: SourceReport = field(default_factory=lambda: SourceReport(""))
    dataset: str = ""
    licence: str = ""
    synthetic: bool = False
    paired: bool = False
