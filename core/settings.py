"""Where things are kept and which services are used, read from the environment once and passed on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets"
"""Folder of the data that ships with the product."""

ENCODER_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The paper's text encoder (SliceNav, section 4, experimental protocol)."""


@dataclass(frozen=True)
class Settings:
    """Settings of one process.

    Attributes:
        home: Workspace folder: database, uploads and caches.
        database_url: SQLAlchemy URL; SQLite inside `home` unless `DATABASE_URL` is set.
        encoder: Name or path of the sentence encoder.
    """

    home: Path
    database_url: str
    encoder: str = ENCODER_MODEL

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Settings from `ODDYSSEY_HOME`, `DATABASE_URL` and `ODDYSSEY_ENCODER`."""
        env = os.environ if environ is None else environ
        home = Path(env.get("ODDYSSEY_HOME") or "workspace").expanduser().resolve()
        url = env.get("DATABASE_URL") or f"sqlite:///{home / 'oddyssey.db'}"
        return cls(home=home, database_url=url, encoder=env.get("ODDYSSEY_ENCODER") or ENCODER_MODEL)

    @property
    def uploads(self) -> Path:
        """Folder of uploaded files, each stored under its SHA-256."""
        return self.home / "uploads"

    @property
    def caches(self) -> Path:
        """Folder of things that can be computed again."""
        return self.home / "cache"

    @property
    def runs(self) -> Path:
        """Folder of the records of the controller's runs."""
        return self.home / "runs"

    @property
    def datastores(self) -> Path:
        """Folder of imported manifests of footage."""
        return self.home / "datastores"

    @property
    def media(self) -> Path:
        """Folder of images that were made, each stored under its SHA-256."""
        return self.home / "media"

    @property
    def cases(self) -> Path:
        """Folder of imported cases of trajectories, each set in a folder of its own."""
        return self.home / "cases"

    @property
    def detections(self) -> Path:
        """Folder of imported detections, each set in a folder of its own."""
        return self.home / "detections"
