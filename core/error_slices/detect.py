"""Live detections: weights that ultralytics can load, run over images, with progress and cancel; one bad image does not stop the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from core.error_slices.detections import Boxes, ClassName, Image, Rle, Task
from core.error_slices.masks import of_polygons
from core.error_slices.sources.image_files import ImageFolder, describe
from core.error_slices.sources.json_files import is_text, readable
from core.errors import InputError, MissingPackageError, Problem

TASKS: dict[str, Task] = {"detect": "detection", "segment": "segmentation"}
MOST_NAMED = 20
LEAST_CONFIDENCE = 0.01
"""Low, so that the cut can be moved later and average precision sees the whole curve."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Detector:
    """A loaded model.

    Attributes:
        name: Name of its file of weights.
        classes: What it can find, by its own ids.
        task: What it does.
        model: The model itself, an `ultralytics.YOLO` or something with the same `predict`.
    """

    name: str
    classes: tuple[ClassName, ...]
    task: Task
    model: Any


@dataclass(frozen=True)
class FailedImage:
    """An image that could not be used.

    Attributes:
        name: Its name.
        why: In a few words.
    """

    name: str
    why: str


@dataclass(frozen=True, eq=False)
class Detected:
    """What a detector found.

    Attributes:
        model: Name of its weights.
        task: What it does.
        classes: Its classes.
        images: Those that it has seen, in order.
        predictions: With indices into `images` and `classes`.
        failed: Images that could not be used.
        not_reached: Images left when it was cancelled.
    """

    model: str
    task: Task
    classes: tuple[ClassName, ...]
    images: tuple[Image, ...]
    predictions: Boxes
    failed: tuple[FailedImage, ...]
    not_reached: int

    @property
    def cancelled(self) -> bool:
        """Whether it was stopped before the end."""
        return self.not_reached > 0


def load_detector(weights: str | Path, *, folder: Path | None = None) -> Detector:
    """Load weights.

    Weights are Python pickles: whoever made them can run code on this machine. Load only those that you trust.

    Args:
        weights: A .pt file, or the name of weights that ultralytics publishes, such as "yolo11n.pt".
        folder: Where named weights are kept, and fetched to if they are not there yet; None to accept files alone.

    Raises:
        MissingPackageError: ultralytics is not installed.
        InputError: There is no such file; it cannot be loaded; or the model finds no boxes.
    """
    path = Path(weights).expanduser()
    named = folder is not None and path.name == str(weights)
    if path.suffix.lower() != ".pt":
        raise InputError(f"{path.name or weights}: weights are a .pt file saved by ultralytics; exported models are not read.")
    if not path.is_file() and not named:
        raise InputError(f"{path}: there is no such file of weights.")
    yolo = import_ultralytics()
    if not path.is_file() and folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / path.name
    try:
        model = yolo(str(path))
        names, task = dict(model.names), str(model.task)
    except Exception as e:  # the loader unpickles, so a wrong file may raise anything
        fetched = " It is not a file here, and it could not be fetched by that name either." if not path.is_file() else ""
        raise InputError(f"{path.name}: ultralytics cannot load these weights ({_first_line(e)}).{fetched}") from e
    if task not in TASKS:
        raise InputError(f"{path.name}: this model does the task {task!r}; a detector (detect) or segmenter (segment) is needed.")
    return Detector(path.name, tuple(ClassName(str(k), str(v)) for k, v in sorted(names.items())), TASKS[task], model)


