"""Rules of the house that a person would forget: directions of imports, sizes, what lies where, what text must not hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = sorted(p for folder in ("core", "pages", "assets", "bench", "tests") for p in (ROOT / folder).rglob("*.py"))
WEB = sorted(p for end in ("js", "css") for p in (ROOT / "pages").rglob(f"*.{end}"))
HEAVY = {"dask", "openai", "sentence_transformers", "torch", "torchvision", "ultralytics"}

LAYERS = [
    {"errors", "digest", "settings", "documents"},
    {"odd", "llm", "trajectories"},
    {"seed_table", "similarity", "storage"},
    {"scoring", "threats", "labels", "error_slices"},
    {"benchmark"},
    {"acquisition", "evaluation", "plots"},
    {"operators"},
    {"controller"},
    {"cli", "__main__"},
]
"""Parts of core from the ground up: a part imports from its own layer and those below it."""
HEIGHT = {part: i for i, layer in enumerate(LAYERS) for part in layer}

TOP = {
    *(".ci", ".github", ".gitignore", ".streamlit", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *("assets", "bench", "core", "docs", "pages", "pyproject.toml", "streamlit_app.py", "tests"),
    *("requirements.txt", "requirements-dev.txt", "requirements-lite.txt"),
}


def tracked() -> list[str]:
    """Files of the project as git knows them, plus new ones that it does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in out.splitlines() if (ROOT / line).is_file()]


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names.add(node.module or "")
            if node.module == "core":
                names.update(f"core.{alias.name}" for alias in node.names)
    return names


def modules(folder: str) -> list[str]:
    """Dotted names of all modules below a folder that can be imported without running something."""
    files = (p.relative_to(ROOT).with_suffix("") for p in sorted((ROOT / folder).rglob("*.py")))
    names = (".".join(p.parts).removesuffix(".__init__") for p in files)
    return [n for n in names if not n.endswith("__main__") and ".migrations" not in n]


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda p: p.stem)
def test_tests_in_a_browser_are_marked_so_that_they_run_alone(path):
    text = path.read_text(encoding="utf-8")
    tests = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    asks = {a.arg for n in tests for a in n.args.args}
    assert ("pytest.mark.browser" in text) == bool(asks & {"browser", "tab", "open_tab"}) or path == Path(__file__)


@pytest.mark.parametrize("path", [p for p in CODE if p != Path(__file__)], ids=lambda p: str(p.relative_to(ROOT)))
def test_ultralytics_is_imported_where_what_it_does_to_pillow_is_undone(path):
    if any(n.split(".")[0] == "ultralytics" for n in imported(path)) or 'importorskip("ultralytics' in path.read_text(encoding="utf-8"):
        assert "import_ultralytics()" in path.read_text(encoding="utf-8")


def test_the_folders_are_where_the_tests_look():
    assert len(modules("core")) > 10
    assert "pages.home" in modules("pages")


@pytest.mark.parametrize("path", [p for p in CODE if p.is_relative_to(ROOT / "core")], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_in_core_point_one_way(path):
    part = path.relative_to(ROOT / "core").with_suffix("").parts[0]
    if part == "__init__":
        return
    assert part in HEIGHT, f"core/{part} has no layer yet; name it in LAYERS"
    names = imported(path)
    assert {n.split(".")[0] for n in names} & {"streamlit", "pages", "tests"} == set()
    inner = {n.split(".")[1] for n in names if n.startswith("core.")} - {"__version__"}
    assert {p for p in inner if HEIGHT[p] > HEIGHT[part]} == set()


def loaded_heavy(program: str) -> list[str]:
    """Heavy packages in memory after a program ran in a process of its own."""
    code = f"import sys\n{program}\nprint('loaded', *sorted(set(sys.modules) & {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def test_the_probe_for_heavy_packages_sees_one():
    assert loaded_heavy("import types; sys.modules['torch'] = types.ModuleType('torch')") == ["torch"]


def test_importing_core_brings_in_nothing_heavy():
    imports = "\n".join(f"import {name}" for name in modules("core"))
    assert loaded_heavy(f"{imports}\nassert 'streamlit' not in sys.modules") == []


def test_showing_every_page_brings_in_nothing_heavy(workspace):
    program = """
from streamlit.testing.v1 import AppTest
from pages.shared.navigation import ENTRIES
app = AppTest.from_file("streamlit_app.py", default_timeout=60).run()
for entry in ENTRIES:
    app.switch_page(entry.path).run()
    assert not app.exception, (entry, app.exception)
"""
    assert loaded_heavy(program) == []


def test_no_file_of_code_is_longer_than_400_lines():
    assert any(p.suffix == ".js" for p in WEB) and any(p.suffix == ".css" for p in WEB)
    long = {str(p.relative_to(ROOT)): n for p in CODE + WEB if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400}
    assert long == {}


def test_no_two_test_files_have_the_same_name():
    # Test folders are no packages, so the second file of a name cannot be imported beside the first.
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({n for n in names if names.count(n) > 1}) == []


def test_no_test_runs_a_loop_in_the_main_thread():
    # The browser of other tests keeps a loop running there, so such a test passes alone and fails in the whole suite.
    users = [p.name for p in (ROOT / "tests").rglob("*.py") if re.search(r"asyncio\.run\b", p.read_text(encoding="utf-8"))]
    assert users == ["loops.py"]


def test_the_top_level_holds_only_what_was_agreed():
    assert {name.split("/")[0] for name in tracked()} - TOP == set()


def test_no_text_names_a_registry_or_a_path_of_one_machine():
    # Put together from pieces, so that this file does not find itself.
    hosts = ["pypi" + ".org", "files." + "pythonhosted", "registry." + "npmjs", "deb." + "debian.org", "hugging" + "face.co"]
    paths = ["/" + f"{folder}/" for folder in ("work", "tmp", "root", "Users")]
    pattern = re.compile(
        "|".join([*map(re.escape, hosts), *(rf"(?<![\w.}}~-]){re.escape(p)}\w" for p in paths), r"(?<![\w.])/" + r"home/\w"])
    )
    found = []
    for name in tracked():
        data = (ROOT / name).read_bytes()
        if b"\0" in data[:4096] or name == "LICENSE":
            continue
        for number, line in enumerate(data.decode("utf-8").splitlines(), 1):
            found += [f"{name}:{number}: {m.group()}" for m in pattern.finditer(line)]
    assert found == []
