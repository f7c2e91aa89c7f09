"""The page "Detections" without a browser: imports by upload and by path, classes, a detector that runs, and the sets that there are."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Picture

from core.error_slices.detect import Detector
from core.error_slices.detections import ClassName, Image
from core.operators import detection_sources, slices
from tests.apptest import open_page, run_until, text
from tests.detection_sets import classifier_set, detection_set, detections

TRUTH = {
    "images": [{"id": i, "file_name": f"{i}.png", "width": 64, "height": 48} for i in (1, 2)],
    "categories": [{"id": 3, "name": "car"}, {"id": 9, "name": "person"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 3, "bbox": [4, 6, 16, 24], "area": 384, "iscrowd": 0},
        {"id": 2, "image_id": 2, "category_id": 9, "bbox": [1, 1, 8, 8], "area": 64, "iscrowd": 0},
    ],
}
FOUND = [
    {"image_id": 1, "category_id": 3, "bbox": [4, 6, 16, 24], "score": 0.9},
    {"image_id": 2, "category_id": 77, "bbox": [1, 1, 8, 8], "score": 0.8},
    {"image_id": 5, "category_id": 3, "bbox": [1, 1, 8, 8], "score": 0.7},
]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "images").mkdir(parents=True)
    for i in (1, 2):
        Picture.fromarray(np.full((48, 64, 3), 40 * i, np.uint8)).save(folder / "images" / f"{i}.png")
    (folder / "gt.json").write_text(json.dumps(TRUTH))
    (folder / "dt.json").write_text(json.dumps(FOUND))
    return folder


def look(app, source, **more):
    app.segmented_control(key="detection_source").set_value("A path on the server").run()
    for key, name in (("truth", "gt.json"), ("predictions", "dt.json"), ("images", "images")):
        app.text_input(key=f"detection_path_{key}").set_value(str(source / name))
    for key, value in more.items():
        app.text_input(key=key).set_value(value)
    app.run()
    app.button(key="detection_look").click().run()
    assert not app.exception
    return app


def test_an_empty_workspace_offers_the_demo_and_an_import(workspace):
    app = open_page("detections")
    assert not app.exception
    assert "No detections yet." in text(app)
    assert {"Load the demo", "Look at it"} <= {b.label for b in app.button}


def test_a_source_on_the_server_is_looked_at_before_it_is_kept(store, source):
    app = look(open_page("detections"), source, detection_model="yolo")
    said = text(app)
    assert store.detections.list() == ()
    assert "results for unknown images" in said.lower() or "unknown image" in said.lower()
    app.button(key="detection_import_do").click().run()
    assert not app.exception
    (kept,) = store.detections.list()
    assert (kept.model, kept.images, kept.truth, kept.predictions) == ("yolo", 2, 2, 1)
    content = slices.open_detections(store, kept.id)
    assert [i.path.name for i in content.images] == ["1.png", "2.png"]
    assert "is in use: 1 prediction on 2 images." in text(app)


def test_what_is_not_there_is_named_and_nothing_is_imported(store, source):
    app = open_page("detections")
    app.segmented_control(key="detection_source").set_value("A path on the server").run()
    app.text_input(key="detection_path_truth").set_value(str(source / "no.json")).run()
    app.button(key="detection_look").click().run()
    assert not app.exception
    assert "There is no such file or folder on the server" in text(app)
    (source / "gt.json").write_text("{")
    said = text(look(open_page("detections"), source))
    assert "Nothing was imported." in said
    assert store.detections.list() == ()


def test_an_upload_is_copied_into_the_workspace(store, source, workspace):
    app = open_page("detections")
    app.file_uploader(key="detection_truth-False").upload("gt.json", (source / "gt.json").read_bytes(), "application/json")
    app.file_uploader(key="detection_predictions-False").upload("dt.json", (source / "dt.json").read_bytes(), "application/json").run()
    app.button(key="detection_look").click().run()
    assert not app.exception
    app.button(key="detection_import_do").click().run()
    assert not app.exception
    (kept,) = store.detections.list()
    assert kept.predictions == 1
    assert list((workspace / "caches").rglob("gt.json")) == []


def test_a_source_that_is_not_wanted_is_dropped(store, source):
    app = look(open_page("detections"), source)
    app.button(key="detection_drop").click().run()
    assert not app.exception
    assert "detection_import_do" not in {b.key for b in app.button}
    assert store.detections.list() == ()


def test_a_set_is_used_renamed_deleted_and_taken_back(store):
    first, second = detection_set(store, "First"), detection_set(store, "Second", 0.5)
    app = open_page("detections")
    said = text(app)
    assert "2 sets of detections" in said
    assert "Same images and ground truth as Second." in said
    app.button(key=f"use-detections-{first.id}").click().run()
    assert not app.exception
    assert "First is in use" in text(app)
    app.text_input(key=f"detections-name-{first.id}").set_value("Other name")
    app.button(key=f"rename-detections-{first.id}").click().run()
    assert store.detections.get(first.id).name == "Other name"
    app.button(key=f"delete-detections-{second.id}").click().run()
    assert [s.id for s in store.detections.list()] == [first.id]
    app.button(key="undo-delete-detections").click().run()
    assert not app.exception
    assert len(store.detections.list()) == 2


def test_the_report_of_an_import_can_be_read_again(store):
    saved = detection_set(store)
    app = open_page("detections")
    app.toggle(key=f"detections-report-{saved.id}").set_value(True).run()
    assert not app.exception
    said = text(app)
    assert "One box lies outside its image." in said
    assert "bus 3" in said


class Model:
    """Finds one car of the size of the truth in each image."""

    def predict(self, source, **options):
        boxes = SimpleNamespace(xyxy=np.array([[4, 6, 20, 30]]), cls=np.array([2]), conf=np.array([0.75]))
        return [SimpleNamespace(boxes=Rows(boxes), masks=None, orig_shape=(48, 64))]


class Rows:
    def __init__(self, rows):
        self.xyxy, self.cls, self.conf = rows.xyxy, rows.cls, rows.conf

    def __len__(self):
        return len(self.cls)


@pytest.fixture
def detector(monkeypatch):
    made = Detector("fake.pt", (ClassName("0", "person"), ClassName("2", "auto")), "detection", Model())
    monkeypatch.setattr(detection_sources, "load_detector", lambda weights, folder=None: made)


def test_a_detector_runs_on_the_images_of_a_set(store, source, detector):
    look(open_page("detections"), source).button(key="detection_import_do").click().run()
    app = open_page("detections", view="Run a detector")
    app.text_input(key="live_weights").set_value("fake.pt").run()
    app.button(key="live_load").click().run()
    assert not app.exception
    assert "auto, perhaps car" in text(app)
    app.button(key="live_run").click().run()
    run_until(app, lambda: "live_keep" in {b.key for b in app.button})
    assert "predictions of classes left out" in text(app)
    app.button(key="live_keep").click().run()
    assert not app.exception
    assert {s.model for s in store.detections.list()} == {"", "fake.pt"}


def test_a_detector_needs_images_with_files(store, detector):
    detection_set(store)
    app = open_page("detections", view="Run a detector")
    app.text_input(key="live_weights").set_value("fake.pt").run()
    app.button(key="live_load").click().run()
    assert not app.exception
    assert "has a file here; import it again with its folder of images." in text(app)


def test_weights_that_are_not_there_are_told(store, tmp_path):
    saved = detections(images=2)
    picture = tmp_path / "0.jpg"
    Picture.new("RGB", (640, 480)).save(picture)
    slices.keep_detections(store, replace(saved, images=(Image("0", "0.jpg", 640, 480, picture), saved.images[1])))
    app = open_page("detections", view="Run a detector")
    app.text_input(key="live_weights").set_value(str(tmp_path / "no.pt")).run()
    app.button(key="live_load").click().run()
    assert not app.exception
    assert "there is no such file of weights" in text(app)
    assert "Nothing was run." in text(app)


def test_a_classifier_alone_gives_a_detector_nothing_to_run_on(store):
    classifier_set(store)
    app = open_page("detections", view="Run a detector")
    assert not app.exception
    assert "Import ground truth with its images first" in text(app)
