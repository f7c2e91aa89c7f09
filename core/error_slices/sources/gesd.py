"""GESD json: COCO-like files whose annotations say themselves what was found, missed and invented, and to which slice it belongs.

Described in section 4 of the GH-ESD paper. Detection: `result` is TP, FP or FN. Segmentation: `gt_segmentation` beside
`inference_segmentation`. `reason` names the slice, "NA" none. Correct instances were overwritten with the ground truth there, so a
prediction and its object share one box and one id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.error_slices.detections import Rle
from core.error_slices.sources.coco_masks import box_of, mask_of
from core.error_slices.sources.coco_truth import Ids, box_from, categories_of, entries, images_of, truth_document
from core.error_slices.sources.json_files import key_of, short
from core.error_slices.sources.parsed import Parsed, Remarks
from core.errors import InputError

RESULTS = ("TP", "FP", "FN")
NO_SLICE = {"", "NA", "None", "none", "null"}


def _slice(entry: dict[str, Any]) -> str:
    reason = entry.get("reason")
    return "" if reason is None or str(reason) in NO_SLICE else str(reason)


def _licence(document: dict[str, Any]) -> str:
    """Licences of the images where the file lists them: they are several for photographs from the web."""
    licences = document.get("licenses")
    names = [str(x["name"]) for x in licences if isinstance(x, dict) and x.get("name")] if isinstance(licences, list) else []
    if not names:
        return ""
    return names[0] if len(names) == 1 else f"one of {len(names):,} by image, named in the file"


def _add_detection(entry: dict[str, Any], where: str, image: int, cls: int, i: int, parsed: Parsed, ids: Ids) -> None:
    remarks = parsed.remarks
    result = entry.get("result")
    if result not in RESULTS:
        remarks.tell("annotations left out: no result", f"{where}: result {short(result)} is none of TP, FP and FN; left out.")
        return
    picture = parsed.images[image]
    xyxy = box_from(entry, where, "annotations", (picture.height, picture.width), remarks)
    if xyxy is None:
        return
    remarks.count({"TP": "true positives of the file", "FP": "false positives of the file", "FN": "false negatives of the file"}[result])
    key = ids.take(entry.get("id"), where, i)
    if result != "FP":
        parsed.truth.add(image, cls, xyxy, id=key, slice_name=_slice(entry))
    if result != "FN":
        parsed.predictions.add(image, cls, xyxy, id=key, score=1.0, slice_name=_slice(entry))


def _mask(value: Any, where: str, size: tuple[int, int], remarks: Remarks) -> Rle | None:
    if not value:
        return None
    mask = mask_of(value, *size)
    if mask is None or box_of(mask) is None:
        remarks.tell("masks that cannot be drawn", f"{where}: a mask is empty or cannot be drawn; left out.")
        return None
    return mask


def _add_masks(entry: dict[str, Any], where: str, image: int, i: int, parsed: Parsed, ids: Ids, classes: dict[str, int]) -> None:
    remarks, picture = parsed.remarks, parsed.images[image]
    size = (picture.height, picture.width)
    truth = _mask(entry.get("gt_segmentation"), where, size, remarks)
    said = _mask(entry.get("inference_segmentation"), where, size, remarks)
    true_cls = classes.get(key_of(entry.get("gt_category_id")) or "")
    said_cls = classes.get(key_of(entry.get("category_id")) or "")
    name = _slice(entry)
    if truth is not None and said is None and not name:
        remarks.count("correct instances without a mask of the model, taken as the ground truth")
        said, said_cls = truth, said_cls if said_cls is not None else true_cls
    true_cls, said_cls = true_cls if true_cls is not None else said_cls, said_cls if said_cls is not None else true_cls
    if (truth is None and said is None) or true_cls is None or said_cls is None:
        remarks.tell("annotations left out: no mask or category", f"{where}: no usable mask with a category of the file; left out.")
        return
    key = ids.take(entry.get("id"), where, i)
    true_box, said_box = box_of(truth), box_of(said)
    if truth is not None and true_box is not None:
        parsed.truth.add(image, true_cls, true_box, id=key, mask=truth, slice_name=name)
    if said is not None and said_box is not None:
        parsed.predictions.add(image, said_cls, said_box, id=key, score=1.0, mask=said, slice_name=name)


def parse(truth: Path, predictions: Path | None, images: Path | None = None, **_: Any) -> Parsed:
    """Takes a GESD file.

    Args:
        truth: The file.
        predictions: None: they stand in the same file.
        images: Not needed here.

    Raises:
        InputError: It is no GESD file, or a second file is given.
    """
    if predictions is not None:
        raise InputError(f"{truth.name}: GESD files hold ground truth and predictions at once; give no file of predictions.")
    document = truth_document(truth)
    remarks = Remarks()
    pictures, index = images_of(document, truth, remarks)
    classes = categories_of(document, truth, remarks)
    parsed = Parsed("gesd", [truth.name], "detection", classes, list(classes), pictures, by_id=True, remarks=remarks)
    parsed.dataset, parsed.licence, parsed.paired = truth.stem, _licence(document), True
    class_index = {c.id: i for i, c in enumerate(classes)}
    ids = Ids(remarks)
    annotations = entries(document, "annotations", truth)
    masked = any(isinstance(a, dict) and ("gt_segmentation" in a or "inference_segmentation" in a) for a in annotations)
    parsed.task = "segmentation" if masked else "detection"
    for i, entry in enumerate(annotations):
        where = f"{truth.name}, annotations[{i}]"
        image = index.get(key_of(entry.get("image_id")) or "") if isinstance(entry, dict) else None
        if image is None:
            got = entry.get("image_id") if isinstance(entry, dict) else entry
            remarks.tell("annotations left out: unknown image", f"{where}: image {short(got)} is not among the images; left out.")
            continue
        if masked:
            _add_masks(entry, where, image, i, parsed, ids, class_index)
            continue
        cls = class_index.get(key_of(entry.get("category_id")) or "")
        if cls is None:
            got = entry.get("category_id")
            remarks.tell("annotations left out: unknown category", f"{where}: category {short(got)} is not among the categories; left out.")
            continue
        _add_detection(entry, where, image, cls, i, parsed, ids)
    if not len(parsed.truth) and not len(parsed.predictions):
        raise InputError(f"{truth.name}: not one annotation says TP, FP or FN, or has masks of both sides; is it a plain COCO file?")
    slices = {s for s in (*parsed.truth.slices, *parsed.predictions.slices) if s}
    remarks.count("error slices named by experts", len(slices))
    return parsed


def looks_like(document: Any) -> bool:
    """Whether the annotations of a document carry results of GESD."""
    annotations = document.get("annotations") if isinstance(document, dict) else None
    if not isinstance(annotations, list):
        return False
    first = next((a for a in annotations if isinstance(a, dict)), {})
    return ("result" in first and "reason" in first) or "inference_segmentation" in first or "gt_segmentation" in first
