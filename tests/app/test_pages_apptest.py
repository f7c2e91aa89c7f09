"""The pages without a browser: empty, demo and real tables, and an import from upload to ranking."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.seed_table import ImportPlan
from core.settings import Settings
from core.storage import open_store
from tests.apptest import html

COMPAS = {"truth": "class", "predicted": "predicted"}
PAGES = ["pages/home.py", "pages/seed_tables.py", "pages/ranked_gaps.py", "pages/triage.py"]
ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"


def run(page: str, **params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)
    for k, v in params.items():
        app.query_params[k] = v
    app.run()
    return app.switch_page(page).run()


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_workspace_says_what_is_needed(page: str) -> None:
    app = run(page)
    assert not app.exception
    assert any(w in html(app) for w in ("Nothing tested yet", "No table yet"))
    assert any("sample" in b.label.lower() for b in app.button)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_shows_the_demo_and_says_that_it_is_synthetic(page: str) -> None:
    store = open_store(Settings.from_environment())
    operators.load_demo(store)
    app = run(page)
    assert not app.exception
    assert "Synthetic" in html(app) or "synthetic" in html(app)


def test_the_sample_is_one_click_away() -> None:
    app = run("pages/ranked_gaps.py")
    next(b for b in app.button if "sample" in b.label.lower()).click()
    app.run()
    assert not app.exception
    assert "3,540 missing of 3,840 slices" in html(app)


def test_a_changed_parameter_reaches_the_ranking_and_a_wrong_filter_in_the_url_does_no_harm() -> None:
    operators.load_demo(open_store(Settings.from_environment()))
    app = run("pages/ranked_gaps.py")
    before = html(app)
    app.segmented_control(key="provisional").set_value("missing")
    app.run()
    assert not app.exception
    assert "count as missing" in html(app)
    assert before != html(app)


@pytest.mark.parametrize(
    ("path", "dims", "fields", "missing"),
    [
        ("bench2drive/uniad_base_routes.csv", ["time", "precipitation", "fog", "road_surface", "sky"], {"score": "score"}, 58),
        ("compas_divexplorer/compas_discretized.csv", ["age", "charge", "race", "sex", "#prior", "stay"], COMPAS, 309),
    ],
)
def test_real_result_files_go_from_upload_to_a_ranking(path: str, dims: list[str], fields: dict[str, str], missing: int) -> None:
    file = SHARED / path
    if not file.is_file():
        pytest.skip(f"the public data file {path} is not on this machine")
    store = open_store(Settings.from_environment())
    sha = store.uploads.put(file.name, file.read_bytes())
    draft = store.drafts.new_id()
    plan = ImportPlan(columns={d: d for d in dims}, **fields)
    choices = operators.ImportChoices(file_name=file.name, odd="infer", dims=tuple(dims), plan=plan)
    store.drafts.save(draft, sha, choices.dump(), 0)
    app = run("pages/seed_tables.py", draft=draft)
    assert not app.exception
    next(b for b in app.button if b.label.startswith("Save")).click()
    app.run()
    assert not app.exception
    saved = store.tables.list()
    assert [t.upload_sha for t in saved] == [sha]
    assert store.drafts.open() == ()
    gaps = run("pages/ranked_gaps.py", similarity="exact")
    assert not gaps.exception
    assert f"{missing} missing" in html(gaps)


def test_a_deleted_table_comes_back() -> None:
    store = open_store(Settings.from_environment())
    tables = operators.load_demo(store)
    app = run("pages/seed_tables.py")
    app.button(key=f"delete-{tables[0].id}").click()
    app.run()
    assert len(store.tables.list()) == len(tables) - 1
    app.button(key="undo-delete").click()
    app.run()
    assert {t.digest for t in store.tables.list()} == {t.digest for t in tables}
