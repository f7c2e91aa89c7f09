"""Datastores of footage in the workspace: import a manifest, open what was imported, and the demo that ships with the product."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.acquisition.datastore import Datastore
from core.acquisition.datastore import open_datastore as open_folder
from core.acquisition.importers import Records, open_records
from core.acquisition.manifest import ManifestPlan, ManifestReport, propose_manifest
from core.acquisition.normalise import Manifest, normalise
from core.acquisition.tag_rules import RulesDoc, shipped_rules
from core.acquisition.write_datastore import datastore_digest, write_datastore
from core.errors import InputError
from core.odd import Odd, built_in
from core.settings import ASSETS, Settings
from core.similarity.encoder import Encoder, Progress
from core.storage import SavedDatastore, Store

DEMO_MANIFEST = ASSETS / "demo" / "manifest.csv"
DEMO_FOOTAGE = "Demo footage"


@dataclass(frozen=True, eq=False)
class ReadManifest:
    """A manifest that was read but not kept.

    Attributes:
        records: The file.
        odd: The ODD of its tags.
        plan: How it was read.
        rules: The rules for tags.
        manifest: Its rows, with the report.
    """

    records: Records
    odd: Odd
    plan: ManifestPlan
    rules: RulesDoc
    manifest: Manifest

    @property
    def report(self) -> ManifestReport:
        """What became of it."""
        return self.manifest.report


def read_manifest(
    source: Path | bytes,
    name: str = "",
    *,
    odd: Odd | None = None,
    said: Mapping[str, Any] | None = None,
    rules: RulesDoc | None = None,
    thresholds: Mapping[str, tuple[int, ...]] | None = None,
) -> ReadManifest:
    """Reads a manifest and says what became of every row, before anything is kept.

    Args:
        source: Path of the file, or its bytes.
        name: Name of the file to show.
        odd: The ODD of the tags; the built-in one by default.
        said: What the user said of columns and values, see `core.acquisition.manifest.ManifestPlan`.
        rules: Rules for tags; those that ship by default.
        thresholds: Other thresholds of counting rules, by the rule's id.

    Raises:
        InputError: The file cannot be read, or not a single row can be used.
    """
    odd = odd or built_in()
    doc = (rules or shipped_rules()).with_thresholds(thresholds or {})
    records = open_records(source, name)
    plan = propose_manifest(records, odd, doc, said)
    return ReadManifest(records, odd, plan, doc, normalise(records, odd, plan, doc))


def build_datastore(
    read: ReadManifest, parent: Path, *, root: Path | None = None, encoder: Encoder | None = None, progress: Progress | None = None
) -> Datastore:
    """Writes a read manifest below a folder and opens it; what was written before is only opened, unless it is damaged.

    Args:
        read: The manifest.
        parent: Folder of all datastores.
        root: Folder that relative paths of media start from.
        encoder: Encodes the captions, so that queries can compare them; None leaves captions out of queries.
        progress: Called with captions encoded and in all.
    """
    digest = datastore_digest(read.records.sha256, read.plan, read.rules, read.odd, encoder.model_id if encoder else "")
    stem = Path(read.records.name).stem
    if (parent / digest).is_dir():
        with suppress(InputError):  # damaged, so it is written anew
            there = open_folder(parent / digest, stem, root)
            there.check()
            return there
    vectors = None
    if encoder is not None:
        captions = read.manifest.table["caption"].combine_chunks().dictionary_encode()
        texts = captions.dictionary.to_pylist()
        encoded = encoder.encode(texts, progress).astype(np.float16)
        encoded[[i for i, t in enumerate(texts) if not t]] = 0  # a row without a caption is like no slice
        vectors = (captions.indices.to_numpy(), encoded, encoder.model_id)
    source = {"file": read.records.name, "sha256": read.records.sha256, "bytes": read.records.size}
    write_datastore(parent, digest, read.manifest, read.odd, read.plan, source, vectors)
    return open_folder(parent / digest, stem, root)


def import_manifest(
    store: Store,
    source: Path | bytes,
    *,
    name: str = "",
    file: str = "",
    odd: Odd | None = None,
    said: Mapping[str, Any] | None = None,
    rules: RulesDoc | None = None,
    thresholds: Mapping[str, tuple[int, ...]] | None = None,
    root: Path | None = None,
    captions: Settings | None = None,
    progress: Progress | None = None,
    who: str = "",
) -> SavedDatastore:
    """Keeps a manifest in the workspace as a datastore.

    Args:
        store: The workspace.
        source: Path of the manifest, or its bytes.
        name: Name of the datastore; a free one after the file by default.
        file: Name of the file, for bytes.
        odd: The ODD of the tags; the built-in one by default.
        said: What the user said of columns and values.
        rules: Rules for tags; those that ship by default.
        thresholds: Other thresholds of counting rules, by the rule's id.
        root: Folder that relative paths of media start from; that of the manifest's file by default.
        captions: Settings of the encoder if captions are to be compared in queries, else None.
        progress: Called with captions encoded and in all.
        who: Who does it.

    Raises:
        InputError: The manifest cannot be used, or the name is taken.
        MissingPackageError: Captions are to be compared, and the encoder is not installed.
    """
    if name and (free := store.datastores.free_name(name)) != " ".join(name.split()):  # said before anything slow starts
        raise InputError(f'There is already a datastore called "{name}". Choose another name, such as "{free}".')
    read = read_manifest(source, file, odd=odd, said=said, rules=rules, thresholds=thresholds)
    if root is None and isinstance(source, Path):
        root = source.resolve().parent
    encoder = Encoder.from_settings(captions) if captions is not None else None
    built = build_datastore(read, store.datastores.parent, root=root, encoder=encoder, progress=progress)
    return store.datastores.save(
        name or Path(read.records.name).stem,
        digest=built.digest,
        folder=built.folder.name,
        odd=read.odd,
        source_sha=read.records.sha256,
        rows=built.rows,
        synthetic=built.synthetic,
        root=root,
        provenance={"file": read.records.name, "plan": read.plan.model_dump(mode="json"), "report": read.report.as_dict()},
        who=who,
        free_name=not name,
    )


def manifest_report(store: Store, which: str) -> ManifestReport:
    """The report of the import of a saved datastore.

    Raises:
        InputError: There is no such datastore.
    """
    return ManifestReport.from_dict(store.datastores.provenance(which)["report"])


def open_datastore(store: Store, which: str) -> Datastore:
    """The datastore of an id, a name or a digest.

    Raises:
        InputError: There is none, or its files are gone or damaged.
    """
    saved = store.datastores.find(which)
    if saved is None:
        names = ", ".join(f'"{x.name}"' for x in store.datastores.list()) or "none"
        raise InputError(f'There is no datastore "{which}" in this workspace; there are: {names}.')
    return open_folder(store.datastores.path(saved), saved.name, saved.root)


def find_datastore(store: Store, digest: str) -> Datastore | None:
    """The datastore of a digest, None if this workspace does not have it or its files."""
    saved = store.datastores.find(digest)
    gone = saved is None or not (store.datastores.parent / saved.folder).is_dir()
    return None if saved is None or gone else open_datastore(store, saved.id)


def open_footage(store: Store, which: str, odd: Odd | None = None, settings: Settings | None = None) -> Datastore:
    """A saved datastore by name, id or digest, "demo", or the manifest of a path; that one is read, and not listed in the workspace.

    Args:
        store: The workspace.
        which: What to open.
        odd: The ODD of the tags of a manifest; the built-in one by default.
        settings: Where a manifest of a path is unpacked; in the workspace by default.

    Raises:
        InputError: It is none of these.
    """
    if store.datastores.find(which) is not None:
        return open_datastore(store, which)
    path = Path(which)
    if path.is_file():
        parent = settings.datastores if settings is not None else store.datastores.parent
        return build_datastore(read_manifest(path, odd=odd), parent, root=path.resolve().parent)
    return open_datastore(store, load_demo_datastore(store).id if which == "demo" else which)


def load_demo_datastore(store: Store) -> SavedDatastore:
    """The demo footage, drawn by the product and labelled synthetic; imported on the first call, found again on later ones."""
    read = read_manifest(DEMO_MANIFEST)
    digest = datastore_digest(read.records.sha256, read.plan, read.rules, read.odd)
    name = store.datastores.free_name(DEMO_FOOTAGE)  # before looking, so that whoever loads it in between has taken the name
    if (there := _living(store, digest)) is not None:
        return there
    try:
        return import_manifest(store, DEMO_MANIFEST, name=name)
    except InputError:
        if (there := _living(store, digest)) is None:
            raise
        return there


def _living(store: Store, digest: str) -> SavedDatastore | None:
    """The newest datastore of a digest that is not deleted and has its files."""
    found = (x for x in store.datastores.list() if x.digest == digest and (store.datastores.parent / x.folder).is_dir())
    return next(found, None)
