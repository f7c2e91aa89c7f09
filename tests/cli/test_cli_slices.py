"""The commands `slices`."""

from __future__ import annotations

import csv
import json

import pytest
from PIL import Image

from tests.operators.test_slices import small_ones_missed


@pytest.fixture
def files(tmp_path):
    """Ground truth and results of COCO."""
    made = small_ones_missed()

    def box(b, i):
        x1, y1, x2, y2 = b.xyxy[i].tolist()
        return [x1, y1, x2 - x1, y2 - y1]

    truth = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 1000, "height": 600} for i in range(len(made.images))],
        "categories": [{"id": 3, "name": "car"}],
        "annotations": [
            {"id": i + 1, "image_id": int(made.truth.image[i]), "category_id": 3, "bbox": box(made.truth, i), "iscrowd": 0}
            for i in range(len(made.truth))
        ],
    }
    said = [
        {"image_id": int(made.predictions.image[i]), "category_id": 3, "bbox": box(made.predictions, i), "score": 0.9}
        for i in range(len(made.predictions))
    ]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "said.json").write_text(json.dumps(said))
    return tmp_path / "truth.json", tmp_path / "said.json"


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_from_files_to_verdicts(ended, files, tmp_path):
    code, out, err = ended("slices", "units", *files, "--name", "Street", "--out", tmp_path / "units.csv", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["name"], told["sides"]["gt"], told["report"]["format"]) == ("Street", 480, "coco")
    assert told["kinds"]["gt TP"] + told["kinds"]["gt FN"] == 480
    assert len(rows(tmp_path / "units.csv")) == told["units"]
    code, out, _ = ended("slices", "verify", "street", "--out", tmp_path / "list.csv", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["hypotheses"][0]["id"], told["hypotheses"][0]["tested"]["verdict"]) == ("iv_small", "verified")
    assert len(rows(tmp_path / "list.csv")) == 52
    code, out, _ = ended("slices", "verify", "street")
    assert "verified     iv_small: in " in out
    assert "passes as printed, as would" in out


def test_scores_are_written_and_counted(ended, files, tmp_path):
    ended("slices", "units", *files, "--name", "Street")
    code, out, _ = ended("slices", "match", "Street", "--hypothesis", "iv_small", "--out", tmp_path / "scores.csv", "--json")
    assert code == 0
    (row,) = json.loads(out)["hypotheses"]
    assert (row["source"], row["units"], row["scored"]) == ("geometric", 480, 480)
    assert len(rows(tmp_path / "scores.csv")) == 480


def test_units_need_not_be_kept(ended, files):
    code, out, _ = ended("slices", "units", *files, "--no-keep", "--confidence", "0.95")
    assert code == 0
    assert "predictions below the confidence cut" in out
    code, _, err = ended("slices", "verify", "said")
    assert (code, "there are: none" in err) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--mode", "loud"], "calibrated, paper, spearman"),
        (["--images", "some"], "all, verification"),
        (["--hypothesis", "iv_smal"], "There is no hypothesis iv_smal"),
        (["--window", "3"], "--window"),
        (["--gamma", "2"], "--gamma"),
    ],
)
def test_what_is_not_allowed_is_named_with_what_is(ended, files, args, said):
    ended("slices", "units", *files, "--name", "Street")
    code, _, err = ended("slices", "verify", "Street", *args)
    assert (code, said in err) == (2, True), err


def test_a_model_is_asked_only_where_one_is_connected(ended, files, monkeypatch):
    monkeypatch.delenv("ODDYSSEY_TAGGER_BASE_URL", raising=False)
    ended("slices", "units", *files, "--name", "Street")
    code, _, err = ended("slices", "match", "Street", "--vision")
    assert (code, "No vision model is connected" in err) == (2, True)


def test_an_export_takes_the_half_that_verified_nothing_and_no_other(ended, files, tmp_path):
    ended("slices", "units", *files, "--name", "Street")
    code, out, err = ended("slices", "export", "Street", "--hypothesis", "iv_small", "--out", tmp_path / "repair", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    weights = rows(tmp_path / "repair" / "sample_weights.csv")
    assert 0 < len(weights) == told["images"] < 60
    assert abs(sum(float(r["weight"]) for r in weights) / len(weights) - 1) < 1e-3
    code, _, err = ended("slices", "export", "Street", "--hypothesis", "iv_small", "--images", "all", "--out", tmp_path / "no")
    assert (code, "the slices were verified on images of both halves" in err) == (2, True)
    assert not (tmp_path / "no").exists()
    code, _, err = ended("slices", "export", "Street", "--hypothesis", "ci_edge", "--out", tmp_path / "no")
    assert (code, "ci_edge" in err) == (2, True)


def test_the_bench_tells_every_way_of_finding_slices(ended):
    code, out, err = ended("slices", "bench", "--repeats", "1", "--json")
    assert (code, err) == (0, "")
    told = {r["method"]: r for r in json.loads(out)["rows"]}
    assert told["verdict"]["precision"] > 0.7
    assert told["tags"]["slices"] > told["verdict"]["slices"]
    code, out, _ = ended("slices", "bench", "--repeats", "1")
    assert code == 0
    assert "The errors are made up." in out


@pytest.mark.parametrize("name", ["name", "truth", "format", "progress"])
def test_what_is_no_option_of_a_reader_is_refused_in_words(ended, files, name):
    code, out, err = ended("slices", "units", *files, "--option", f"{name}=x", "--json")
    assert (code, out) == (2, "")
    assert f"--option: {name} is no option of a reader" in err
    assert "Traceback" not in err


def test_made_up_images_stay_so_by_the_word_of_their_file(ended, files, tmp_path):
    truth = json.loads(files[0].read_text())
    files[0].write_text(json.dumps(truth | {"info": {"synthetic": True}}))
    code, out, _ = ended("slices", "units", *files, "--name", "Street")
    assert (code, out.splitlines()[0]) == (0, "Street: 60 images, 480 instances, 292 predictions (coco). Synthetic data.")
    assert json.loads(ended("slices", "verify", "Street", "--json")[1])["detections"]["synthetic"]
    ended("slices", "export", "Street", "--hypothesis", "iv_small", "--out", tmp_path / "repair")
    ended("slices", "units", tmp_path / "repair/coco/annotations.json", "--name", "Again")
    assert json.loads(ended("slices", "verify", "Again", "--json")[1])["detections"]["synthetic"]


def test_predictions_come_from_a_file_or_from_weights(ended, files, tmp_path):
    assert "not both" in ended("slices", "units", *files, "--weights", "yolo.pt")[2]
    assert "needs --images" in ended("slices", "units", files[0], "--weights", "yolo.pt")[2]
    code, _, err = ended("slices", "units", files[0], "--weights", tmp_path / "no.pt", "--images", tmp_path)
    assert (code, 'No image of "truth" has a file here' in err) == (2, True)
    Image.new("RGB", (1000, 600)).save(tmp_path / "0.jpg")
    code, _, err = ended("slices", "units", files[0], "--weights", tmp_path / "no.pt", "--images", tmp_path)
    assert (code, "no.pt" in err) == (2, True)
