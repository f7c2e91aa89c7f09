"""Boxes in text files, one file an image: the lines of YOLO and its relatives."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.error_slices.detections import ClassName
from core.error_slices.sources.coco_masks import mask_of
from core.error_slices.sources.image_files import ImageFolder, header_size
from core.error_slices.sources.json_files import in_reach, is_text, number, readable, short
from core.error_slices.sources.parsed import NAN, Parsed, ParsedBoxes, ParsedImage, Remarks, Xyxy
from core.errors import InputError, Problem

YOLO_TRUTH = "class cx cy w h"
YOLO_PREDICTIONS = "class cx cy w h score"
CORNERS = (("cx", "cy", "w", "h"), ("x", "y", "w", "h"), ("x1", "y1", "x2", "y2"))
FAR = (-0.5, 1.5)
"""Shares of an image beyond which a coordinate is no share of it."""
WRAPPERS = {"labels", "data"}
"""Folders that ultralytics and KITTI's tools put between a folder of predictions and its files."""
MOST_TEXT = 64 * 2**20


@dataclass(frozen=True)
class Layout:
    """What the columns of a line are.

    Attributes:
        columns: Their names in order: class, score and four of a box.
        relative: Whether coordinates are shares of the image rather than pixels.
    """

    columns: tuple[str, ...]
    relative: bool = True

    @classmethod
    def of(cls, columns: str, units: str = "relative") -> Layout:
        """A layout from the words of its columns, such as "class score x1 y1 x2 y2".

        Raises:
            InputError: It is no layout.
        """
        words = tuple(columns.replace(",", " ").split())
        if units not in {"relative", "px"}:
            raise InputError("The units of coordinates are not known.", [Problem(None, "units", units, "relative, px")])
        boxes = [set(c) for c in CORNERS]
        rest = set(words) - {"class", "score", "-"}
        if "class" not in words or rest not in boxes or len(words) - words.count("-") != len({*words} - {"-"}):
            allowed = 'class, score, and "cx cy w h", "x y w h" or "x1 y1 x2 y2", each once; "-" for a column that is not used'
            raise InputError("The columns of a line are not known.", [Problem(None, "columns", columns, allowed)])
        return cls(words, units == "relative")

    @property
    def is_yolo(self) -> bool:
        """Whether polygons, missing scores and track ids can stand in these lines, as in files of YOLO."""
        return self.relative and self.columns in {tuple(YOLO_TRUTH.split()), tuple(YOLO_PREDICTIONS.split())}


@dataclass(frozen=True)
class Line:
    """One box as a line gives it.

    Attributes:
        cls: Its class as written.
        box: In the units of the layout: left, top, right, bottom.
        score: NaN where the line has none.
        ring: Corners of its polygon, x and y in turn, in the units of the layout; empty for a box.
    """

    cls: str
    box: Xyxy
    score: float
    ring: tuple[float, ...] = ()


def _corners(values: Sequence[float], names: Sequence[str]) -> Xyxy:
    v = dict(zip(names, values, strict=True))
    if "cx" in v:
        return v["cx"] - v["w"] / 2, v["cy"] - v["h"] / 2, v["cx"] + v["w"] / 2, v["cy"] + v["h"] / 2
    if "x1" in v:
        return v["x1"], v["y1"], v["x2"], v["y2"]
    return v["x"], v["y"], v["x"] + v["w"], v["y"] + v["h"]


