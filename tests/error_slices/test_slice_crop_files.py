"""Crops and whole images that the gallery hands to the browser."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

from core.error_slices.detections import Image
from pages.shared.slices import files

DIGEST = "d" * 64


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "data" / "a.jpg"
    path.parent.mkdir()
    Pillow.fromarray(np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8)).save(path)
    return Image("1", "a.jpg", 80, 60, path, sha256="ab" * 32)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "cache"
    made.mkdir()
    return made


def size(path):
    with Pillow.open(path) as opened:
        return opened.size


def test_a_crop_is_made_once_and_told_by_a_name_that_tells_nothing(folder, picture, monkeypatch):
    [(name, why)] = files.put_crops(folder, DIGEST, [(picture, (0, 0, 40, 30))])
    assert why == "" and size(folder / name) == (40, 30)
    assert "a.jpg" not in name and name.startswith(DIGEST[:16])
    monkeypatch.setattr(files, "open_picture", lambda _: pytest.fail("read again"))
    assert files.put_crops(folder, DIGEST, [(picture, (0, 0, 40, 30))]) == [(name, "")]


def test_each_image_is_read_once_for_all_its_crops(folder, picture, monkeypatch):
    read = []
    real = files.open_picture
    monkeypatch.setattr(files, "open_picture", lambda p: read.append(p) or real(p))
    found = files.put_crops(folder, DIGEST, [(picture, (0, 0, 40, 30)), (picture, (10, 10, 50, 40))])
    assert len(read) == 1 and len({n for n, _ in found}) == 2


def test_what_cannot_be_shown_says_why_and_leaves_the_others(folder, picture, tmp_path):
    broken = tmp_path / "b.jpg"
    broken.write_bytes(b"no image")
    gone = replace(picture, id="3", path=tmp_path / "gone.jpg", sha256="cd" * 32)
    wanted = [replace(picture, path=None), replace(picture, id="2", path=broken, sha256=""), gone, picture]
    found = files.put_crops(folder, DIGEST, [(i, (0, 0, 40, 30)) for i in wanted])
    assert [bool(name) for name, _ in found] == [False, False, False, True]
    assert found[0][1] == files.NO_FILE and "cannot be read" in found[1][1] and "not where it was" in found[2][1]


def test_another_picture_of_the_same_name_is_another_crop(folder, picture):
    plain = replace(picture, sha256="")
    [(one, _)] = files.put_crops(folder, DIGEST, [(plain, (0, 0, 40, 30))])
    Pillow.new("RGB", (80, 60), (255, 0, 0)).save(picture.path)
    os.utime(picture.path, ns=(1, 1))
    [(two, _)] = files.put_crops(folder, DIGEST, [(plain, (0, 0, 40, 30))])
    assert one != two


def test_a_whole_image_is_its_own_file(folder, picture):
    name, why = files.put_frame(folder, DIGEST, picture)
    assert why == "" and (folder / name).read_bytes() == picture.path.read_bytes()
    assert files.put_frame(folder, DIGEST, picture) == (name, "")


def test_an_image_that_a_camera_turned_is_laid_out_as_its_boxes_stand(folder, picture):
    exif = Pillow.Exif()
    exif[0x0112] = 6
    Pillow.new("RGB", (80, 60)).save(picture.path, exif=exif)
    name, _ = files.put_frame(folder, DIGEST, picture)
    with Pillow.open(folder / name) as laid:
        assert laid.size == (80, 60) and 0x0112 not in laid.getexif()


def test_what_browsers_do_not_show_becomes_a_jpeg(folder, picture):
    path = picture.path.with_suffix(".tiff")
    Pillow.new("L", (80, 60), 7).save(path)
    name, why = files.put_frame(folder, DIGEST, replace(picture, path=path))
    assert why == "" and name.endswith(".jpg") and size(folder / name) == (80, 60)
    assert files.put_frame(folder, DIGEST, replace(picture, path=path.with_name("none.tiff"), sha256="ef" * 32))[0] == ""
    assert files.put_frame(folder, DIGEST, replace(picture, path=path.with_name("none.png"), sha256="ef" * 32))[0] == ""
    assert files.put_frame(folder, DIGEST, replace(picture, path=None)) == ("", files.NO_FILE)


def test_a_size_that_the_data_does_not_tell_comes_from_the_file(picture):
    assert files.size_of(picture) == (80, 60)
    assert files.size_of(replace(picture, width=0)) == (80, 60)
    assert files.size_of(replace(picture, width=0, path=None)) == (1, 1)
    picture.path.write_bytes(b"")
    assert files.size_of(replace(picture, width=0)) == (1, 1)


def test_crops_of_sets_that_are_gone_are_given_up(folder, picture):
    [(name, _)] = files.put_crops(folder, DIGEST, [(picture, (0, 0, 40, 30))])
    files.sweep(folder, {DIGEST})
    assert (folder / name).is_file()
    files.sweep(folder, set())
    assert not (folder / name).exists()
