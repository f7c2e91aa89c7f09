"""Stores on both back ends; the PostgreSQL server is private to the run and ended with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest

from core.settings import Settings
from core.storage import Store, open_store


def _refuse(reason: str) -> None:
    if os.environ.get("ODDYSSEY_REQUIRE_POSTGRES"):
        pytest.fail(f"{reason}, though ODDYSSEY_REQUIRE_POSTGRES is set")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[int]:
    """Port of a server of our own on 127.0.0.1, user "test", no password."""
    if find_spec("psycopg") is None:
        _refuse("psycopg, the driver of PostgreSQL, is not installed")
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if not binaries:
        _refuse("PostgreSQL is not installed (no /usr/lib/postgresql/*/bin/initdb)")
    folder = Path(tempfile.mkdtemp(prefix="oddyssey-pg-"))
    become: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            _refuse('there is no user "postgres" to run the server as')
        if shutil.which("setpriv") is None:
            _refuse("setpriv is not installed, so root cannot start the server as another user")
        os.chown(folder, account.pw_uid, account.pw_gid)
        become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = int(s.getsockname()[1])
    data = folder / "data"

    def run(program: str, *args: str) -> None:
        command = [*become, str(binaries[-1].parent / program), "-D", str(data), *args]
        with (folder / "out.txt").open("ab") as out:  # a pipe would be held open by the server
            done = subprocess.run(command, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, (folder / "out.txt").read_text()

    try:
        run("initdb", "-U", "test", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-w", "-l", str(folder / "log.txt"), "-o", options, "start")
        try:
            yield port
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_postgres(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Makes URLs of empty databases."""
    port = request.getfixturevalue("postgres_server")
    import psycopg

    made = []

    def make() -> str:
        name = f"t_{uuid4().hex}"
        with psycopg.connect(f"postgresql://test@127.0.0.1:{port}/postgres", autocommit=True) as c:
            c.execute(f"CREATE DATABASE {name}")
        made.append(name)
        return f"postgresql://test@127.0.0.1:{port}/{name}"

    yield make
    with psycopg.connect(f"postgresql://test@127.0.0.1:{port}/postgres", autocommit=True) as c:
        for name in made:
            c.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A fresh workspace on each back end."""
    env = {"ODDYSSEY_HOME": str(tmp_path / "home")}
    if request.param == "postgres":
        env["DATABASE_URL"] = request.getfixturevalue("new_postgres")()
    return Settings.from_environment(env)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """An open store on each back end."""
    opened = open_store(settings)
    yield opened
    opened.close()