def parse_line(words: list[str], layout: Layout, *, predicted: bool) -> Line | str:
    """The box of a line, or what is wrong with it.

    YOLO lines: 5 columns are a box, 6 a box and its score, more are a polygon, with its score last if their number is even; 7 with a whole
    number at the end are box, score and track.
    """
    n = len(words)
    if layout.is_yolo:
        values = [number(w) for w in words[1:]]
        if not all(map(math.isfinite, values)):
            return "not all columns are finite numbers"
        if n < 5:
            return f"{n} columns; a box has class, centre x, centre y, width and height"
        tracked = n == 7 and predicted and values[-1] >= 1 and float(values[-1]).is_integer()
        if n == 5 or (n == 6 and predicted) or tracked:
            return Line(words[0], _corners(values[:4], ("cx", "cy", "w", "h")), values[4] if n > 5 else NAN)
        if n == 6:
            return "6 columns; a box of ground truth has 5, a polygon an odd number"
        if n % 2 == 0 and not predicted:
            return f"{n} columns; a polygon has the class and pairs of x and y"
        scored = n % 2 == 0
        ring = tuple(values[:-1] if scored else values)
        return Line(words[0], (min(ring[::2]), min(ring[1::2]), max(ring[::2]), max(ring[1::2])), values[-1] if scored else NAN, ring)
    if n != len(layout.columns):
        return f"{n} columns instead of {len(layout.columns)} ({' '.join(layout.columns)})"
    told = dict(zip(layout.columns, words, strict=True))
    names = next(c for c in CORNERS if set(c) <= set(told))
    values = [number(told[c]) for c in names]
    if not in_reach(*values):
        return "not all coordinates are finite numbers of pixels"
    return Line(told["class"], _corners(values, names), number(told["score"]) if "score" in told else NAN)


def class_key(word: str) -> str:
    """The id of a class as text: 7.0 and 7 are one class."""
    value = number(word)
    return str(int(value)) if math.isfinite(value) and value.is_integer() else word


def text_files(folder: Path, what: str) -> dict[str, Path]:
    """Text files below a folder by their path in it without the suffix.

    Raises:
        InputError: It is no folder, or holds none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder.name}: there is no such folder of {what}.")
    found = sorted(Path(top, name) for top, _, names in os.walk(folder) for name in names if name.lower().endswith(".txt"))
    if bad := [readable(p.name) for p in found if not is_text(str(p))]:
        raise InputError(f"{folder.name}: names of {len(bad):,} files of {what} are no UTF-8 text, such as {bad[0]}; rename them.")
    skipped = {"classes.txt", "readme.txt", "license.txt", "licence.txt", "source.txt"}
    return {p.relative_to(folder).with_suffix("").as_posix(): p for p in found if p.name.lower() not in skipped}


def lines_of(path: Path, remarks: Remarks, what: str) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that is not blank; a file that is no text is told and left out."""
    try:
        if path.stat().st_size > MOST_TEXT:
            raise ValueError("it is too large for one image")
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as e:
        why = "no UTF-8 text" if isinstance(e, UnicodeDecodeError) else str(e)
        remarks.tell(f"files of {what} that cannot be read", f"{path.name}: cannot be read ({why}); its image has no {what}.")
        return
    for i, line in enumerate(text.splitlines(), 1):
        if words := line.split():
            yield i, words


def has_polygons(folder: Path, what: str) -> bool:
    """Whether a line of a folder of text files is a polygon."""
    unheard = Remarks()  # what cannot be read is told when the lines are
    return any(len(words) > 7 for path in text_files(folder, what).values() for _, words in lines_of(path, unheard, what))


class Places:
    """Finds the image that a text file is about."""

    def __init__(self, images: Sequence[ParsedImage]) -> None:
        self._exact: dict[str, int] = {}
        self._names: dict[str, list[int]] = {}
        for i, image in enumerate(images):
            path = image.file_name.replace("\\", "/") or image.id
            stem = path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1] else path
            self._exact.setdefault(stem, i)
            self._names.setdefault(stem.rsplit("/", 1)[-1], []).append(i)

    def find(self, key: str) -> int | None:
        """Index of the image of a path without suffix: at the same place, else the only one of that name."""
        top, _, rest = key.partition("/")
        for place in (key, rest if top in WRAPPERS else key):
            if place in self._exact:
                return self._exact[place]
        same = self._names.get(key.rsplit("/", 1)[-1], [])
        return same[0] if len(same) == 1 else None

    def why_not(self, key: str) -> str:
        """Why `find` has found none."""
        several = len(self._names.get(key.rsplit("/", 1)[-1], [])) > 1
        return "several images have that name" if several else "there is no image of that name"


