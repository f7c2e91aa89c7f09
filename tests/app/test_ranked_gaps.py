"""The Ranked gaps page without a browser: what it says is computed from the ranking, and its address is the view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core import operators
from core.odd import Dimension, Odd, Value, infer_odd
from core.scoring import ScoringParameters, explain, rank_missing
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import exact_similarity
from core.storage import open_store
from pages.shared import gaps_explanation, gaps_text
from tests.apptest import html, open_page, text

ROOT = Path(__file__).parents[2]
HOSTILE = '<img src=x onerror="alert(1)">'


def ranked(seed, **options):
    params = ScoringParameters(**{k: options.pop(k) for k in list(options) if k in ScoringParameters.__dataclass_fields__})
    return rank_missing(seed, params, exact_similarity(seed.odd, seed.odd.active), **options)


def save(seed: SeedTable, name: str = "own", synthetic: bool = False, **report: int) -> str:
    store = open_store(Settings.from_environment())
    saved = store.tables.save(name, seed, upload_sha=None, decisions={}, report=report, model="", synthetic=synthetic)
    store.close()
    return saved.id


def demo() -> str:
    store = open_store(Settings.from_environment())
    table = operators.load_demo(store)[0]
    store.close()
    return table.id


def small(errors=(0.9, 0.1), n=(40, 4)) -> SeedTable:
    odd = infer_odd({"weather": ["fog", "sun"], "sky": ["sun", "cloud"], "lanes": ["1", "2"]})
    slices = [{"weather": "fog", "sky": "sun", "lanes": "1"}, {"weather": "sun", "sky": "sun", "lanes": "2"}]
    return SeedTable.from_slices(odd, slices, n, [1 - e for e in errors])


def test_values_are_named_with_their_dimension_only_where_needed():
    odd = small().odd
    assert gaps_text.value_name(odd, "weather", "fog") == "fog"
    assert gaps_text.value_name(odd, "weather", "sun") == "weather: sun"
    assert gaps_text.value_name(odd, "lanes", "1") == "lanes: 1"


def test_the_steps_can_be_recomputed_from_what_they_show():
    ranking = ranked(small(), top=6)
    for i in range(len(ranking)):
        e = explain(ranking, i)
        lines = {str(name): (str(how), str(result)) for name, how, result in gaps_explanation.steps(e)}
        product = 1.0
        for k, x in enumerate(e.exposures, 1):
            how, result = lines[f"P{k} {x.value}"]
            count, a, total, av = map(float, re.fullmatch(r"\((\d+)\+(\d+)\) / \((\d+)\+(\d+)\)", how).groups())
            assert (count + a) / (total + av) == pytest.approx(float(result), abs=1e-6)
            product *= (count + a) / (total + av)
        assert float(lines["Π P"][1]) == pytest.approx(product, rel=1e-4)
        e_ = product**0.6
        assert float(lines["exposure E"][1]) == pytest.approx(e_, abs=1e-6)
        best = max((n.similarity * n.error for n in e.neighbours), default=0.0)
        assert float(lines["sim × error"][1]) == pytest.approx(best, abs=1e-6)
        phi = (1 - e_) ** 2 * (1 + min(best, 0.8))
        assert float(lines["score φ"][1]) == pytest.approx(phi, abs=1e-5)


def test_a_slice_without_a_failing_neighbour_says_so():
    ranking = ranked(small(errors=(0.0, 0.0)), top=3)
    e = explain(ranking, 0)
    assert dict((n, h) for n, h, _ in gaps_explanation.steps(e))["sim × error"] == "no neighbour failed"
    lonely = ranked(small(), top=3, theta=1.0)
    assert dict((n, h) for n, h, _ in gaps_explanation.steps(explain(lonely, 0)))["sim × error"] == "no neighbour"


def test_the_caveat_names_the_real_range_and_what_makes_the_order():
    ranking = ranked(small())
    first = gaps_text.caveats(ranking)[0]
    assert f"from {ranking.w_rare.min():.4f} to {ranking.w_rare.max():.4f} over the 6 slices" in first
    assert "rarity makes most of the order" in first
    assert "mostly that of the neighbours' error" in gaps_text.caveats(ranked(small(), gamma=0.1))[0]
    same = gaps_text.caveats(ranked(small(errors=(0.0, 0.0))))[0]
    assert "All have the same 1 + ε̂ = 1.0000" in same
    assert len(gaps_text.caveats(ranked(small(), top=1))) == 1


def test_a_range_has_the_digits_that_tell_its_ends_apart():
    assert gaps_text._range(0.25, 0.75) == "from 0.2500 to 0.7500"
    assert gaps_text._range(0.99991, 0.999934) == "from 0.99991 to 0.99993"
    assert gaps_text._range(1.0, 1.0) == "from 1.0000 to 1.0000"


def test_one_tested_slice_is_told_in_the_singular():
    odd = infer_odd({"a": ["x", "y"], "b": ["u"]})
    save(SeedTable.from_slices(odd, [{"a": "x", "b": "u"}], [12], [0.5]))
    assert "Nothing is missing under this filter: the only slice in it was tested." in text(
        open_page("ranked_gaps", similarity="exact", w_a="x")
    )


def test_the_demo_is_told_in_full_and_called_synthetic():
    app = open_page("ranked_gaps", table=demo())
    assert not app.exception
    said = text(app)
    assert "Synthetic demo data" in said
    result = operators.rank(*demo_input())
    e = explain(result.ranking, 0)
    assert gaps_text.short_name(result.ranking.odd, e) in said
    assert f"at similarity {e.decisive.similarity:.2f}, has an error of {e.decisive.error:.0%}" in said
    assert f"n = {e.decisive.n:,}" in said
    assert f"{e.decisive.low:.0%} to {e.decisive.high:.0%}" in said
    assert "Exact over 3,540 missing of 3,840 slices" in said
    assert "26 of 300 tested slices have fewer than 10 samples (provisional) and count as observed" in said
    assert "0 of 7,950 rows were rejected, 3,975 are of other models" in said
    assert "calibrated similarity" in said
    assert f"{e.phi:.6f}" in said
    assert "20 of 3,540 missing slices shown" in said


def demo_input():
    settings = Settings.from_environment()
    store = open_store(settings)
    seed = store.tables.load(operators.load_demo(store)[0].id)
    store.close()
    return seed, ScoringParameters(), settings


def test_the_address_holds_the_view_and_the_view_follows_the_address():
    table = demo()
    app = open_page("ranked_gaps", table=table, similarity="exact", top="50", w_time="night", provisional="missing", kappa="0.5", rank="3")
    assert not app.exception
    said = text(app)
    assert "(fixed: time: night)" in said
    assert "exact similarity" in said
    assert "50 of 1,8" in said
    assert "were set to count as missing" in said
    assert "κ = 0.5" in said
    assert "rank 3 of 1,8" in said
    assert "Why not higher?" in said


def test_every_view_has_a_finding_of_its_own():
    table = demo()
    heads = {}
    for view in ("Ranking", "Pairs and triples", "Effects", "Campaign"):
        app = open_page("ranked_gaps", table=table, view=view, similarity="exact", w_time="night")
        assert not app.exception
        heads[view] = re.search(r'<h1 class="od-head">(.*?)</h1>', html(app)).group(1)
        assert ("Decisive neighbour" in text(app)) == (view == "Ranking")
        assert ("fixed: time: night" in text(app)) == (view != "Effects")  # effects are those of the whole table
        assert ("Fitted to all n = 3,975 samples in 300 tested slices" in text(app)) == (view == "Effects")
    assert len(set(heads.values())) == 4


def test_another_ranking_begins_at_its_first_rank():
    app = open_page("ranked_gaps", table=demo(), rank="5")
    assert "rank 5 of 3,540" in text(app)
    app.segmented_control(key="similarity").set_value("exact").run()
    assert "rank 1 of 3,540" in text(app)
    assert "rank" not in app.query_params or app.query_params["rank"] == ["1"]


def test_what_an_address_asks_for_in_vain_is_said():
    table = demo()
    app = open_page("ranked_gaps", table=table, similarity="nonsense", top="7", w_time=["noon"], kappa="9", rank="99999", w_nothing="1")
    assert not app.exception
    said = text(app)
    assert "asks for similarity = nonsense, top = 7, w_time = noon, kappa = 9, w_nothing = 1" in said
    assert "rank 20 of 3,540" in said
    other = open_page("ranked_gaps", table="deadbeef")
    assert 'the table "deadbeef", which is not in this workspace' in text(other).replace("&#34;", '"')


def test_a_parameter_that_cannot_be_is_told_and_the_controls_stay():
    app = open_page("ranked_gaps", table=demo(), min_support="2.5")
    assert not app.exception
    assert "The ranking did not run." in text(app)
    assert "a whole count (10), or a share below 1" in text(app)
    app.number_input(key="min_support").set_value(20.0).run()
    assert "The ranking did not run." not in text(app)
    assert "fewer than 20 samples" in text(app)


def test_parameters_go_back_to_those_of_the_paper():
    app = open_page("ranked_gaps", table=demo(), kappa="0.5", m="2")
    assert "κ = 0.5" in text(app)
    app.button(key="reset").click().run()
    assert "κ = 0.8" in text(app)
    assert app.number_input(key="m").value == 5


def test_a_table_without_tested_slices_inside_the_odd_is_an_error_card():
    odd = Odd("own", 1, (Dimension("a", "A", (Value("x"), Value("y"), Value("z", tier="extended"))),))
    save(SeedTable.from_slices(odd, [{"a": "z"}], [3], [0.5]))
    app = open_page("ranked_gaps", similarity="exact")
    assert not app.exception
    assert "No tested slice lies inside the ODD" in text(app)
    assert "The ranking did not run." in text(app)


def test_a_filter_under_which_nothing_is_missing_says_so_and_can_be_cleared():
    odd = infer_odd({"a": ["x", "y"], "b": ["u", "v"]})
    save(SeedTable.from_slices(odd, [{"a": "x", "b": "u"}, {"a": "x", "b": "v"}], [12, 12], [0.5, 0.5]))
    app = open_page("ranked_gaps", similarity="exact", w_a="x")
    assert "Nothing is missing under this filter: all 2 slices in it were tested." in text(app)
    next(b for b in app.button if b.label == "Clear the filter").click().run()
    assert not app.exception
    assert "2 of 2 missing slices shown" in text(app)


def test_everything_tested_and_one_dimension_only():
    odd = infer_odd({"a": ["x", "y"]})
    save(SeedTable.from_slices(odd, [{"a": "x"}, {"a": "y"}], [12, 12], [0.5, 0.5]))
    app = open_page("ranked_gaps", similarity="exact")
    assert not app.exception
    assert "Nothing is missing: all 2 slices of the ODD were tested." in text(app)
    assert "no map of pairs" in text(app)


def test_a_list_longer_than_what_is_missing_shows_all_of_it():
    save(small(), rejected=3, rows=50)
    app = open_page("ranked_gaps", similarity="exact", top="500")
    assert "6 of 6 missing slices shown" in text(app)
    assert "3 of 50 rows were rejected" in text(app)


def test_names_from_a_file_are_never_markup():
    odd = infer_odd({HOSTILE: [HOSTILE, "y"], "b": ["u", "v"]})
    save(SeedTable.from_slices(odd, [{HOSTILE: "y", "b": "u"}], [2], [0.1]), name=HOSTILE)
    app = open_page("ranked_gaps", similarity="exact")
    assert not app.exception
    assert "<img" not in html(app)
    assert "&lt;img" in html(app)


def test_the_modes_are_compared_on_request():
    app = open_page("ranked_gaps", table=demo())
    assert "Spearman" not in text(app)
    app.selectbox(key="other_mode").set_value("exact")
    app.button(key="compare_modes").click().run()
    assert not app.exception
    assert re.search(r"calibrated against exact: Spearman 0\.\d{3}; mean absolute difference 0\.\d{4}", text(app))
