"""Compare methods: the figures on the screen are those of the operator; what is missing or wrong is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.odd import built_in
from core.settings import Settings
from core.storage import SavedTable, Store, open_store
from tests.apptest import html

PAGE = "pages/benchmark.py"
HEAD = "time,fog,id,score\n"
SEED = HEAD + "".join(f"day,no,s{i},{i % 2}\nnight,thick,t{i},0\n" for i in range(12))
ORACLE = HEAD + "".join(f"day,thick,o{i},{int(i > 8)}\nnight,no,p{i},{int(i > 2)}\nday,light,q{i},1\nday,no,r{i},1\n" for i in range(12))


@pytest.fixture
def store() -> Store:
    return open_store(Settings.from_environment())


@pytest.fixture
def show(app: AppTest) -> Callable[..., AppTest]:
    def open_page(**params: str) -> AppTest:
        app.run()
        for k, v in params.items():
            app.query_params[k] = v
        app.switch_page(PAGE).run()
        assert not app.exception
        return app

    return open_page


def add(store: Store, name: str, text: str, **overrides: Any) -> SavedTable:
    data = text.encode()
    opened = operators.open_table(data, f"{name}.csv")
    prepared = operators.prepare(opened, None, dims=["time", "fog"], overrides={"score": "score", **overrides})
    return operators.save_table(store, name, prepared, operators.check(prepared), upload_sha=store.uploads.put(f"{name}.csv", data))


def test_without_a_table_it_says_what_is_needed(store: Store, show: Callable[..., AppTest]) -> None:
    assert "No table yet, so there is nothing to compare." in html(show())


def test_without_an_oracle_it_says_what_one_is(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "seed", SEED)
    app = show()
    assert "No oracle yet, so no method can be judged." in html(app)
    assert "An oracle is a second table over the same dimensions" in html(app)
    assert "demo_oracle" not in [b.key for b in app.button]


def test_the_demo_offers_its_oracle_and_then_compares(store: Store, show: Callable[..., AppTest]) -> None:
    first = operators.load_demo(store)[0]
    store.preferences.set("table", first.id)
    app = show(k="50, 200")
    app.button(key="demo_oracle").click().run()
    assert not app.exception
    assert {t.name for t in store.tables.list()} >= {"Demo oracle, model-a", "Demo oracle, model-b"}
    assert operators.load_demo_oracle(store)[0].model == "model-a"
    text = html(app)
    oracle = next(t for t in store.tables.list() if t.name == "Demo oracle, model-a")
    pair = operators.saved_side(store, first.id), operators.saved_side(store, oracle.id)
    result = operators.benchmark(*pair, Settings.from_environment(), budgets=[50, 200])
    for row in result.comparison.rows:
        assert (f">{row.regret:.4f} " in text) == (row.k == 200), row
    assert "3,540 of 3,540 missing slices are covered by the oracle" in text
    assert "Synthetic demo data" in text
    assert "Shared samples could not be looked for: no sample ids in Demo oracle, model-a." in text
    assert 'class="od-error"' not in text


def test_tables_of_one_file_do_not_judge_each_other(store: Store, show: Callable[..., AppTest]) -> None:
    operators.load_demo(store)
    assert "No oracle yet" in html(show())


def test_an_oracle_of_another_model_is_told(store: Store, show: Callable[..., AppTest]) -> None:
    first, other = operators.load_demo(store)[:2]
    operators.load_demo_oracle(store)
    store.preferences.set("table", first.id)
    foreign = f"Demo oracle, {other.model}"
    app = show(k="10", similarity="exact", oracle=foreign)
    assert f"The oracle holds answers of {other.model}, the table in use those of {first.model}" in re.sub(r"<[^>]+>", "", html(app))
    assert app.selectbox(key="oracle").value in {t.id for t in store.tables.list() if t.name == foreign}
    own = next(t.id for t in store.tables.list() if t.name == f"Demo oracle, {first.model}")
    app.selectbox(key="oracle").set_value(own).run()
    assert not app.exception
    assert "The oracle holds answers of" not in html(app)


def test_two_inferred_odds_are_joined_and_candidates_counted(store: Store, show: Callable[..., AppTest]) -> None:
    oracle = add(store, "oracle", ORACLE)
    seed = add(store, "seed", SEED)
    store.preferences.set("table", seed.id)
    text = html(show(k="1, 2", similarity="exact"))
    # time: day, night; fog: no, thick, and light from the oracle: 6 slices, 2 tested. day no was tested by both.
    assert "3 of 4 missing slices are covered by the oracle; of its 4 slices, 1 were tested in the seed and 0 lie outside the ODD" in text
    assert "36 oracle samples, at least 12 per slice; no sample is shared" in text
    assert oracle.digest[:6] in text
    # The risks are 9/12, 3/12 and 0; the best one has 0.75.
    assert "mean oracle risk of the best 2 candidates" in text


def test_saturated_budgets_are_said(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "oracle", ORACLE)
    store.preferences.set("table", add(store, "seed", SEED).id)
    text = html(show(k="10", similarity="exact"))
    assert "K = 10 reaches all 3 candidates, so every list is the same there." in text
    assert "saturated" in text


def test_shared_samples_are_refused_until_allowed(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "oracle", ORACLE.replace("o1,", "s1,"))
    store.preferences.set("table", add(store, "seed", SEED).id)
    app = show(k="1", similarity="exact")
    assert "Seed and oracle share 1 sample ids (such as s1)" in html(app)
    assert "--allow-shared" not in html(app)
    app.button(key="allow").click().run()
    assert not app.exception
    assert "1 sample ids are in both tables; you allowed it." in html(app)


def test_budgets_that_cannot_be_read_are_refused(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "oracle", ORACLE)
    store.preferences.set("table", add(store, "seed", SEED).id)
    text = html(show(k="ten, 5"))
    assert "The budgets cannot be read." in text
    assert "got <b>ten</b>; allowed: whole numbers of at least 1" in text


def test_nothing_to_compare_is_a_message(store: Store, show: Callable[..., AppTest]) -> None:
    add(store, "oracle", SEED.replace("no,s", "no,x").replace("thick,t", "thick,y"))
    store.preferences.set("table", add(store, "seed", SEED).id)
    text = html(show(similarity="exact"))
    assert "Nothing can be compared: no slice inside the ODD is missing in the seed and covered by the oracle." in text


def test_what_the_address_cannot_have_is_told_and_names_are_text(store: Store, show: Callable[..., AppTest]) -> None:
    bad = "<img src=x onerror=alert(1)>"
    add(store, bad, ORACLE)
    store.preferences.set("table", add(store, "seed", SEED).id)
    text = html(show(k="1", similarity="exact", methods="Magic", oracle="gone"))
    assert "The address asks for oracle = gone, methods = Magic" in text
    assert "<img" not in text


@pytest.fixture
def outside(store: Store) -> None:
    """A seed inside the ODD, and an oracle that goes beyond it."""
    odd = built_in().restricted(["time", "weather_visibility"])

    def save(name: str, text: str) -> SavedTable:
        opened = operators.open_table(text.encode(), f"{name}.csv")
        prepared = operators.prepare(opened, odd, overrides={"score": "score", "count": "n"})
        return operators.save_table(store, name, prepared, operators.check(prepared))

    head = "time,weather_visibility,n,score\n"
    save("oracle", head + "day,dust,30,0.2\ndusk,clear,30,0.9\ndusk,foggy,30,0.4\nnight,foggy,30,0.5\n")
    store.preferences.set("table", save("seed", head + "day,clear,30,0.9\nnight,clear,30,0.6\nday,foggy,20,0.5\n").id)


def test_candidates_lie_inside_the_odd_unless_asked_for(outside: None, show: Callable[..., AppTest]) -> None:
    inside = html(show(k="1", similarity="exact"))
    assert "1 of 5 missing slices are covered by the oracle; of its 4 slices, 0 were tested in the seed and 3 lie outside the ODD" in inside


def test_the_address_can_ask_for_candidates_outside_the_odd(outside: None, show: Callable[..., AppTest]) -> None:
    text = html(show(k="1, 2", similarity="exact", scope="Outside it"))
    assert "3 are covered by the oracle; of its 4 slices, 0 were tested in the seed and 1 lie inside the ODD" in text
    assert "SliceScorer, unseen" in text
