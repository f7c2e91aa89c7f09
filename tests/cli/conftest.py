"""Commands run in this process; a test file names the command in COMMAND and the rows of its table in TEXT."""

from __future__ import annotations

import pytest

from core.cli import main


@pytest.fixture
def table(tmp_path, request):
    """The file of a small table."""
    path = tmp_path / "table.csv"
    path.write_text(request.module.TEXT)
    return path


@pytest.fixture
def run(capsys, request):
    """Run a command that succeeds; gives its standard output."""

    def call(*args):
        with pytest.raises(SystemExit) as e:
            main([*getattr(request.module, "COMMAND", ()), *map(str, args)])
        out, err = capsys.readouterr()
        assert (e.value.code, err) == (0, "")
        return out

    return call


@pytest.fixture
def refused(capsys, request):
    """Run a command that is refused: exit code 2, nothing on standard output, no traceback; gives standard error."""

    def call(*args):
        with pytest.raises(SystemExit) as e:
            main([*getattr(request.module, "COMMAND", ()), *map(str, args)])
        out, err = capsys.readouterr()
        assert (e.value.code, out) == (2, "")
        assert err.strip()
        assert "Traceback" not in err
        return err

    return call


@pytest.fixture
def ended(capsys):
    """Run a command that may be refused; gives its exit code, standard output and standard error."""

    def call(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as e:
            main([str(a) for a in args])
        out = capsys.readouterr()
        return int(e.value.code or 0), out.out, out.err

    return call
