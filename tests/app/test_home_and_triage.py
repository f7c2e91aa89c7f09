"""Home and Where it fails: the numbers on the screen are those of the engine, and what cannot be computed says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.errors import InputError
from core.odd import built_in
from core.operators.workspace import DEMO_TABLE
from core.settings import Settings
from core.storage import SavedTable, Store, open_store
from tests.apptest import html

HOME, TRIAGE = "pages/home.py", "pages/triage.py"


@pytest.fixture
def store() -> Store:
    return open_store(Settings.from_environment())


@pytest.fixture
def show(app: AppTest) -> Callable[..., AppTest]:
    def open_page(page: str, **params: str) -> AppTest:
        app.run()
        for k, v in params.items():
            app.query_params[k] = v
        app.switch_page(page).run()
        assert not app.exception
        return app

    return open_page


def add(store: Store, name: str, text: str, **overrides: Any) -> SavedTable:
    data = text.encode()
    prepared = operators.prepare(
        operators.open_table(data, f"{name}.csv"), None, dims=["time", "fog"], overrides={"score": "score", **overrides}
    )
    return operators.save_table(store, name, prepared, operators.check(prepared), upload_sha=store.uploads.put(f"{name}.csv", data))


def test_home_shows_the_numbers_of_the_triage_and_of_the_ranking(store: Store, show: Callable[..., AppTest]) -> None:
    operators.load_demo(store)
    prepared = operators.prepare(operators.open_table(DEMO_TABLE.read_bytes(), "d.csv"), built_in(), overrides={"model": "model-a"})
    seed = operators.check(prepared).seed
    t = operators.triage(seed)
    store.preferences.set("table", next(x.id for x in store.tables.list() if x.model == "model-a"))
    text = html(show(HOME))
    assert f"{3840 - t.slices:,} of 3,840 in-ODD slices have never been tested" in text
    assert f"n = {t.n:,}, 95 % interval {t.low:.1%} to {t.high:.1%}" in text
    assert f"{int((seed.n >= 10).sum()):,} <small>of {t.slices:,}</small>" in text
    assert f"{t.pairs_tested:,} <small>of {t.pairs_possible:,}</small>" in text
    assert text.count("Decisive: a tested slice with error") == 3
    assert "not computed" not in text


def test_home_stands_when_the_ranking_fails(store: Store, show: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    operators.load_demo(store)

    def fails(*args: object, **kwargs: object) -> None:
        raise InputError("The encoder is on strike <b>.")

    monkeypatch.setattr(operators, "rank", fails)
    text = html(show(HOME))
    assert "The encoder is on strike &lt;b&gt;." in text
    assert 'not computed <small></small></div><div class="s"><a href="ranked_gaps" target="_self">See Ranked gaps</a>' in text
    assert "3,540 of 3,840 in-ODD slices have never been tested." in text
    assert "95 % interval" in text


def test_home_says_that_everything_was_tested(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "full", "time,fog,score\n" + "day,no,1\nday,yes,0\nnight,no,1\nnight,yes,0\n" * 12)
    text = html(show(HOME))
    assert "All 4 in-ODD slices were tested." in text
    assert "No slice is missing." in text


def test_hostile_names_are_shown_as_text(store: Store, show: Callable[..., AppTest]) -> None:
    bad = "<img src=x onerror=alert(1)>"
    add(store, bad, f"time,fog,score\nday,{bad},0\nday,{bad},0\nnight,no,1\n" * 9)
    for page in (HOME, TRIAGE):
        assert "<img" not in html(show(page))


def test_home_works_from_one_row(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "one", "time,fog,score\nday,no,0\n")
    text = html(show(HOME))
    assert "All 1 in-ODD slices were tested." in text
    assert "n = 1, 95 % interval 20.7% to 100.0%" in text


def test_triage_names_the_worst_value_and_counts_what_is_left_out(store: Store, show: Callable[..., AppTest]) -> None:
    rows = "day,no,1\n" * 50 + "night,no,0\n" * 40 + "night,yes,1\n" * 10 + "day,no,seven\n"
    prepared = add(store, "t", "time,fog,score\n" + rows)
    text = html(show(TRIAGE))
    assert "With <b>night</b> (time), the error is <b>80.0%</b>, against 40.0% over all samples." in text
    assert "1 of 101 rows at import" in text
    assert prepared.total == 100
    assert "3 of 4 pairs were tested" in text


def test_a_filter_in_the_address_changes_numbers_and_is_told(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "t", "time,fog,score\n" + "day,no,1\n" * 50 + "night,no,0\n" * 40 + "night,yes,1\n" * 10)
    text = html(show(TRIAGE, w_time="night"))
    assert "50 by the filter" in text
    assert "against 80.0% over all samples under this filter" in text
    assert "not listed: 1 excluded by the filter" in text


def test_a_filter_without_a_sample_leaves_a_way_back(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "t", "time,fog,score\n" + "day,no,1\n" * 5 + "night,yes,0\n" * 5)
    app = show(TRIAGE, w_time="day", w_fog="yes")
    text = html(app)
    assert "No tested sample lies under this filter." in text
    assert "no sample" in text
    assert "Clear a fixed value" in text


def test_a_table_that_is_gone_is_told(store: Store, show: Callable[..., AppTest]) -> None:
    operators.load_demo(store)
    assert "which is not in this workspace" in html(show(TRIAGE, table="deadbeef"))


def test_the_sidebar_switches_the_table(app: AppTest, store: Store) -> None:
    a, b = operators.load_demo(store)
    app.query_params["table"] = a.id
    app.run()  # the sidebar is drawn by the entry point, which AppTest leaves out after switch_page
    assert a.digest[:6] in html(app)
    assert "ODD: driving, 8 active dimensions" in html(app)
    app.sidebar.selectbox[0].select(b.id)
    app.run()
    assert not app.exception
    assert b.digest[:6] in html(app)
    assert a.digest[:6] not in html(app)
    assert store.preferences.get("table") == b.id


def test_one_table_needs_no_choice(app: AppTest, store: Store) -> None:
    add(store, "one", "time,fog,score\nday,no,0\n")
    app.run()
    assert "one" in html(app)
    assert list(app.sidebar.selectbox) == []


def test_the_demo_is_loaded_on_request_and_not_over_other_tables(app: AppTest, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDYSSEY_DEMO", "1")
    app.run()
    assert "Synthetic demo data" in html(app)
    assert {t.model for t in store.tables.list()} == {"model-a", "model-b"}
    for t in store.tables.list():
        store.tables.delete(t.id)
    app.run()
    assert "Nothing tested yet" in html(app)


def test_the_app_opens_without_the_demo_if_it_cannot_be_loaded(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(store: Store) -> None:
        raise InputError("The file is gone.")

    monkeypatch.setenv("ODDYSSEY_DEMO", "1")
    monkeypatch.setattr(operators, "load_demo", fails)
    app.run()
    assert not app.exception
    assert "The demo tables could not be loaded: The file is gone." in html(app)
    assert "Nothing tested yet" in html(app)
