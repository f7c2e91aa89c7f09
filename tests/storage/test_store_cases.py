"""Sets of cases are kept by name, found again, and never opened once their files changed."""

from __future__ import annotations

import shutil

import pytest

from core.errors import InputError
from core.settings import Settings
from core.storage import open_store
from core.trajectories.case_set import CASES, MANIFEST, write_case_set
from tests.cases import case, imported


def kept(store, name="Night drives", **changes):
    folder = store.cases.parent / f"f{len(store.cases.list(include_deleted=True))}"
    return store.cases.save(name, write_case_set(folder, name, imported(case(**changes))))


@pytest.fixture
def store(workspace):
    found = open_store(Settings.from_environment())
    yield found
    found.close()


def test_a_set_is_listed_opened_renamed_and_comes_back_from_the_bin(store):
    saved = kept(store)
    assert (saved.cases, saved.synthetic, saved.deleted) == (1, True, False)
    assert store.cases.open(saved.id).cases[0].case_id == "s1-p"
    assert store.cases.report(saved.id)["accepted"] == 1
    assert store.cases.rename(saved.id, "Rain").name == "Rain"
    store.cases.delete(saved.id)
    assert store.cases.list() == ()
    assert store.cases.find(saved.digest).deleted
    store.cases.restore(saved.id)
    assert store.cases.find("rain").id == saved.id


def test_a_name_is_used_once(store):
    kept(store)
    with pytest.raises(InputError, match="Night drives"):
        kept(store, case_id="s2-p")


def test_a_workspace_may_be_moved_with_its_sets(store, tmp_path, monkeypatch):
    saved = kept(store)
    shutil.copytree(store.cases.parent.parent, tmp_path / "moved")
    monkeypatch.setenv("ODDYSSEY_HOME", str(tmp_path / "moved"))
    moved = open_store(Settings.from_environment())
    assert moved.cases.get(saved.id).folder.is_relative_to(tmp_path / "moved")
    assert len(moved.cases.open(saved.id).cases) == 1
    moved.close()


def test_files_that_changed_or_went_are_told(store):
    saved = kept(store)
    other = write_case_set(store.cases.parent / "other", "x", imported(case("s9-p")))
    for name in (CASES, MANIFEST):
        shutil.copy(other.folder / name, saved.folder / name)
    with pytest.raises(InputError, match="changed since they were imported"):
        store.cases.open(saved.id)
    shutil.rmtree(saved.folder)
    with pytest.raises(InputError, match="are gone"):
        store.cases.open(saved.id)
