"""Datastores of footage: what is known of them is only ever added to; on both back ends."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from core.acquisition.manifest import ManifestReport
from core.errors import InputError
from core.odd import infer_odd
from core.operators import find_datastore, import_manifest, load_demo_datastore, manifest_report, open_datastore, open_footage
from core.settings import ASSETS
from core.storage import Store

TEXT = "id,path,time\n1,a.jpg,night\n2,b.jpg,\n"


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "night drive.csv"
    path.write_text(TEXT)
    return path


def test_a_datastore_comes_back_as_it_was(store: Store, manifest) -> None:
    saved = import_manifest(store, manifest, who="Ada")
    assert (saved.name, saved.rows, saved.synthetic, saved.root, saved.deleted) == ("night drive", 2, False, manifest.parent, False)
    assert store.datastores.list() == (saved,)
    assert [store.datastores.find(x) for x in (saved.id, saved.digest, "NIGHT DRIVE")] == [saved] * 3
    assert store.datastores.find("another") is None
    assert store.odds.get(saved.odd_hash).name == "driving"
    opened = open_datastore(store, saved.id)
    assert (opened.digest, opened.rows, opened.name, opened.root) == (saved.digest, 2, saved.name, saved.root)
    assert manifest_report(store, saved.id) == ManifestReport.from_dict(opened.report)
    assert [e.who for e in store.datastores.events(saved.id)] == ["Ada"]


def test_names_are_unique_and_free_ones_are_found(store: Store, manifest) -> None:
    first = import_manifest(store, manifest)
    second = import_manifest(store, manifest)  # the same files, under a name of its own
    assert (second.name, second.digest, second.folder) == ("night drive (2)", first.digest, first.folder)
    with pytest.raises(InputError, match="already a datastore"):
        import_manifest(store, manifest, name="Night Drive")
    renamed = store.datastores.rename(second.id, "other")
    assert store.datastores.find("other") == renamed


def test_imports_of_one_manifest_at_one_moment_all_come_through(store: Store, manifest) -> None:
    start = Barrier(4)

    def load(_: int) -> tuple[str, str]:
        start.wait()
        demo = load_demo_datastore(store)
        return import_manifest(store, manifest).name, demo.name

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(load, range(4)))
    assert sorted(n for n, _ in found) == ["night drive", "night drive (2)", "night drive (3)", "night drive (4)"]
    assert {d for _, d in found} == {"Demo footage"}
    assert len(store.datastores.list()) == 5
    assert len(list(store.datastores.parent.iterdir())) == 2  # the files of each are there once, and nothing half made


def test_the_bin_keeps_what_it_gets(store: Store, manifest) -> None:
    saved = import_manifest(store, manifest)
    store.datastores.delete(saved.id)
    assert store.datastores.list() == ()
    assert store.datastores.find(saved.name) is None
    assert open_datastore(store, saved.digest).rows == 2  # a run that used it can still be replayed
    store.datastores.restore(saved.id)
    assert [x.id for x in store.datastores.list()] == [saved.id]
    assert [e.kind for e in store.datastores.events(saved.id)] == ["created", "deleted", "restored"]


def test_files_that_are_gone_are_told(store: Store, manifest) -> None:
    saved = import_manifest(store, manifest)
    shutil.rmtree(store.datastores.path(saved))
    assert find_datastore(store, saved.digest) is None
    with pytest.raises(InputError, match="are gone"):
        open_datastore(store, saved.id)
    again = import_manifest(store, manifest, name="again")
    assert open_datastore(store, again.id).rows == open_datastore(store, saved.id).rows == 2  # the files are back for both


def test_what_is_not_there_is_told_with_what_is(store: Store, manifest) -> None:
    import_manifest(store, manifest)
    with pytest.raises(InputError, match='"night drive"'):
        open_datastore(store, "day drive")
    assert find_datastore(store, "0" * 64) is None


def test_a_manifest_by_its_path_is_read_and_not_listed(store: Store, manifest) -> None:
    opened = open_footage(store, str(manifest))
    assert (opened.rows, opened.root, store.datastores.list()) == (2, manifest.parent, ())
    odd = infer_odd({"time": ["night", "noon"], "place": ["a", "b"]})
    assert open_footage(store, str(manifest), odd).digest != opened.digest


def test_the_demo_is_imported_once_and_found_where_the_product_lies(store: Store) -> None:
    first, again = load_demo_datastore(store), load_demo_datastore(store)
    assert first == again
    assert (first.synthetic, first.root) == (True, ASSETS / "demo")
    assert open_footage(store, "demo").digest == first.digest
    store.datastores.delete(first.id)
    assert load_demo_datastore(store).id != first.id


def test_uploaded_bytes_have_no_folder_of_media(store: Store) -> None:
    saved = import_manifest(store, TEXT.encode(), file="upload.csv")
    assert (saved.name, saved.root) == ("upload", None)
    assert open_datastore(store, saved.id).media("a.jpg") is None