def fill_sizes(images: Sequence[ParsedImage], folder: ImageFolder | None) -> None:
    """Takes sizes that no file tells from the headers of the images."""
    if folder is None:
        return
    for image in images:
        if not (image.width and image.height) and (path := folder.find(image.file_name)) is not None:
            image.width, image.height = header_size(path) or (0, 0)


class Classes:
    """Classes of one side, in the order of their names and then as they appear."""

    def __init__(self, names: Sequence[str]) -> None:
        self.list = [ClassName(str(i), name) for i, name in enumerate(names)]
        self._index = {c.id: i for i, c in enumerate(self.list)}
        self._by_name = {c.name: i for i, c in reversed(list(enumerate(self.list)))}

    def index(self, word: str) -> int:
        """Index of a class by id or name; a new one if it is neither."""
        key = class_key(word)
        if key in self._index:
            return self._index[key]
        if word in self._by_name:
            return self._by_name[word]
        self.list.append(ClassName(key, key))
        self._index[key] = len(self.list) - 1
        return self._index[key]

    def by_number(self, named: int) -> list[int]:
        """Puts the classes behind the named ones in the order of their numbers; the new index of each old one."""
        numbered = sorted(
            range(named, len(self.list)), key=lambda i: (not self.list[i].id.isdigit(), len(self.list[i].id), self.list[i].id)
        )
        order = [*range(named), *numbered]
        self.list = [self.list[i] for i in order]
        self._index = {c.id: i for i, c in enumerate(self.list)}
        place = {old: new for new, old in enumerate(order)}
        return [place[i] for i in range(len(order))]


@dataclass
class SideFiles:
    """Text files of one side and what they mean.

    Attributes:
        folder: Where they lie.
        layout: Of their lines.
        what: "ground truth" or "predictions".
        predicted: Which of the two.
        masks: Whether polygons become masks.
    """

    folder: Path
    layout: Layout
    what: str
    predicted: bool
    masks: bool = False


def read_side(side: SideFiles, boxes: ParsedBoxes, classes: Classes, parsed: Parsed) -> set[int]:
    """Adds the boxes of one side.

    Returns:
        Indices of the images that have a file.

    Raises:
        InputError: There is no file at all, or most coordinates are no shares of an image though they should be.
    """
    remarks, places = parsed.remarks, Places(parsed.images)
    files = text_files(side.folder, side.what)
    if not files and not side.predicted:
        raise InputError(f"{side.folder.name}: this folder has no text file of {side.what}.")
    seen: set[int] = set()
    rows, far = 0, 0
    for key, path in files.items():
        image = places.find(key)
        if image is None:
            n = sum(1 for _ in lines_of(path, remarks, side.what))
            remarks.tell(
                f"files of {side.what} for unknown images",
                f"{path.name}: {places.why_not(key)}; its {n:,} lines are left out.",
            )
            remarks.count(f"{'predictions' if side.predicted else 'boxes'} left out: unknown image", n)
            continue
        if image in seen:
            remarks.tell(f"files of {side.what} for one image twice", f"{path.name}: another file is about the same image; both are read.")
        seen.add(image)
        width, height = parsed.images[image].width, parsed.images[image].height
        for i, words in lines_of(path, remarks, side.what):
            rows += 1
            where = f"{path.name}, line {i}"
            line = parse_line(words, side.layout, predicted=side.predicted)
            if isinstance(line, str):
                remarks.tell(f"lines of {side.what} left out", f"{where}: {line}; left out.")
                continue
            if side.layout.relative and not (FAR[0] <= min(line.box) and max(line.box) <= FAR[1]):
                far += 1
                remarks.tell(
                    f"lines of {side.what} left out: no shares of the image",
                    f"{where}: {short(' '.join(words))} is far outside 0 to 1; left out.",
                )
                continue
            _add(line, where, image, (width, height), side, boxes, classes, remarks)
    if rows and far > rows / 2:
        raise InputError(
            f"{side.folder.name}: {far:,} of {rows:,} lines have coordinates far outside 0 to 1, so they are no shares of the image. "
            "If they are pixels, say units=px; see also columns."
        )
    return seen


