"""COCO json: ground truth with images, categories and annotations; predictions as a results list, a file like the ground truth, or text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.error_slices.sources.coco_results import first_number, read_results, results_of
from core.error_slices.sources.coco_truth import categories_of, images_of, read_truth, truth_document
from core.error_slices.sources.image_files import ImageFolder
from core.error_slices.sources.json_files import read_json
from core.error_slices.sources.name_lists import Names, read_names
from core.error_slices.sources.parsed import Parsed, Remarks
from core.error_slices.sources.text_boxes import YOLO_PREDICTIONS, Layout, fill_sizes, has_polygons, read_text_predictions


def parse(
    truth: Path,
    predictions: Path | None,
    images: Path | None = None,
    *,
    masks: str = "auto",
    prediction_names: Names = None,
    first_class: int | str = 0,
    columns: str = YOLO_PREDICTIONS,
    units: str = "relative",
    **_: Any,
) -> Parsed:
    """Takes a COCO ground truth and, if given, the results of a detector.

    Args:
        truth: Ground-truth file.
        predictions: Results file, or a folder of text files as YOLO writes them; None for none.
        images: Folder of the images, for sizes that the ground truth does not tell.
        masks: "yes" reads masks, "no" reads boxes alone, "auto" reads masks if the predictions have some. Without predictions, those of the
            ground truth are kept for a detector that runs later.
        prediction_names: Names of the detector's classes in its own order from 0, if its ids are not those of the ground truth.
        first_class: Number of the first of those names in the results, 0 or 1.
        columns: Of a line of text files.
        units: "relative" or "px", of text files.

    Raises:
        InputError: A file cannot be read or is no COCO file.
    """
    first = first_number(first_class)
    document = truth_document(truth)
    in_text = predictions is not None and predictions.is_dir()
    found = None if predictions is None or in_text else read_json(predictions)
    has_masks = found is not None and any(isinstance(r, dict) and r.get("segmentation") for r in results_of(found, predictions or truth))
    layout = Layout.of(columns, units)
    if predictions is not None and in_text and layout.is_yolo:
        has_masks = has_polygons(predictions, "predictions")
    compared = masks == "yes" or (masks == "auto" and has_masks)
    with_masks = compared or (masks == "auto" and predictions is None)
    remarks = Remarks()
    pictures, index = images_of(document, truth, remarks)
    parsed = Parsed("coco", [truth.name], "segmentation" if compared else "detection", [], [], pictures, remarks=remarks)
    parsed.classes = categories_of(document, truth, remarks)
    info = document.get("info")
    if isinstance(info, dict):
        parsed.dataset = str(info.get("description") or "")
        parsed.licence = str(info.get("licence") or "")
        parsed.synthetic = info.get("synthetic") is True
    folder = None if images is None else ImageFolder(images)
    fill_sizes(parsed.images, folder)
    read_truth(document, truth, parsed, index, masks=with_masks)
    if predictions is not None and in_text:
        read_text_predictions(predictions, parsed, layout, read_names(prediction_names), folder, masks=with_masks)
    elif predictions is not None:
        parsed.files.append(predictions.name)
        read_results(found, predictions, parsed, index, masks=with_masks, names=read_names(prediction_names), first=first)
    return parsed