def detect_folder(
    weights: Detector | str | Path,
    images: Sequence[Path] | Path,
    *,
    confidence: float = LEAST_CONFIDENCE,
    overlap: float = 0.7,
    most: int = 300,
    classes: Sequence[str] | None = None,
    image_size: int = 640,
    device: str | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Detected:
    """Run a detector over images.

    Args:
        weights: A loaded detector, or what `load_detector` takes.
        images: A folder, looked through with all folders below it, or image files.
        confidence: Predictions below it are not kept.
        overlap: IoU above which the weaker of two predictions of one class is dropped (non-maximum suppression).
        most: Predictions of an image that are kept.
        classes: Names of the detector's classes to keep, None for all.
        image_size: Longer side to which images are scaled for the model, px.
        device: Such as "cpu" or "0"; None lets ultralytics choose.
        folder: As in `load_detector`.
        progress: Called with images done and in all.
        cancel: Asked before each image; True stops, and what was found so far is returned.

    Raises:
        MissingPackageError: ultralytics is not installed.
        InputError: The weights cannot be used; there is no image; a class is not the detector's; or not one image could be used.
    """
    files = _image_files(images)
    detector = weights if isinstance(weights, Detector) else load_detector(weights, folder=folder)
    options: dict[str, Any] = {"conf": confidence, "iou": overlap, "max_det": most, "imgsz": image_size, "verbose": False, "save": False}
    options |= {"classes": _wanted(detector, classes)} if classes is not None else {}
    options |= {"device": device} if device is not None else {}
    seen: list[Image] = []
    found: list[Boxes] = []
    failed: list[FailedImage] = []
    done = 0
    for name, path in files:
        if cancel is not None and cancel():
            break
        try:
            image, result = _run(detector, name, path, options)
        except Exception as e:  # whatever one image does to the model, the rest goes on; if it is the model, all fail, which is told below
            failed.append(FailedImage(name, _first_line(e)))
        else:
            found.append(boxes_of_result(result, len(seen), [c.id for c in detector.classes], detector.task))
            seen.append(image)
        done += 1
        if progress is not None:
            progress(done, len(files))
    if failed and not seen and done == len(files):
        problems = [Problem(None, f.name, f.why, "an image that the model can read") for f in failed[:MOST_NAMED]]
        raise InputError(f"{detector.name} could use none of the {len(files)} images.", problems)
    return Detected(
        detector.name, detector.task, detector.classes, tuple(seen), _stack(found, detector.task), tuple(failed), len(files) - done
    )


def boxes_of_result(result: Any, image: int, class_ids: Sequence[str], task: Task) -> Boxes:
    """Predictions of one `ultralytics.engine.results.Results`, or of anything with the same `boxes` and `masks`.

    Masks are taken as outlines in pixels of the image (`masks.xy`), since `masks.data` has the size of the model's input.

    Args:
        result: Of one image.
        image: Index of the image.
        class_ids: Ids of the detector's classes, in order.
        task: Masks are read from a segmenter only.
    """
    if result.boxes is None or not len(result.boxes):
        return Boxes.of([], [], [], masks=() if task == "segmentation" else None)
    index = {name: k for k, name in enumerate(class_ids)}
    masks: tuple[Rle | None, ...] | None = None
    if task == "segmentation":
        outlines = [] if result.masks is None else list(result.masks.xy)
        height, width = (int(v) for v in result.orig_shape)
        masks = tuple(of_polygons([_array(o).ravel().tolist()], (height, width)) if len(o) > 2 else None for o in outlines)
        masks += (None,) * (len(result.boxes) - len(masks))
    said = _array(result.boxes.cls).astype(np.int64).tolist()
    return Boxes.of(
        np.full(len(said), image),
        [index[str(k)] for k in said],
        _array(result.boxes.xyxy),
        score=_array(result.boxes.conf),
        masks=masks,
    )


def import_ultralytics() -> Any:
    """The class of models, without what its import does besides: installing packages, calling home, changing how Pillow opens files."""
    from PIL import Image as Picture

    os.environ.setdefault("YOLO_AUTOINSTALL", "false")
    os.environ.setdefault("YOLO_OFFLINE", "true")
    os.environ.setdefault("YOLO_VERBOSE", "false")
    plain = Picture.open
    try:
        from ultralytics import YOLO
    except ImportError as e:
        raise MissingPackageError(
            "Live detections need ultralytics, which the lite install leaves out: pip install -r requirements.txt"
        ) from e
    # Its own opener tries to install a package at the first broken image, and then raises another error than the one all readers expect.
    Picture.open = getattr(sys.modules.get("ultralytics.utils.patches"), "_image_open", plain)
    return YOLO


def _image_files(images: Sequence[Path] | Path) -> list[tuple[str, Path]]:
    """Image files, each with a name that no other has."""
    if isinstance(images, Path):
        listed = None if images.is_file() else ImageFolder(images)
        paths: Sequence[Path] = [images] if listed is None else [*listed.paths, *listed.badly_named]
        top = images.parent if images.is_file() else images
        where = f" in {images.name}"
    else:
        paths, where = list(dict.fromkeys(images)), ""
        top = Path(os.path.commonpath([p.absolute().parent for p in paths])) if paths else Path()
    if not paths:
        raise InputError(f"There is no image{where}; jpg, png, bmp, webp, tif, ppm and pgm files are looked for.")
    return [(readable(str(PurePosixPath(p.absolute().relative_to(top.absolute())))), p) for p in paths]


def _wanted(detector: Detector, names: Sequence[str]) -> list[int]:
    """Ids of the classes that are to be kept."""
    ids = {c.name: int(c.id) for c in detector.classes}
    unknown = [n for n in names if n not in ids]
    if unknown:
        problems = [Problem(None, "classes", n, "a class of the detector", next(iter(get_close_matches(n, ids, 1)), "")) for n in unknown]
        raise InputError(f"{detector.name} has no such class.", problems)
    return [ids[n] for n in names]


def _run(detector: Detector, name: str, path: Path, options: dict[str, Any]) -> tuple[Image, Any]:
    """One image and what the model says of it.

    Raises:
        OSError: It cannot be read.
    """
    if not path.is_file():
        raise OSError("there is no such file")
    if not is_text(str(path)):
        raise OSError("its name is no UTF-8 text")
    try:
        file = describe(path)
    except OSError as e:
        raise OSError("it is no image that can be read") from e
    results = list(detector.model.predict(source=str(path), **options))
    if not results:
        raise OSError("its pixels cannot be read")
    height, width = (int(v) for v in results[0].orig_shape)
    return Image(name, name, width, height, path, "", file.sha256), results[0]


def _stack(parts: Sequence[Boxes], task: Task) -> Boxes:
    """All boxes, numbered in order."""

    def masks() -> Iterator[Rle | None]:
        for p in parts:
            yield from p.masks or ()

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(p, name) for p in parts]) if parts else np.zeros(0)

    return Boxes.of(
        column("image"), column("cls"), column("xyxy"), score=column("score"), masks=tuple(masks()) if task == "segmentation" else None
    )


def _array(values: Any) -> np.ndarray:
    """An array from a tensor on any device, or from what numpy takes."""
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values, np.float64)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
