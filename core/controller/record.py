"""The record of a run: a folder that only grows, with the SHA-256 of every file in its manifest (SliceNav, appendix J)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.digest import sha256_bytes
from core.errors import InputError
from core.odd import Odd, from_document, to_document
from core.seed_table import SeedTable
from core.storage.slices import pack, unpack

PLAN, CALLS, EVENTS, MANIFEST = "plan.json", "llm_calls.jsonl", "events.jsonl", "manifest.json"
WITHIN, OUTSIDE = "suggest_top_missing_slices_within_ODD.csv", "suggest_top_missing_slices_outside_ODD.csv"
TRIAGE, CONDITIONS = "triage.json", "results_by_condition.csv"
RETRIEVAL, BUNDLE, UNFILLED = "dataset_retrieval.jsonl", "normalized_bundle.jsonl", "unfilled_slices.jsonl"
RESULTS, REPORT = "eval_results.jsonl", "agent_response.md"
INPUTS = "inputs"
_SEED, _ODD, _CONTEXT = f"{INPUTS}/seed_table.bin", f"{INPUTS}/odd.json", f"{INPUTS}/context.json"


@dataclass(frozen=True)
class Record:
    """A folder with the files of one run. A file that changes keeps what it held under a numbered name."""

    folder: Path

    def write(self, name: str, data: bytes, *, kept: bool = False) -> str:
        """Write a file, whole or not at all.

        Args:
            name: Of the file.
            data: What it shall hold.
            kept: Whether what it held before is kept already.

        Returns:
            Its SHA-256.

        Raises:
            InputError: The folder cannot be written.
        """
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not kept and path.exists() and path.read_bytes() != data:
                self._keep(path)
            _whole(path, data)
        except OSError as e:
            raise self._unwritable(e) from e
        return sha256_bytes(data)

    def keep(self, name: str) -> None:
        """Keep what a file holds now, if it is there, under a numbered name.

        Raises:
            InputError: The folder cannot be written.
        """
        try:
            if self.has(name):
                self._keep(self.folder / name)
        except OSError as e:
            raise self._unwritable(e) from e

    def append(self, name: str, row: Mapping[str, Any]) -> None:
        """Add a line to a JSON Lines file; half a line that a crash left there goes.

        Raises:
            InputError: The folder cannot be written.
        """
        line = json.dumps(dict(row), ensure_ascii=False, allow_nan=False) + "\n"
        try:
            with (self.folder / name).open("a+b") as f:
                f.seek(0)
                f.truncate(f.read().rfind(b"\n") + 1)
                f.write(line.encode())
                f.flush()
                os.fsync(f.fileno())
        except OSError as e:
            raise self._unwritable(e) from e

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work on a record that nobody else works on; the hold ends with the process, however that ends.

        Raises:
            InputError: Somebody else does.
        """
        try:
            import fcntl
        except ImportError:  # Windows has no such hold on a folder
            yield
            return
        held = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise InputError(
                    f'The run "{self.folder.name}" is being worked on by another process or page. Wait until it is done.'
                ) from e
            except OSError:  # a file system without such holds
                pass
            yield
        finally:
            os.close(held)

    def read(self, name: str) -> bytes:
        """A file of the record.

        Raises:
            InputError: It is not there.
        """
        try:
            return (self.folder / name).read_bytes()
        except OSError as e:
            raise InputError(f'The record "{self.folder.name}" has no readable file "{name}".') from e

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.folder / name).is_file()

    def json(self, name: str) -> Any:
        """A JSON file of the record.

        Raises:
            InputError: It is not there, or is no JSON.
        """
        try:
            return json.loads(self.read(name))
        except ValueError as e:
            raise InputError(f'The file "{name}" of the record "{self.folder.name}" is damaged: it is no JSON.') from e

    def lines(self, name: str) -> list[Any]:
        """A JSON Lines file of the record; nothing where there is no such file, and no line that a crash cut off."""
        if not self.has(name):
            return []
        try:
            return [json.loads(x) for x in self.read(name).split(b"\n")[:-1] if x.strip()]
        except ValueError as e:
            raise InputError(f'The file "{name}" of the record "{self.folder.name}" is damaged: a line is no JSON.') from e

    def names(self) -> list[str]:
        """Files of the record but the manifest and the log of events, in order."""
        files = (p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file() and p.suffix != ".part")
        return sorted(f for f in files if f not in (MANIFEST, EVENTS))

    def shas(self) -> dict[str, str]:
        """SHA-256 of each of those files."""
        return {name: sha256_bytes(self.read(name)) for name in self.names()}

    def put_inputs(self, seed: SeedTable, context: Mapping[str, Any]) -> None:
        """Keep everything that scores rest on, so that a replay needs nothing but the folder."""
        odd = {"source": seed.odd.source, "document": to_document(seed.odd)}
        self.write(_ODD, dump(odd))
        self.write(_SEED, pack(seed))
        self.put_context(dict(context) | {"n_assumed": seed.n_assumed, "seed_sha256": seed.digest})

    def put_context(self, context: Mapping[str, Any]) -> None:
        """Keep what else the run rests on."""
        self.write(_CONTEXT, dump(dict(context)))

    def odd(self) -> Odd:
        """The ODD of the run."""
        data = self.json(_ODD)
        return from_document(data["document"], data["source"])

    def context(self) -> dict[str, Any]:
        """What else the scores rest on."""
        return dict(self.json(_CONTEXT))

    def seed(self) -> SeedTable:
        """The seed table of the run.

        Raises:
            InputError: It no longer has its digest.
        """
        context = self.context()
        try:
            seed = unpack(self.read(_SEED), self.odd(), context["n_assumed"])
        except ValueError as e:
            raise InputError(f'The seed table of the record "{self.folder.name}" is damaged: {e}') from e
        if seed.digest != context["seed_sha256"]:
            raise InputError(f'The seed table of the record "{self.folder.name}" is damaged: it has another digest.')
        return seed

    def _keep(self, path: Path) -> None:
        """What a file holds, under the first free number."""
        i = 1
        while (found := path.with_name(f"{path.stem}.{i}{path.suffix}")).exists():
            i += 1
        _whole(found, path.read_bytes())

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f'The record of the run cannot be written to "{self.folder}": {error.strerror or error}.')


def _whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def open_record(folder: Path) -> Record:
    """The record in a folder.

    Raises:
        InputError: There is none.
    """
    if not (folder / PLAN).is_file():
        if (folder / EVENTS).exists():
            raise InputError(f'The record in "{folder}" is damaged: {PLAN} is gone.')
        if (folder / INPUTS).is_dir():
            raise InputError(f'The run in "{folder}" ended while it was being planned, before any step. Ask again.')
        raise InputError(f'"{folder}" is no record of a run: it has no {PLAN}.')
    return Record(folder)


def new_record(folder: Path) -> Record:
    """A record in a folder that holds nothing yet.

    Raises:
        InputError: The folder holds files already, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f'The folder "{folder}" holds files already, and a record is never written over. Name a new one.')
    except OSError as e:
        raise InputError(f'The folder "{folder}" cannot be used: {e.strerror or e}.') from e
    return Record(folder)


def dump(data: Any) -> bytes:
    """JSON for people, the same bytes for the same data."""
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
