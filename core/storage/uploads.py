"""Uploaded files, byte for byte, each under its SHA-256: a table can always be traced to the file it came from."""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa

from core.digest import sha256_bytes
from core.errors import InputError
from core.storage import schema
from core.storage.database import Database

_HASH = re.compile(r"[0-9a-f]{64}")
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Upload:
    """One content under one name.

    Attributes:
        sha256: Of the content.
        name: File name, as the user had it.
        size: Bytes.
        uploaded_at: First time under this name, UTC.
    """

    sha256: str
    name: str
    size: int
    uploaded_at: datetime


@dataclass(frozen=True, eq=False)
class Uploads:
    """The uploaded files of the workspace.

    Attributes:
        db: Keeps who they are.
        folder: Keeps the bytes. With PostgreSQL and several hosts, a folder that all of them share.
    """

    db: Database
    folder: Path

    def put(self, name: str, data: bytes) -> str:
        """Keep a file; the same bytes again are stored once, and a further name is noted.

        Returns:
            SHA-256 of the content, in hex.

        Raises:
            InputError: The file cannot be written.
        """
        sha = sha256_bytes(data)
        try:
            self._write(sha, data)
        except OSError as e:
            raise InputError(f'The file "{name}" cannot be kept in "{self.folder}": {e.strerror or e}. Nothing was saved.') from e
        at = schema.now()  # rows come after the bytes, so that every row has its file
        with self.db.write() as c:
            self.db.add_if_absent(c, schema.files, {"sha256": sha, "size": len(data), "stored_at": at})
            self.db.add_if_absent(c, schema.uploads, {"sha256": sha, "name": name, "uploaded_at": at})
        return sha

    def path(self, sha256: str) -> Path:
        """Where a file lies.

        Raises:
            InputError: No such file was uploaded, or it has gone from the folder.
        """
        if not _HASH.fullmatch(sha256):
            raise InputError(f'"{sha256}" is no SHA-256; it has 64 characters from 0-9 and a-f.')
        path = self.folder / sha256
        if not path.is_file():
            raise InputError(f'The uploaded file {sha256[:12]} is not in "{self.folder}"; upload it again.')
        return path

    def get(self, sha256: str) -> bytes:
        """The bytes of a file.

        Raises:
            InputError: There is no such file, or its bytes have changed.
        """
        data = self.path(sha256).read_bytes()
        if sha256_bytes(data) != sha256:
            raise InputError(f"The uploaded file {sha256[:12]} is damaged: its bytes have changed on the disk. Upload it again.")
        return data

    def names(self, sha256: str) -> tuple[Upload, ...]:
        """The names under which a content was uploaded, the oldest first; none if it never was."""
        return self._rows(schema.uploads.c.sha256 == sha256) if _HASH.fullmatch(sha256) else ()

    def all(self) -> tuple[Upload, ...]:
        """Every upload, the oldest first."""
        return self._rows(sa.true())

    def sweep(self) -> int:
        """Remove what uploads that were cut off a day ago or longer have left; the number of files removed."""
        return sweep(self.folder)

    def _rows(self, where: sa.ColumnElement[bool]) -> tuple[Upload, ...]:
        u, f = schema.uploads.c, schema.files.c
        query = sa.select(u.sha256, u.name, f.size, u.uploaded_at).join_from(schema.uploads, schema.files).where(where).order_by(u.seq)
        with self.db.read() as c:
            return tuple(Upload(r.sha256, r.name, r.size, r.uploaded_at) for r in c.execute(query))

    def _write(self, sha: str, data: bytes) -> None:
        target = self.folder / sha
        if target.exists():
            if sha256_bytes(target.read_bytes()) == sha:
                return
            target.rename(self.folder / f"{sha}.damaged-{uuid4().hex[:8]}")  # set aside, so that the upload mends it and nothing is lost
        part = self.folder / f".{sha}.{uuid4().hex}.part"
        try:
            with part.open("xb") as f:
                f.write(data)
                f.flush()
                os.fsync(f.fileno())
            part.replace(target)  # whole or not at all; two that race put the same bytes there
        finally:
            part.unlink(missing_ok=True)


def sweep(folder: Path) -> int:
    """Remove files and folders `.*.part` that writers which were cut off a day ago or longer have left; how many were removed."""
    removed = 0
    for part in folder.glob(".*.part"):
        try:
            if time.time() - part.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(part) if part.is_dir() else part.unlink()
                removed += 1
        except OSError:  # another process removed it, or finished writing it
            continue
    return removed
