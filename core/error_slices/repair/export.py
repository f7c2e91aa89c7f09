"""Writes an export for repair into a folder: the slices, and what trainers of several kinds read."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import uuid4

import numpy as np

from core.digest import sha256_bytes
from core.error_slices.repair.coco import coco_files, gesd_predictions
from core.error_slices.repair.content import LEAST_GROUP, ImageTable, RepairInput, check, image_table
from core.error_slices.repair.tables import dfr_lists, group_dro_csv, ladder_csvs, sample_weights_csv, slice_document, units_csv
from core.error_slices.repair.yolo import data_yaml, label_files, lists, picture_names
from core.errors import InputError
from core.trajectories.report import several

FORMATS: Mapping[str, str] = {
    "weights": "a weight for each image (sample_weights.csv)",
    "groupdro": "metadata for GroupDRO with disjoint groups (groupdro/metadata.csv)",
    "dfr": "lists of high and low failure scores for last-layer retraining (dfr/)",
    "ladder": "one file a slice in LADDER's form (ladder/)",
    "yolo": "pictures, labels and lists of hard images that ultralytics reads (data.yaml)",
    "coco": "COCO json with slices on the annotations, which FiftyOne reads with its tags (coco/)",
    "gesd": "failing units of each slice, best first, for the evaluation of the GESD release (gesd_predictions.json)",
}
"""Formats by name; `slice.json` and `units.csv` are always there."""
GONE, CHANGED = "pictures that are not there", "pictures that were changed since they were read"
OF_DETECTORS = ("yolo", "coco", "gesd")
Pictures = Literal["copy", "link", "none"]
"""What becomes of pictures: copies, links to the originals (trainers may mend broken ones in place), or nothing."""
Progress = Callable[[str, float], None]
"""Called with what is done now and the share that is done, between 0 and 1."""


@dataclass(frozen=True)
class ExportedFile:
    """A file of an export.

    Attributes:
        name: Relative to the folder.
        size: Bytes.
        sha256: Of its bytes.
    """

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Exported:
    """An export for repair that lies in a folder.

    Attributes:
        folder: Where.
        files: What lies there, without pictures and label files.
        images: Images that are exported.
        pictures: Pictures that were copied or linked.
        hard: Images with a unit of a slice.
        groups: Images of each disjoint group.
        left_out: How many of what is not in some file, by a name that a screen can show.
        notes: What should be known, one sentence each.
    """

    folder: Path
    files: tuple[ExportedFile, ...]
    images: int
    pictures: int
    hard: int
    groups: Mapping[str, int]
    left_out: Mapping[str, int]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The export as JSON values."""
        return {
            "folder": str(self.folder),
            "files": [vars(f) for f in self.files],
            "images": self.images,
            "pictures": self.pictures,
            "hard": self.hard,
            "groups": dict(self.groups),
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }


def export_repair(
    content: RepairInput,
    folder: Path,
    formats: Collection[str] | None = None,
    *,
    pictures: Pictures = "copy",
    progress: Progress | None = None,
) -> Exported:
    """Write an export; the folder is there whole or not at all.

    Args:
        content: What is exported.
        folder: Where; must not exist, or be empty.
        formats: Names of `FORMATS`; all that fit the task by default.
        pictures: Whether pictures are copied or linked, where a format needs them.
        progress: Told what is done.

    Raises:
        InputError: A format is not known, the folder holds something, a slice was not accepted, or images that verified the slices are
            among those exported.
    """
    if pictures not in get_args(Pictures):
        raise InputError(f'Pictures cannot be "{pictures}"; allowed: {", ".join(get_args(Pictures))}.')
    classifier = content.detections.classified is not None
    chosen = set(FORMATS) - set(OF_DETECTORS if classifier else ()) if formats is None else set(formats)
    if unknown := sorted(chosen - set(FORMATS)):
        raise InputError(f"There is no format {', '.join(unknown)}; there are {', '.join(FORMATS)}.")
    if classifier and (boxes := sorted(chosen & set(OF_DETECTORS))):
        raise InputError(f"A classifier has no boxes, so there is nothing to write as {', '.join(boxes)}.")
    folder = folder.absolute()  # "." has a folder above it too
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f'The folder "{folder}" is not empty; name a new one.')
    check(content)
    part = folder.parent / f".{uuid4().hex}.part"
    try:
        part.mkdir(parents=True)
        made = _write(part, content, chosen, pictures, progress or (lambda _what, _share: None))
        if folder.exists():
            folder.rmdir()
        os.replace(part, folder)
    except OSError as e:
        raise InputError(f'The export cannot be written to "{folder}": {e.strerror or e}.') from e
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Exported(folder, *made)


