"""A run of a detector outlives the session that began it: a page that is loaded anew shows it, and can stop it."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Picture

from core.error_slices.detect import Detector
from core.error_slices.detections import ClassName, Image
from core.operators import detection_sources, slices
from pages.shared import detection_live
from tests.apptest import open_page, run_until, text
from tests.detection_sets import detections


class Nothing:
    """No box."""

    def __init__(self):
        self.xyxy, self.cls, self.conf = np.empty((0, 4)), np.empty(0), np.empty(0)

    def __len__(self):
        return 0


class Slow:
    """Waits with each image until it may go on."""

    def __init__(self, go):
        self.go = go

    def predict(self, source, **options):
        assert self.go.wait(60)
        return [SimpleNamespace(boxes=Nothing(), masks=None, orig_shape=(480, 640))]


@pytest.fixture
def go(store, tmp_path, monkeypatch):
    """Lets the detector go on."""
    files = []
    for k in range(3):
        file = tmp_path / f"{k}.jpg"
        Picture.new("RGB", (640, 480), (k, 0, 0)).save(file)
        files.append(Image(str(k), file.name, 640, 480, file))
    content = detections(images=3)
    slices.keep_detections(store, replace(content, images=tuple(files)))
    event = threading.Event()
    made = Detector("fake.pt", (ClassName("0", "person"),), "detection", Slow(event))
    monkeypatch.setattr(detection_sources, "load_detector", lambda weights, folder=None: made)
    yield event
    event.set()


def test_a_page_loaded_anew_finds_the_run_and_its_result_once(go):
    app = open_page("detections", view="Run a detector")
    app.text_input(key="live_weights").set_value("weights/<b>fake.pt").run()
    app.button(key="live_load").click().run()
    app.button(key="live_run").click().run()
    assert "The detector runs" in text(app)
    anew = open_page("detections", view="Run a detector")
    assert "The detector runs &lt;b&gt;fake.pt on the images of Streets" in text(anew)
    anew.button(key="live_stop").click().run()
    go.set()
    run_until(anew, lambda: "live_keep" in {b.key for b in anew.button})
    said = text(anew)
    assert "Stopped: 2 images were not reached; they are left out" in said or "Stopped: 3 images" in said
    anew.button(key="live_again").click().run()
    assert not anew.exception
    third = open_page("detections", view="Run a detector")
    assert "live_keep" not in {b.key for b in third.button}
    assert not detection_live._runs()
