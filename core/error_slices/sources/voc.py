"""Pascal VOC: an XML file an image, as LabelImg and CVAT write them too; predictions come as text files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from core.error_slices.detections import ClassName
from core.error_slices.sources.image_files import ImageFolder
from core.error_slices.sources.json_files import in_reach, number, short, size_of
from core.error_slices.sources.name_lists import Names, read_names
from core.error_slices.sources.parsed import NAN, Parsed, ParsedImage, Remarks
from core.error_slices.sources.text_boxes import YOLO_PREDICTIONS, Layout, fill_sizes, read_text_predictions
from core.errors import InputError
from core.trajectories.importers.safe_xml import read_xml

SIDES = ("xmin", "ymin", "xmax", "ymax")


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError(f"{folder.name}: there is no such folder of ground truth.")
    found = sorted(Path(top, name) for top, _, names in os.walk(folder) for name in names if name.lower().endswith(".xml"))
    if not found:
        raise InputError(f"{folder.name}: this folder has no XML file of ground truth.")
    return {p.relative_to(folder).with_suffix("").as_posix(): p for p in found}


def _number(element: Element, path: str) -> float:
    return number((element.findtext(path) or "").strip())


def _image(key: str, root: Element) -> ParsedImage:
    name = (root.findtext("filename") or "").strip() or f"{key}.jpg"
    return ParsedImage(key, name, *size_of(root.findtext("size/width"), root.findtext("size/height")))


def _add(entry: Element, where: str, image: int, parsed: Parsed, classes: dict[str, int]) -> None:
    remarks = parsed.remarks
    name = (entry.findtext("name") or "").strip()
    box = [_number(entry, f"bndbox/{side}") for side in SIDES]
    if not name or not in_reach(*box) or box[2] < box[0] or box[3] < box[1]:
        got = ", ".join(f"{side} {short((entry.findtext(f'bndbox/{side}') or 'missing').strip())}" for side in SIDES)
        remarks.tell("objects left out: no usable name or box", f'{where}: name "{short(name)}", {got}; left out.')
        return
    if name not in classes:
        classes[name] = len(parsed.classes)
        parsed.classes.append(ClassName(name, name))
    difficult = _number(entry, "difficult") == 1
    remarks.count("objects marked difficult, taken as ignore regions", difficult)
    truncated, occluded = _number(entry, "truncated"), _number(entry, "occluded")
    parsed.truth.add(
        image,
        classes[name],
        (box[0], box[1], box[2], box[3]),
        ignore=difficult,
        truncated=truncated if 0 <= truncated <= 1 else NAN,
        occluded=occluded if occluded in {0, 1} else NAN,
    )


def parse(
    truth: Path,
    predictions: Path | None,
    images: Path | None = None,
    *,
    prediction_names: Names = None,
    columns: str = YOLO_PREDICTIONS,
    units: str = "relative",
    **_: Any,
) -> Parsed:
    """Takes annotations of Pascal VOC; boxes stay as in the file, which counts pixels from 1 or from 0 by the tool that wrote it.

    Args:
        truth: Folder of XML files.
        predictions: Folder of text files, None for none.
        images: Folder of the images, for sizes that an XML file does not tell.
        prediction_names: Names of the detector's classes by number, if its lines have numbers.
        columns: Of a line of the predictions.
        units: "relative" or "px", of the predictions.

    Raises:
        InputError: A folder is missing or holds nothing of the kind.
    """
    layout = Layout.of(columns, units)
    remarks = Remarks()
    parsed = Parsed("voc", [truth.name], "detection", [], [], [], remarks=remarks)
    classes: dict[str, int] = {}
    for key, path in _files(truth).items():
        try:
            root = read_xml(path)
        except InputError as e:
            remarks.tell("files of ground truth that cannot be read", f"{str(e).removesuffix('.')}; its image is left out.")
            continue
        if root.tag != "annotation":
            remarks.tell("files of ground truth that cannot be read", f"{path.name}: <{short(root.tag)}> is no annotation; left out.")
            continue
        parsed.images.append(_image(key, root))
        for i, entry in enumerate(root.iter("object"), 1):
            _add(entry, f"{path.name}, object {i}", len(parsed.images) - 1, parsed, classes)
    if not parsed.images:
        raise InputError(f"{truth.name}: not one XML file there is an annotation.")
    folder = None if images is None else ImageFolder(images)
    fill_sizes(parsed.images, folder)
    if predictions is not None:
        read_text_predictions(predictions, parsed, layout, read_names(prediction_names), folder, masks=False)
        parsed.by_id = False  # classes have names alone here
    return parsed


def looks_like(folder: Path) -> bool:
    """Whether a folder holds annotations of VOC: the first XML file is one."""
    for path in sorted(folder.rglob("*.xml"))[:1]:
        try:
            return read_xml(path).tag == "annotation"
        except InputError:
            return False
    return False
