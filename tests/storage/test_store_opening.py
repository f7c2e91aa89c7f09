"""Opening a workspace: migrations, wrong databases, wrong folders."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from core.errors import InputError, MissingPackageError
from core.settings import Settings
from core.storage import Store, migrate, open_store, schema
from core.storage.database import make_database


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def sqlite_settings(home: Path, **env: str) -> Settings:
    return Settings.from_environment({"ODDYSSEY_HOME": str(home), **env})


# Migrations


def test_migrated_schema_is_that_of_the_metadata(store: Store) -> None:
    with store.db.read() as c:
        opts = {"version_table": schema.VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(c, opts=opts)
        assert compare_metadata(context, schema.metadata) == []
        assert migrate.current_version(c) == migrate.known_versions()[-1]
        assert set(sa.inspect(c).get_table_names()) == {*schema.metadata.tables, schema.VERSION_TABLE}


def test_known_versions_are_those_of_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert tuple(r.revision for r in script.walk_revisions())[::-1] == migrate.known_versions()
    assert script.get_current_head() == migrate.known_versions()[-1]


def test_opening_again_changes_nothing(settings: Settings) -> None:
    first = open_store(settings)
    sha = first.uploads.put("a", b"x")
    first.close()
    again = open_store(settings)
    assert again.uploads.get(sha) == b"x"
    assert [u.name for u in again.uploads.all()] == ["a"]
    again.close()


def test_interrupted_migration_leaves_nothing_behind(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade = migrate._upgrade

    def stop(c: sa.Connection) -> None:
        upgrade(c)
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(migrate, "_upgrade", stop)
        with pytest.raises(KeyboardInterrupt):
            open_store(settings)
    db = make_database(settings)
    with db.read() as c:
        assert sa.inspect(c).get_table_names() == []
    db.engine.dispose()
    opened = open_store(settings)
    assert opened.tables.list() == ()
    opened.close()


def test_newer_database_is_refused_and_not_touched(settings: Settings) -> None:
    made = open_store(settings)
    with made.db.write() as c:
        c.execute(sa.text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
    made.close()
    before = contents(settings.home)
    with pytest.raises(InputError, match=r"newer version of Oddyssey \(its schema is 9999"):
        open_store(settings)
    assert contents(settings.home) == before


def test_newer_database_keeps_even_its_journal_mode(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "oddyssey.db") as c:
        c.execute(f"CREATE TABLE {schema.VERSION_TABLE} (version_num TEXT)")
        c.execute(f"INSERT INTO {schema.VERSION_TABLE} VALUES ('0002x')")
    c.close()
    before = contents(tmp_path)
    with pytest.raises(InputError, match="newer version"):
        open_store(sqlite_settings(tmp_path))
    assert contents(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["oddyssey.db"]


def test_database_of_something_else_is_refused(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    db = make_database(settings)
    with db.write() as c:
        c.execute(sa.text("CREATE TABLE drafts (id INTEGER)"))
    with pytest.raises(InputError, match="something else by the names drafts"):
        open_store(settings)
    with db.read() as c:
        assert sa.inspect(c).get_table_names() == ["drafts"]
    db.engine.dispose()


def test_database_may_be_shared_with_tables_of_other_names(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    db = make_database(settings)
    with db.write() as c:
        c.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        c.execute(sa.text("INSERT INTO alembic_version VALUES ('abc')"))
    db.engine.dispose()
    opened = open_store(settings)
    assert opened.tables.list() == ()
    opened.close()


def test_sqlite_is_set_up(tmp_path: Path) -> None:
    opened = open_store(sqlite_settings(tmp_path))
    with opened.db.read() as c:
        got = {p: c.exec_driver_sql(f"PRAGMA {p}").scalar() for p in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")}
    assert got == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 30_000, "synchronous": 1}
    with pytest.raises(sa.exc.IntegrityError), opened.db.write() as c:
        c.execute(schema.uploads.insert().values(sha256="0" * 64, name="x", uploaded_at=schema.now()))
    opened.close()


def test_times_need_a_time_zone() -> None:
    naive = schema.now().replace(tzinfo=None)
    with pytest.raises(ValueError, match="time zone"):
        schema.UtcTime().process_bind_param(naive, sa.dialects.sqlite.dialect())


# Wrong places


def test_workspace_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("mine")
    for home in (tmp_path / "home", tmp_path / "home" / "below"):
        with pytest.raises(InputError, match=r'workspace folder ".*home.*" cannot be used: .*ODDYSSEY_HOME'):
            open_store(sqlite_settings(home))
    assert (tmp_path / "home").read_text() == "mine"


def without_rights(deed: str, settings: Settings) -> str:
    """What `open_store` says to somebody who is not root, since root may write everywhere."""
    if os.geteuid() != 0:
        with pytest.raises(InputError) as e:
            open_store(settings)
        return str(e.value)
    read, write = os.pipe()
    child = os.fork()  # a new interpreter might not be readable for that user
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            open_store(settings)
            text = "opened"
        except InputError as e:
            text = str(e)
        except BaseException as e:
            text = f"{deed}: {e!r}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        said = f.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are private."""
    path = Path(tempfile.mkdtemp(prefix="oddyssey-open-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_workspace_that_may_only_be_read(open_path: Path) -> None:
    home = open_path / "home"
    home.mkdir(mode=0o555)
    said = without_rights("open a read-only folder", sqlite_settings(home))
    assert "cannot be used: Permission denied" in said
    assert "ODDYSSEY_HOME" in said
    assert list(home.iterdir()) == []


def test_database_that_may_only_be_read(open_path: Path) -> None:
    home = open_path / "home"
    open_store(sqlite_settings(home)).close()
    (home / "oddyssey.db").chmod(0o444)
    with sqlite3.connect(home / "oddyssey.db") as c:
        c.execute("PRAGMA journal_mode = DELETE")
    c.close()
    home.chmod(0o777)
    said = without_rights("open a read-only database", sqlite_settings(home))
    assert "oddyssey.db" in said
    assert "cannot be written" in said


def test_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "oddyssey.db").write_bytes(b"a,b\n1,2\n" * 1000)
    with pytest.raises(InputError, match=r"oddyssey\.db.*not a SQLite database"):
        open_store(sqlite_settings(tmp_path))
    assert (tmp_path / "oddyssey.db").read_bytes() == b"a,b\n1,2\n" * 1000


@pytest.mark.parametrize(
    "url, said",
    [
        ("nonsense", "cannot be read as a URL"),
        ("mysql://u:secret@h/d", 'of the kind "mysql"'),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_wrong_database_urls_are_told_without_the_password(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as e:
        open_store(sqlite_settings(tmp_path / "home", DATABASE_URL=url))
    assert "secret" not in str(e.value)


def test_server_that_does_not_answer_is_told_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg, the driver of PostgreSQL, is not installed")
    url = "postgresql://u:secret@127.0.0.1:1/d?connect_timeout=2&password=secret"
    with pytest.raises(InputError, match=r"u:\*\*\*@127\.0\.0\.1:1/d.* cannot be read: .*refused") as e:
        open_store(sqlite_settings(tmp_path / "home", DATABASE_URL=url))
    assert "secret" not in str(e.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_every_spelling_of_postgresql_uses_psycopg_3(tmp_path: Path, scheme: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg, the driver of PostgreSQL, is not installed")
    db = make_database(sqlite_settings(tmp_path, DATABASE_URL=f"{scheme}://u:secret@h/d"))
    assert db.engine.driver == "psycopg"
    assert db.name == "postgresql+psycopg://u:***@h/d"


def test_missing_driver_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"psycopg\[binary\]"):
        make_database(sqlite_settings(tmp_path, DATABASE_URL="postgresql://h/d"))


def test_sqlite_elsewhere_and_odd_paths(tmp_path: Path) -> None:
    opened = open_store(sqlite_settings(tmp_path / "home", DATABASE_URL=f"sqlite:///{tmp_path / 'new' / 'x.db'}"))
    opened.preferences.set("k", 1)
    opened.close()
    assert (tmp_path / "new" / "x.db").exists()
    opened = open_store(sqlite_settings(tmp_path / "is this 100% #1?x=y"))
    opened.preferences.set("k", 1)
    opened.close()
    assert (tmp_path / "is this 100% #1?x=y" / "oddyssey.db").exists()
