"""Live detections: a real ultralytics model with random weights, made-up results, and everything that may be wrong with the input."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from core.error_slices import detect
from core.error_slices.attach import detector_classes, with_detections
from core.error_slices.detect import Detector, boxes_of_result, detect_folder, load_detector
from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image, Rle
from core.error_slices.masks import decode
from core.error_slices.matching import make_units
from core.errors import InputError

CLASSES = (ClassName("0", "person"), ClassName("2", "car"))


class Rows(SimpleNamespace):
    def __len__(self):
        return len(self.cls)


def result(xyxy, cls, conf, masks=None, shape=(48, 64)):
    boxes = Rows(xyxy=np.array(xyxy, np.float32), cls=np.array(cls, np.float32), conf=np.array(conf, np.float32))
    return SimpleNamespace(boxes=boxes, masks=masks, orig_shape=shape)


class Fake:
    """A model that finds one car in each image, nothing in "empty", and stumbles over "odd"."""

    def __init__(self):
        self.asked = []

    def predict(self, source, **options):
        self.asked.append((source, options))
        if "odd" in source:
            raise RuntimeError("the image is odd\nTraceback")
        if "empty" in source:
            return [result([], [], [])]
        return [result([[4, 6, 20, 30]], [2], [0.75])]


def detector(model=None):
    return Detector("fake.pt", CLASSES, "detection", model or Fake())


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "images"
    (folder / "night").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("a.png", "b.png", "night/a.png"):
        Picture.fromarray(rng.integers(0, 255, (48, 64, 3), np.uint8)).save(folder / name)
    return folder


def truth_for(folder, **more):
    """Ground truth: a car in each of three images, and a fourth image that no detector has seen."""
    names = ("a.png", "b.png", "night/a.png", "gone.png")
    images = tuple(Image(f"{i + 1}", n, 64, 48, folder / n if n != "gone.png" else None) for i, n in enumerate(names))
    truth = Boxes.of([0, 1, 2, 3], [1, 1, 1, 1], [[4, 6, 20, 30]] * 4, ids=["11", "12", "13", "14"], **more)
    return DetectionSet("street", "", "detection", (ClassName("8", "person"), ClassName("9", "car")), images, truth, Boxes.of([], [], []))


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Weights of a detector and of a segmenter, untrained."""
    if find_spec("ultralytics") is None:
        pytest.skip("the lite install has no ultralytics")
    import torch

    yolo = detect.import_ultralytics()
    folder = tmp_path_factory.mktemp("weights")
    for name in ("yolo11n", "yolo11n-seg"):
        torch.manual_seed(0)
        model = yolo(f"{name}.yaml")
        head = model.model.model[-1]
        for part in getattr(head, "cv4", ()):  # every mask fills its box: the library drops instances whose mask has no pixel
            part[-1].weight.data.zero_()
            part[-1].bias.data.fill_(1.0)
            head.proto.cv3.bn.weight.data.zero_()
            head.proto.cv3.bn.bias.data.fill_(1.0)
        model.save(folder / f"{name}.pt")
    return folder


def test_a_model_built_from_yaml_runs_over_a_folder_and_becomes_units(weights, pictures):
    steps = []
    found = detect_folder(
        weights / "yolo11n.pt", pictures, confidence=0.0, most=7, device="cpu", image_size=64, progress=lambda *s: steps.append(s)
    )
    assert [i.id for i in found.images] == ["a.png", "b.png", "night/a.png"]
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert (found.model, found.task, len(found.classes), found.cancelled) == ("yolo11n.pt", "detection", 80, False)
    assert np.bincount(found.predictions.image).tolist() == [7, 7, 7]
    assert ((found.predictions.score >= 0) & (found.predictions.score <= 1)).all()
    made = with_detections(truth_for(pictures), found)
    assert make_units(made, replace(make_units(made).settings, confidence=0)).left_out == {}


def test_the_library_leaves_pillow_as_it_was(weights, tmp_path):
    (tmp_path / "broken.jpg").write_bytes(b"hello")
    with pytest.raises(UnidentifiedImageError):
        Picture.open(tmp_path / "broken.jpg")


