"""Embeddings kept on disk, by model and text, shared by every process of the workspace."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Vectors = npt.NDArray[np.float32]

_LOG = logging.getLogger(__name__)
_WAIT = 30.0
_CHUNK = 500
_SCHEMA = """CREATE TABLE IF NOT EXISTS embeddings (
    model TEXT NOT NULL, text_sha256 BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text_sha256)
) WITHOUT ROWID"""


def text_key(text: str) -> bytes:
    """SHA-256 of a text, its key in the cache."""
    return hashlib.sha256(text.encode()).digest()


class EmbeddingCache:
    """An SQLite file in WAL of normalised float32 vectors; whatever is wrong with it costs time, never a result.

    A damaged file is removed and begun anew, a damaged entry counts as not there, and a folder that cannot be written
    leaves the vectors uncached (the log says so).

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """The vectors of those texts that are known for this model."""
        text_of = {text_key(t): t for t in texts}
        keys = list(text_of)
        found: dict[str, Vector] = {}
        try:
            with self._open() as db:
                for start in range(0, len(keys), _CHUNK):
                    part = keys[start : start + _CHUNK]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT text_sha256, vector FROM embeddings WHERE model = ? AND text_sha256 IN ({marks})"  # noqa: S608 (only "?")
                    for key, blob in db.execute(query, [model, *part]):
                        vector = _vector(blob)
                        if vector is not None:
                            found[text_of[key]] = vector
        except (sqlite3.DatabaseError, OSError) as e:
            self._give_up(e)
        return found

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of some texts."""
        rows = [(model, text_key(t), np.asarray(v, dtype="<f4").tobytes()) for t, v in vectors.items()]
        try:
            with self._open() as db, db:
                db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)
        except (sqlite3.DatabaseError, OSError) as e:
            self._give_up(e)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connected()) as db:
            yield db

    def _connected(self) -> sqlite3.Connection:
        """A connection to the file in WAL.

        SQLite does not wait its timeout for the lock that a change of the journal mode needs, nor for a process that is just
        closing the file, so both are tried again here.
        """
        until = time.monotonic() + _WAIT
        while True:
            db = sqlite3.connect(self.path, timeout=_WAIT)
            try:
                if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                db.execute(_SCHEMA)
            except sqlite3.OperationalError as e:
                db.close()
                if "locked" not in str(e) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            except BaseException:
                db.close()
                raise
            else:
                return db

    def _give_up(self, error: Exception) -> None:
        # An OperationalError says busy, full or not writable: the file itself may be good, so it stays.
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            _LOG.warning("The embedding cache %s is damaged (%s); it is begun anew.", self.path.name, error)
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        else:
            _LOG.warning("The embedding cache %s cannot be used now (%s); texts are embedded again.", self.path.name, error)


def _vector(blob: object) -> Vector | None:
    """A stored vector, None if it is not one of unit length."""
    if not isinstance(blob, bytes) or not blob or len(blob) % 4:
        return None
    vector = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    with np.errstate(all="ignore"):
        return vector if abs(float(vector @ vector) - 1.0) < 1e-3 else None
