"""The demo of error slices: made again to the byte, sound as COCO, and with the failures that it says it has."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.error_slices.matching import make_units
from core.error_slices.sources import read_source
from core.settings import ASSETS

PACK = ASSETS / "detections"
MODELS = ("before", "after")


def loaded(name: str, folder: Path = PACK) -> Any:
    return json.loads((folder / f"{name}.json").read_text())


def test_one_street_is_drawn_again_to_the_byte(tmp_path: Path) -> None:
    # in a process of its own: the script sets the size of the painter's pictures, which other tests share
    script = f"import sys; sys.path.insert(0, {str(PACK)!r}); import make_detections as m; from pathlib import Path; "
    script += f"m.make(Path({str(tmp_path / 'pack')!r}), streets=1, with_cases=False)"
    subprocess.run([sys.executable, "-B", "-c", script], check=True)
    fresh, whole = loaded("ground_truth", tmp_path / "pack"), loaded("ground_truth")
    n = len(fresh["images"])
    assert n == 15
    assert fresh["images"] == whole["images"][:n]
    assert fresh["annotations"] == [a for a in whole["annotations"] if a["image_id"] <= n]
    for model in MODELS:
        said = [p for p in loaded(f"results_{model}") if p["image_id"] <= n]
        assert loaded(f"results_{model}", tmp_path / "pack") == said
    for image in fresh["images"]:
        name = f"images/{image['file_name']}"
        assert (tmp_path / "pack" / name).read_bytes() == (PACK / name).read_bytes()


def test_the_pack_is_small_whole_and_labelled() -> None:
    truth = loaded("ground_truth")
    assert truth["info"]["synthetic"] is True
    assert sum(f.stat().st_size for f in PACK.rglob("*") if f.is_file()) < 8e6
    assert sorted(i["file_name"] for i in truth["images"]) == sorted(p.name for p in (PACK / "images").iterdir())
    for image in truth["images"][::40]:
        with Image.open(PACK / "images" / image["file_name"]) as picture:
            assert picture.size == (image["width"], image["height"])
            corner = np.asarray(picture.convert("L"))[284:298, 420:478].astype(float)
            assert corner.max() > 150, "the word SYNTHETIC stands in the corner"
    boxes = np.array([a["bbox"] for a in truth["annotations"]])
    assert (boxes[:, 2:] > 0).all()
    assert (boxes[:, :2] >= 0).all()
    assert ((boxes[:, :2] + boxes[:, 2:]) <= (480, 300)).all()
    assert {i["file_name"] for i in truth["images"]} >= {f"demo-{k:02d}.jpg" for k in (1, 5, 19)}


@pytest.fixture(scope="module")
def units() -> dict[str, Any]:
    return {
        m: make_units(read_source("coco", PACK / "ground_truth.json", PACK / f"results_{m}.json", images=PACK / "images")) for m in MODELS
    }


def test_what_was_planted_is_what_is_missed(units: dict[str, Any]) -> None:
    planted, annotations = loaded("planted"), {str(a["id"]): a for a in loaded("ground_truth")["annotations"]}
    for model in MODELS:
        u = units[model]
        struck = {str(i) for rule in ("small", "covered", "night", "fog") for i in planted["struck"][model][rule]}
        gt = u.on("gt")
        ids = [u.ids[i].rpartition(":g")[2] for i in gt]
        missed = np.isin(u.kind[gt], ["FN"])
        hit = np.array([i in struck for i in ids])
        assert missed[hit].mean() > 0.9, "a neighbour's box may match now and then"
        assert missed[~hit].mean() < 0.2
        assert not any(annotations[i]["iscrowd"] for i in ids)


def test_the_repair_helped_where_it_was_planted_and_nowhere_else(units: dict[str, Any]) -> None:
    truth, planted = loaded("ground_truth"), loaded("planted")
    struck = {m: Counter({rule: len(ids) for rule, ids in planted["struck"][m].items()}) for m in MODELS}
    assert struck["after"]["small"] < 0.75 * struck["before"]["small"]
    assert struck["after"]["night"] < 0.25 * struck["before"]["night"]
    assert struck["after"]["post"] > struck["before"]["post"]
    for rule in ("covered", "fog", "van", "lamp", "mirrored"):
        assert struck["after"][rule] == pytest.approx(struck["before"][rule], abs=5)
    night = {str(i["id"]) for i in truth["images"] if i["look"] == "night"}
    at_night = {}
    for m in MODELS:
        u = units[m]
        people = [i for i in u.on("gt") if u.cls[i] in (0, 1) and u.ids[i].partition(":")[0] in night]
        at_night[m] = float(np.mean(u.kind[people] == "FN"))
    assert at_night["before"] - at_night["after"] > 0.3


def test_rules_name_hypotheses_of_the_library() -> None:
    from core.error_slices.library import load_library

    known = {h.id: h.error for h in load_library().hypotheses}
    seen_by = {"FN": {"FN", "IMAGE"}, "CLS": {"FP"}, "FP": {"FP"}, "LOC": {"LOC"}}
    for rule in loaded("planted")["rules"]:
        assert {known[i] for i in rule["library"]} <= seen_by[rule["error"]]