def _write(part: Path, content: RepairInput, chosen: set[str], pictures: Pictures, tell: Progress) -> tuple[Any, ...]:
    table = image_table(content)
    names = picture_names(content.detections.images)
    left_out: dict[str, int] = {}
    notes = _notes(content, table)
    texts: dict[str, str] = {"slice.json": _json(slice_document(content, table)), "units.csv": units_csv(content)}
    if "weights" in chosen:
        texts["sample_weights.csv"] = sample_weights_csv(content, table)
    if "groupdro" in chosen:
        texts["groupdro/metadata.csv"] = group_dro_csv(content, table)
    if "ladder" in chosen:
        texts |= {f"ladder/{name}": text for name, text in ladder_csvs(content, table).items()}
    if "dfr" in chosen:
        halves, said = dfr_lists(content, table)
        texts |= {f"dfr/{name}": text for name, text in halves.items()}
        notes += said
    if "gesd" in chosen:
        texts["gesd_predictions.json"] = _json(gesd_predictions(content))
    if "coco" in chosen:
        document, predictions, lost = coco_files(content, names)
        texts |= {"coco/annotations.json": _json(document, 0), "coco/predictions.json": _json(predictions, 0)}
        left_out |= lost
    if "yolo" in chosen:
        texts |= {"data.yaml": data_yaml(content), **lists(content, table, names)}
        labels, lost = label_files(content, names)
        left_out |= lost
        for name, text in labels.items():
            _put(part / "labels" / name, text)
    copied, renamed = 0, dict[str, str]()
    if chosen & {"yolo", "coco"}:
        copied, lost = _pictures(part / "images", content, names, pictures, tell)
        left_out |= lost
        renamed = {names[i]: content.detections.images[i].file_name for i in content.images.tolist()}
        renamed = {new: old for new, old in renamed.items() if new != old}
        if renamed:
            notes.append(
                f"{several(len(renamed), 'picture has', 'pictures have')} another name in images/, labels/ and the lists of pictures; "
                "manifest.json says which, and tables keep the old one."
            )
        if pictures == "none":
            notes.append("No picture was copied; put them into images/ under the names of the lists.")
        elif lost:
            missing = f"{sum(lost.values()):,} of {several(len(content.images), 'picture is', 'pictures are')}"
            notes.append(f"{missing} not there or changed; put them into images/ under the names of the lists.")
    texts["README.md"] = _readme(content, chosen, notes)
    files = []
    for name, text in texts.items():
        data = _put(part / name, text)
        files.append(ExportedFile(name, len(data), sha256_bytes(data)))
    groups = {name: int((table.group == g).sum()) for g, name in enumerate(table.groups)}
    counts = {"groups": groups, "left_out": left_out, "notes": notes, "pictures": copied}
    summary = {"files": [vars(f) for f in files], **counts, "renamed": renamed}
    _put(part / "manifest.json", _json(summary))
    tell("Done", 1.0)
    return tuple(files), len(content.images), copied, int(table.a.sum()), groups, left_out, tuple(notes)


def _notes(content: RepairInput, t: ImageTable) -> list[str]:
    out = [
        f"{several(len(t.image), 'image', 'images')}, {int(t.a.sum()):,} of them with a unit of a slice. "
        f"{several(len(content.tested_images), 'image is', 'images are')} kept for verifying; none of them is exported.",
    ]
    out += [
        f'The group of "{name}" has {several(n, "image", "images")}, fewer than {LEAST_GROUP}; it joined the rest.'
        for name, n in sorted(t.merged.items())
    ]
    if content.detections.classified is None:
        out.append("A detector's image has no single class: y is 0 throughout, and groups are slices alone.")
    unscored = sum(int((s.c != s.c).sum()) for s in content.slices)
    if unscored:
        out.append(f"{several(unscored, 'score is', 'scores are')} missing; images without any count as 0.")
    if any(s.source != "logprob" for s in content.slices):
        out.append("Scores that no model gave by its probabilities are anchored at a threshold; they are no probabilities.")
    if content.detections.synthetic:
        out.append("The images are synthetic.")
    return out


def _pictures(folder: Path, content: RepairInput, names: list[str], how: Pictures, tell: Progress) -> tuple[int, dict[str, int]]:
    """Copies or links pictures; how many there are now, and how many of what are not: another picture might be one that verified."""
    made, lost = 0, Counter[str]()
    for n, i in enumerate(content.images.tolist() if how != "none" else ()):
        source = content.detections.images[i].path
        if source is None or not source.is_file():
            lost[GONE] += 1
            continue
        if (known := content.detections.images[i].sha256) and sha256_bytes(source.read_bytes()) != known:
            lost[CHANGED] += 1
            continue
        (folder / names[i]).parent.mkdir(parents=True, exist_ok=True)
        if how == "link":
            (folder / names[i]).symlink_to(source.resolve())
        else:
            shutil.copyfile(source, folder / names[i])
        made += 1
        if n % 50 == 0:
            tell("Copying pictures", n / len(content.images))
    return made, dict(sorted(lost.items()))


def _readme(content: RepairInput, chosen: set[str], notes: list[str]) -> str:
    slices = "".join(f"- {s.hypothesis.id}: {s.hypothesis.text}\n" for s in content.slices)
    formats = "".join(f"- {name}: {FORMATS[name]}\n" for name in FORMATS if name in chosen)
    text = f"# {content.name}\n\nImages for repairing a model, not for evaluating it.\n\nSlices:\n\n{slices}\nFormats:\n\n{formats}\n"
    if "coco" in chosen:
        text += (
            "FiftyOne, in this folder:\n\n```python\nimport os\nimport fiftyone as fo\n\n"
            "dataset = fo.Dataset.from_dir(\n    dataset_type=fo.types.COCODetectionDataset,\n"
            '    data_path=os.path.abspath("images"),\n    labels_path=os.path.abspath("coco/annotations.json"),\n'
            '    label_field="ground_truth",\n    extra_attrs=True,\n)\n'
            'view = dataset.filter_labels("ground_truth", fo.ViewField("slice_score") > 0.5)\n```\n\n'
            "The predictions in coco/predictions.json are COCO results: `fiftyone.utils.coco.add_coco_labels` takes them.\n\n"
        )
    return text + "".join(f"- {n}\n" for n in notes)


def _json(value: Any, indent: int = 1) -> str:
    return json.dumps(_plain(value), indent=indent or None, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """A value that JSON can say: numbers of numpy as those of Python, what is no number as null."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _put(path: Path, text: str) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8")
    path.write_bytes(data)
    return data