def _add(
    line: Line,
    where: str,
    image: int,
    size: tuple[int, int],
    side: SideFiles,
    boxes: ParsedBoxes,
    classes: Classes,
    remarks: Remarks,
) -> None:
    width, height = size
    x1, y1, x2, y2 = line.box
    if side.layout.relative:
        if not (width and height):
            remarks.tell(f"lines of {side.what} left out: image of unknown size", f"{where}: the size of the image is not known; left out.")
            return
        if min(line.box) < -1e-6 or max(line.box) > 1 + 1e-6:
            remarks.count(f"boxes of {side.what} with coordinates outside 0 to 1, kept as they are")
        x1, y1, x2, y2 = x1 * width, y1 * height, x2 * width, y2 * height
    if x2 < x1 or y2 < y1:
        remarks.tell(f"lines of {side.what} left out: negative size", f"{where}: width or height is negative; left out.")
        return
    value = class_key(line.cls)
    if value.startswith("-") and value[1:].isdigit():
        remarks.tell(f"lines of {side.what} left out: negative class", f"{where}: class {line.cls} is negative; left out.")
        return
    if side.predicted and not math.isnan(line.score) and not 0 <= line.score <= 1:
        remarks.tell(
            "predictions with a score outside 0 to 1", f"{where}: score {line.score:g}; kept, but the confidence cut expects 0 to 1."
        )
    mask = None
    if line.ring and side.masks:
        ring = [v * (width, height)[i % 2] for i, v in enumerate(line.ring)]
        mask = mask_of([ring], height, width)
        if mask is None:
            remarks.tell("masks that cannot be drawn", f"{where}: its polygon cannot be drawn; its box is used.")
    boxes.add(image, classes.index(line.cls), (x1, y1, x2, y2), score=line.score if side.predicted else NAN, mask=mask)


def settle_scores(boxes: ParsedBoxes, parsed: Parsed, what: str) -> None:
    """Takes all predictions as certain if none has a score; leaves out the few that have none otherwise."""
    missing = [i for i, s in enumerate(boxes.score) if not math.isfinite(s)]
    if not missing:
        return
    if len(missing) == len(boxes.score):
        parsed.remarks.say(
            "no scores", f"{what}: no prediction has a score, so all are taken as certain (1.0); a confidence cut changes nothing."
        )
        boxes.score = [1.0] * len(boxes.score)
        return
    parsed.remarks.count("predictions left out: no usable score", len(missing))
    parsed.remarks.say("predictions left out: no usable score", f"{what}: {len(missing):,} predictions have no usable score; left out.")
    boxes.keep([i for i in range(len(boxes.score)) if math.isfinite(boxes.score[i])])


def read_text_predictions(
    folder: Path, parsed: Parsed, layout: Layout, names: Sequence[str], images: ImageFolder | None, *, masks: bool
) -> None:
    """Adds predictions of text files to ground truth of any format.

    Raises:
        InputError: As `read_side`.
    """
    if layout.relative:
        fill_sizes(parsed.images, images)
    classes = Classes(names)
    side = SideFiles(folder, layout, "predictions", True, masks)
    seen = read_side(side, parsed.predictions, classes, parsed)
    settle_scores(parsed.predictions, parsed, folder.name)
    parsed.files.append(folder.name)
    parsed.remarks.count("images without a file of predictions", len(parsed.images) - len(seen))
    truth = {c.id: c.name for c in parsed.classes}
    by_word = any(not c.id.isdigit() for c in classes.list)
    parsed.by_id, parsed.complete = not names and not by_word, bool(names)
    parsed.predicted = [ClassName(c.id, truth.get(c.id, c.name)) for c in classes.list] if parsed.by_id else classes.list
