"""Tables of an export for repair: the slices, their units, and weights, groups and lists of images for several ways to train."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from core.error_slices.repair.content import ImageTable, RepairInput, RepairSlice, id_of
from core.error_slices.scores import SOURCES
from core.trajectories.report import several

SPLITS = {"train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}
"""Numbers of the splits where a trainer wants numbers (Waterbirds' metadata); what is not known is training data."""
LEAST_OF_CLASS = 5
"""Images on either side that a class needs to take part in class-balanced lists."""


def slice_document(content: RepairInput, table: ImageTable) -> dict[str, Any]:
    """What was exported, from what, and why: `slice.json`."""
    return {
        "name": content.name,
        "task": content.detections.task,
        "model": content.detections.model,
        "dataset": content.detections.dataset,
        "licence": content.detections.licence,
        "synthetic": content.detections.synthetic,
        "origin": dict(content.origin),
        "images": {"exported": len(content.images), "used_to_verify_the_slices": len(content.tested_images)},
        "weights": {
            "rule": "1 + (most - 1) * highest matching score of the image, divided by the mean over the images",
            "most": content.most_weight,
            "mean_before_division": float(table.raw.mean()),
        },
        "groups": {name: int((table.group == g).sum()) for g, name in enumerate(table.groups)},
        "groups_merged_into_rest": dict(table.merged),
        "slices": [_slice(content, k, s) for k, s in enumerate(content.slices)],
    }


def _slice(content: RepairInput, k: int, s: RepairSlice) -> dict[str, Any]:
    out: dict[str, Any] = {
        **s.hypothesis.to_json(),
        "gamma": s.gamma,
        "score_source": s.source,
        "score_source_means": SOURCES[s.source],
        "matcher": s.matcher,
        "judgement": None if s.judgement is None else dict(s.judgement),
        "verified": None,
        "exported": {
            "units": len(s.units),
            "units_in_slice": int(s.inside.sum()),
            "units_without_score": int(np.isnan(s.c).sum()),
            "errors_in_slice": int((s.loss[s.inside] > 0.5).sum()),
            "images_in_slice": int(content.in_slice[content.images, k].sum()),
        },
    }
    if (t := s.tested) is not None:
        found = asdict(t)
        del found["hypothesis_id"]
        out["verified"] = {**found, "spearman": {str(b): v for b, v in t.spearman.items()}, "lift": t.lift}
    return out


def units_csv(content: RepairInput) -> str:
    """One row a unit of the exported images that any slice is about, with its score in each slice."""
    u, d = content.units, content.detections
    score = {s.hypothesis.id: dict(zip(s.units.tolist(), s.c.tolist(), strict=True)) for s in content.slices}
    loss = {i: v for s in reversed(content.slices) for i, v in zip(s.units.tolist(), s.loss.tolist(), strict=True)}
    exported = set(content.images.tolist())
    rows = []
    for i in sorted(i for i in loss if int(u.image[i]) in exported):
        image, cls = d.images[u.image[i]], int(u.cls[i])
        of = {h: c for h, by in score.items() if (c := by.get(i)) is not None and c == c}  # NaN is no score
        best = max(of, key=lambda h: of[h]) if of else ""
        rows.append(
            [
                *(u.ids[i], image.id, image.file_name, "" if u.side[i] == "image" else id_of(u, i), *u.xyxy[i].tolist()),
                *("" if cls < 0 else d.classes[cls].name, str(u.kind[i]), loss[i], *(of.get(h, "") for h in score)),
                *(of.get(best, ""), best),
            ]
        )
    head = "unit_id image_id file_name annotation_id x1 y1 x2 y2 class kind loss".split()
    return _csv([*head, *(f"score_{h}" for h in score), "max_score", "slice_argmax"], rows)


def sample_weights_csv(content: RepairInput, t: ImageTable) -> str:
    """One row an image with its weight: images of high matching scores count more (GH-ESD, section 5.4)."""
    rows = [
        [x.file_name, x.split, round(float(t.weight[n]), 6), t.groups[t.group[n]], round(float(t.score[n]), 6), t.members[n], t.errors[n]]
        for n, x in enumerate(_images(content, t))
    ]
    return _csv("file_name split weight group max_score units_in_slices errors_in_slices".split(), rows)


def group_dro_csv(content: RepairInput, t: ImageTable) -> str:
    """Metadata as the GroupDRO code reads it: group = 2 × y + place, place 1 where an image has a unit of any slice.

    `group` and `slice` are more columns: disjoint groups, one a slice, for trainers that take more than two places.
    """
    rows = [
        [n, x.file_name, y, SPLITS.get(x.split.casefold(), 0), a, g, t.groups[g], round(s, 6)]
        for n, (x, y, a, g, s) in enumerate(
            zip(_images(content, t), t.y.tolist(), t.a.tolist(), t.group.tolist(), t.score.tolist(), strict=True), 1
        )
    ]
    return _csv("img_id img_filename y split place group slice max_score".split(), rows)


def ladder_csvs(content: RepairInput, t: ImageTable) -> dict[str, str]:
    """One file a slice, with the headers of LADDER's metadata: a is 1 where an image has a unit of that slice."""
    out = {}
    for k, s in enumerate(content.slices):
        member = content.in_slice[t.image, k]
        rows = [
            [n, x.file_name, SPLITS.get(x.split.casefold(), 0), y, int(a)]
            for n, (x, y, a) in enumerate(zip(_images(content, t), t.y.tolist(), member.tolist(), strict=True), 1)
        ]
        name = re.sub(r"[^\w.-]", "_", s.hypothesis.id)[:80]
        out[f"{name}.csv" if f"{name}.csv" not in out else f"{name}-{k + 1}.csv"] = _csv("id filename split y a".split(), rows)
    return out


def dfr_lists(content: RepairInput, t: ImageTable) -> tuple[dict[str, str], tuple[str, ...]]:
    """Lists for last-layer retraining: as many images that fail a slice most as images that fail least, of each class equally many.

    The score of an image is its highest over the slices (GH-ESD, section 5.4). High: images with a unit of a slice, highest first.
    Low: the others, lowest first.

    Returns:
        Files by name, and what should be known of them.
    """
    falling, rising = (np.argsort(sign * t.score, kind="stable").tolist() for sign in (-1, 1))
    high = {c: [i for i in falling if t.a[i] and t.y[i] == c] for c in np.unique(t.y).tolist()}
    low = {c: [i for i in rising if not t.a[i] and t.y[i] == c] for c in high}
    able = [c for c in high if min(len(high[c]), len(low[c])) >= LEAST_OF_CLASS]
    each = min((min(len(high[c]), len(low[c])) for c in able), default=0)
    names = [x.file_name for x in _images(content, t)]
    files = {f"{side}.txt": "".join(f"{names[i]}\n" for c in able for i in of[c][:each]) for side, of in (("high", high), ("low", low))}
    rows = [[n, int(y), round(s, 6)] for n, y, s in zip(names, t.y.tolist(), t.score.tolist(), strict=True)]
    classes = several(len(able), "class", "classes")
    notes = [f"DFR lists: {several(each * len(able), 'image', 'images')} each, {each:,} of each of {classes}."]
    left = [c for c in high if c not in able]
    if left:
        few = f"fewer than {LEAST_OF_CLASS} images inside or outside the slices; left out."
        notes.append(f"DFR lists: {several(len(left), 'class has', 'classes have')} {few}")
    return {**files, "scores.csv": _csv("file_name y max_score".split(), rows)}, tuple(notes)


def _images(content: RepairInput, t: ImageTable) -> list[Any]:
    return [content.detections.images[i] for i in t.image.tolist()]


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()