def test_a_segmenter_gives_masks_of_the_size_of_the_image(weights, pictures):
    found = detect_folder(weights / "yolo11n-seg.pt", pictures / "a.png", confidence=0.0, most=3, device="cpu", image_size=64)
    assert found.task == "segmentation"
    assert len(found.predictions) == 3
    assert found.predictions.masks is not None
    assert {m.size for m in found.predictions.masks if m is not None} == {(48, 64)}
    assert len(found.predictions.masks) == 3
    made = with_detections(truth_for(pictures, masks=(None,) * 4), found, {c.name: "car" for c in found.classes})
    units = make_units(made, replace(make_units(made).settings, confidence=0))
    assert len(units.on("seg")) == 1 + int((units.kind[units.on("pred")] != "TP").sum())


def test_wrong_weights_are_named(weights, tmp_path):
    (tmp_path / "bad.pt").write_bytes(b"hello")
    (tmp_path / "list.pt").write_bytes(b"")
    for name, words in (("bad.pt", "cannot load"), ("list.pt", "cannot load"), ("none.pt", "no such file"), ("model.onnx", "exported")):
        with pytest.raises(InputError, match=words):
            load_detector(tmp_path / name)


def test_a_name_that_is_nowhere_and_cannot_be_fetched_says_so(weights, tmp_path, monkeypatch):
    def refuse(path):
        raise ConnectionError("no network")

    monkeypatch.setattr("core.error_slices.detect.import_ultralytics", lambda: refuse)
    with pytest.raises(InputError, match=r"no network.*not be fetched by that name"):
        load_detector("yolo99n.pt", folder=tmp_path / "kept")


def test_a_model_of_another_task_is_refused(tmp_path, monkeypatch):
    (tmp_path / "poses.pt").write_bytes(b"x")
    monkeypatch.setattr("core.error_slices.detect.import_ultralytics", lambda: lambda path: SimpleNamespace(names={0: "a"}, task="pose"))
    with pytest.raises(InputError, match="'pose'"):
        load_detector(tmp_path / "poses.pt")


