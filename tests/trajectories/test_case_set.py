"""A set of cases in a folder is whole or not there, and changes are found."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.trajectories.case_set import CASES, LARGEST_IMAGE, MANIFEST, MIRROR, open_case_set, safe_path, write_case_set
from tests.cases import camera, case, imported
from tests.stub_llm import png

PIXELS = png(8, 6)


def pack(folder):
    cases = [case("s1-a", cameras=(camera("images/s1.png"),)), case("s1-b", cameras=(camera("images/s1.png"),)), case("s2-a")]
    return write_case_set(folder, "Three", imported(*cases, images={"images/s1.png": PIXELS}))


def test_what_is_written_is_read_again_with_a_hash_of_every_image(tmp_path):
    written = pack(tmp_path / "set")
    again = open_case_set(tmp_path / "set")
    assert [c.case_id for c in again.cases] == ["s1-a", "s1-b", "s2-a"]
    assert again.digest == written.digest
    assert again.synthetic
    assert again.report["accepted"] == 3
    frame = again.cases[0].cameras[0].frames[0]
    assert again.image(frame).read_bytes() == PIXELS
    assert len(frame.sha256) == 64
    assert again.missing_images() == again.changed_images() == ()
    assert pq.read_table(tmp_path / "set" / MIRROR).num_rows == 3
    assert json.loads((tmp_path / "set" / MANIFEST).read_text())["scenes"] == 2


def test_the_digest_tells_cases_and_images_apart(tmp_path):
    first = pack(tmp_path / "a").digest
    other = imported(case("s1-a", cameras=(camera("images/s1.png"),)), images={"images/s1.png": png(9, 6)})
    same = imported(case("s1-a", cameras=(camera("images/s1.png"),)), images={"images/s1.png": PIXELS})
    assert len({first, write_case_set(tmp_path / "b", "x", other).digest, write_case_set(tmp_path / "c", "x", same).digest}) == 3
    assert pack(tmp_path / "d").digest == first


def test_an_image_that_is_not_at_hand_is_counted_and_one_that_changed_is_found(tmp_path):
    cases = [case("s1-a", cameras=(camera("images/s1.png"),)), case("s2-a", cameras=(camera("images/s2.png"),))]
    found = write_case_set(tmp_path / "set", "x", imported(*cases, images={"images/s1.png": PIXELS}))
    assert found.missing_images() == ("images/s2.png",)
    (tmp_path / "set/images/s1.png").write_bytes(b"other")
    assert found.changed_images() == ("images/s1.png",)


def test_changed_cases_are_refused(tmp_path):
    pack(tmp_path / "set")
    path = tmp_path / "set" / CASES
    path.write_text(path.read_text().replace('"s2-a"', '"s3-a"'))
    with pytest.raises(InputError, match="not what its manifest names"):
        open_case_set(tmp_path / "set")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": 3}', '{"schema_version": "9"}'])
def test_a_broken_manifest_is_told(tmp_path, text):
    pack(tmp_path / "set")
    (tmp_path / "set" / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json"):
        open_case_set(tmp_path / "set")


def test_a_folder_that_is_no_set_is_told(tmp_path):
    with pytest.raises(InputError, match="A set of cases is a folder with"):
        open_case_set(tmp_path)


@pytest.mark.parametrize("path", ["", "/etc/x.png", "../x.png", "a/../../x.png", "a\\b.png", "c:/x.png", "a\0.png"])
def test_a_path_that_leaves_the_folder_is_refused(path):
    with pytest.raises(InputError, match="not allowed"):
        safe_path(path)


def test_nothing_is_left_behind_where_writing_fails(tmp_path):
    for path, data in [("images/x.svg", b"<svg/>"), ("images/x.png", b"0" * (LARGEST_IMAGE + 1)), ("images/x.png", tmp_path / "gone.png")]:
        with pytest.raises(InputError, match="image"):
            write_case_set(tmp_path / "set", "x", imported(case(cameras=(camera(path),)), images={path: data}))
        assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_opened_again_is_not_written(tmp_path):
    for wrong in ({"licence": "x" * 3000}, {"case_id": " a"}, {"dt_s": 100.0}):
        with pytest.raises(InputError, match="breaks the format"):
            write_case_set(tmp_path / "set", "x", imported(case(**wrong)))
        assert list(tmp_path.iterdir()) == []


def test_a_set_is_never_written_over_another_nor_without_cases_nor_with_an_id_twice(tmp_path):
    pack(tmp_path / "set")
    with pytest.raises(InputError, match="not empty"):
        pack(tmp_path / "set")
    with pytest.raises(InputError, match="Not a single case"):
        write_case_set(tmp_path / "none", "x", imported())
    with pytest.raises(InputError, match="more than once: s1-a"):
        write_case_set(tmp_path / "twice", "x", imported(case("s1-a"), case("s1-a")))