def test_no_images_and_no_folder_are_told(tmp_path):
    with pytest.raises(InputError, match="no image in"):
        detect_folder(detector(), tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        detect_folder(detector(), tmp_path / "none")
    with pytest.raises(InputError, match="no image"):
        detect_folder(detector(), [])


def test_an_unreadable_image_is_named_and_the_rest_goes_on(pictures):
    (pictures / "broken.jpg").write_bytes(b"hello")
    Picture.new("RGB", (9, 9)).save(pictures / "odd.png")
    (pictures / os.fsdecode(b"K\xf6ln.png")).write_bytes((pictures / "a.png").read_bytes())
    found = detect_folder(detector(), [*sorted(pictures.glob("*.*")), pictures / "missing.png"])
    assert [i.id for i in found.images] == ["a.png", "b.png"]
    assert {f.name: f.why for f in found.failed} == {
        "broken.jpg": "it is no image that can be read",
        "odd.png": "the image is odd",
        "missing.png": "there is no such file",
        "K?ln.png": "its name is no UTF-8 text",
    }
    made = with_detections(truth_for(pictures), found)
    assert made.report.counts["images that could not be used"] == 4
    assert "broken.jpg: it is no image that can be read; left out." in made.report.problems


def test_when_not_one_image_works_the_reasons_are_told(tmp_path):
    Picture.new("RGB", (9, 9)).save(tmp_path / "odd.png")
    with pytest.raises(InputError, match="the image is odd"):
        detect_folder(detector(), tmp_path)


def test_cancel_keeps_what_was_found_and_leaves_the_rest_out_of_the_set(pictures):
    asked = iter((False, True))
    found = detect_folder(detector(), pictures, cancel=lambda: next(asked))
    assert (len(found.images), found.not_reached, found.cancelled) == (1, 2, True)
    made = with_detections(truth_for(pictures), found)
    assert made.truth.ids == ("11",)
    assert made.report.counts["images that the detector has not seen, left out"] == 3
    assert make_units(made).kind.tolist() == ["TP", "TP", "IMAGE"]


def test_settings_reach_the_model_and_classes_go_by_name(pictures):
    model = Fake()
    detect_folder(detector(model), [pictures / "a.png"], confidence=0.3, overlap=0.6, most=9, classes=["car"], image_size=320, device="cpu")
    assert model.asked[0][1] == {
        **{"conf": 0.3, "iou": 0.6, "max_det": 9, "imgsz": 320, "classes": [2], "device": "cpu", "verbose": False, "save": False}
    }
    with pytest.raises(InputError, match='Did you mean "car"'):
        detect_folder(detector(), pictures, classes=["cat"])


def test_results_become_boxes_with_masks_in_pixels_of_the_image():
    outlines = SimpleNamespace(xy=[np.array([[4, 6], [20, 6], [20, 30], [4, 30]]), np.zeros((0, 2))])
    boxes = boxes_of_result(result([[4, 6, 20, 30], [1, 1, 3, 3]], [2, 0], [0.75, 0.5], outlines), 5, ["0", "2"], "segmentation")
    assert boxes.image.tolist() == [5, 5]
    assert boxes.cls.tolist() == [1, 0]
    assert boxes.score.tolist() == [0.75, 0.5]
    assert boxes.xyxy.tolist() == [[4, 6, 20, 30], [1, 1, 3, 3]]
    assert boxes.masks is not None
    assert boxes.masks[1] is None
    assert decode(boxes.masks[0])[6:30, 4:20].all()
    assert decode(boxes.masks[0]).sum() == 16 * 24
    assert len(boxes_of_result(SimpleNamespace(boxes=None, masks=None), 0, ["0"], "segmentation")) == 0


def test_results_of_the_library_itself_become_the_same_boxes(weights):
    import torch

    detect.import_ultralytics()
    from ultralytics.engine import results

    mask = torch.zeros((1, 48, 64))
    mask[0, 6:30, 4:20] = 1
    said = results.Results(
        np.zeros((48, 64, 3), np.uint8),
        "a.png",
        {0: "person", 2: "car"},
        boxes=torch.tensor([[4.0, 6.0, 20.0, 30.0, 0.75, 2.0]]),
        masks=mask,
    )
    boxes = boxes_of_result(said, 0, ["0", "2"], "segmentation")
    assert (boxes.xyxy.tolist(), boxes.cls.tolist(), boxes.score.tolist()) == ([[4, 6, 20, 30]], [1], [0.75])
    assert boxes.masks is not None
    drawn = decode(boxes.masks[0])
    assert (drawn[6:29, 4:19].all(), drawn[:5].any(), drawn[31:].any()) == (True, False, False)


def test_detections_lie_beside_the_ground_truth_of_the_same_images_by_mapped_classes(pictures):
    (pictures / "empty.png").write_bytes((pictures / "a.png").read_bytes())
    found = detect_folder(detector(), pictures)
    truth = truth_for(pictures)
    made = with_detections(truth, found)
    assert [i.id for i in made.images] == ["1", "2", "3"]
    assert made.images[0].sha256
    assert made.predictions.cls.tolist() == [1, 1, 1]
    assert made.model == "fake.pt"
    assert make_units(made).kind.tolist() == ["TP"] * 6 + ["IMAGE"] * 3
    assert made.report.counts["images of the detector without ground truth, left out"] == 1
    other = with_detections(truth, found, {"car": ""})
    assert other.report.counts["predictions of classes left out"] == 3
    assert len(other.predictions) == 0
    assert [r.how for r in detector_classes(truth, CLASSES).rows] == ["same name", "same name"]


def test_two_images_of_one_name_are_told_apart_by_their_files_and_strangers_are_refused(pictures):
    found = detect_folder(detector(), pictures / "night")
    assert [i.id for i in with_detections(truth_for(pictures), found).images] == ["3"]
    truth = replace(truth_for(pictures), images=tuple(Image(str(k), f"x{k}.png", 64, 48) for k in range(4)))
    with pytest.raises(InputError, match="None of the 1 images"):
        with_detections(truth, found)


def test_masks_stay_only_where_both_sides_have_them(pictures):
    found = detect_folder(detector(), pictures)
    with_mask = replace(found, predictions=replace(found.predictions, masks=(Rle((48, 64), b"0"),) * 3))
    assert with_detections(truth_for(pictures), with_mask).task == "detection"
    both = with_detections(truth_for(pictures, masks=(None,) * 4), with_mask)
    assert (both.task, both.predictions.masks) == ("segmentation", (Rle((48, 64), b"0"),) * 3)
