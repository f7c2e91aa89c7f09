"""The parts "effects" and "combinatorial coverage": every sentence follows from the ranking, and user text is escaped."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.odd import Dimension, Odd, Value, infer_odd
from core.operators import RankResult
from core.scoring import ScoringParameters, rank_missing, ridge_effects, strongest, tway
from core.seed_table import SeedTable
from core.similarity import exact_similarity
from pages.shared import gaps_effects, gaps_text, gaps_tway
from pages.shared.gaps_effects import CHOSEN
from pages.shared.gaps_tway import percent
from tests.apptest import html, text

HOSTILE = '<img src=x onerror="alert(1)">'
ODD = infer_odd({"time": ["day", "night"], "fog": ["no", "yes"], "road": ["dry", "ice", "wet"]})


def seed_of(odd: Odd = ODD, every: int = 2) -> SeedTable:
    codes = np.concatenate(list(odd.base_space.chunks()))[::every]
    error = 0.2 + 0.5 * (codes[:, 0] == 1)
    return SeedTable(odd, codes, np.full(len(codes), 200), 1 - error, np.full(len(codes), np.nan))


def result_of(seed: SeedTable, top: int = 3, where: dict[str, list[str]] | None = None, **params: object) -> RankResult:
    odd = seed.odd
    similarity = exact_similarity(odd, odd.active or range(len(odd.names)))
    ranking = rank_missing(seed, ScoringParameters(**{"risk": "ridge", **params}), similarity, top=top, where=where)  # type: ignore[arg-type]
    return RankResult(ranking, {})


def part(name: str, result: RankResult, **query: str) -> AppTest:
    def script(name: str, result: object) -> None:
        from pages.shared import gaps_effects, gaps_tway

        {"effects": gaps_effects, "tway": gaps_tway}[name].show(result)  # type: ignore[attr-defined]

    app = AppTest.from_function(script, args=(name, result), default_timeout=60)
    for k, v in query.items():
        app.query_params[k] = v
    app.run()
    assert not app.exception, app.exception
    return app


def test_effects_are_told_as_they_are() -> None:
    result = result_of(seed_of())
    said = text(part("effects", result))
    assert result.ranking.ridge is not None
    effects = ridge_effects(result.ranking.ridge)
    first = strongest(effects, 1, pairs=False)[0]
    assert first.values == ("night",)
    assert first.sentence() in said
    assert f"n = {effects.samples:,} samples in {effects.slices:,} tested slices" in said
    assert f"{effects.mean:.3f}" in said
    assert "clear of 0" in said


def test_the_headline_of_the_effects_names_the_largest_that_is_told_from_0() -> None:
    result = result_of(seed_of())
    assert result.ranking.ridge is not None
    clear = [e for e in strongest(ridge_effects(result.ranking.ridge), 99, False) if e.clear and e.effect > 0]
    most = max(clear, key=lambda e: e.effect)
    said = re.sub(r"<[^>]+>", "", str(gaps_effects.headline(result)))
    assert said.startswith(f"{gaps_text.value_name(ODD, most.dimensions[0], most.values[0])} raises the predicted error most")
    assert f"by {most.effect:.3f} ± {most.sd:.3f}" in said
    assert f"from {most.n:,} samples in {most.slices:,} tested slices" in said


def test_the_headline_of_the_coverage_counts_what_is_open_and_what_the_list_adds() -> None:
    result = result_of(seed_of(every=5))
    c = tway(result.ranking.evidence.observed.codes, result.ranking.codes, ODD.base_space, result.ranking.dims, 2)
    assert c.possible > c.covered
    said = re.sub(r"<[^>]+>", "", str(gaps_tway.headline(result)))
    assert said.startswith(f"{c.possible - c.covered:,} of {c.possible:,} value pairs w")
    assert f"the 3 slices listed would test {c.added:,} of " in said


def test_the_pair_shown_is_the_strongest_and_can_be_chosen_by_the_address() -> None:
    result = result_of(seed_of())
    app = part("effects", result)
    assert len(app.selectbox(CHOSEN).options) == 3
    assert app.selectbox(CHOSEN).options[0] in ("time × fog", "time × road", "fog × road")
    other = part("effects", result, **{CHOSEN: "fog × road"})
    assert other.selectbox(CHOSEN).value == "fog+road"
    assert "road × fog" in text(other)  # the longer side runs down


def test_a_pair_that_is_not_there_is_said() -> None:
    assert "The address asks for the pair fog × moon" in text(part("effects", result_of(seed_of()), effects="fog × moon"))
    assert "The address asks for" not in text(part("effects", result_of(seed_of()), effects="time × road"))


def test_with_the_neighbours_as_prior_the_part_says_where_effects_are_found() -> None:
    said = text(part("effects", result_of(seed_of(), risk="neighbour")))
    assert "Choose ridge under Scoring" in said


def test_without_differences_nothing_is_claimed() -> None:
    seed = seed_of()
    same = SeedTable(ODD, seed.codes, seed.n, np.full(len(seed.n), 0.75), seed.variance)
    said = text(part("effects", result_of(same)))
    assert "0.250" in said
    assert "No spread was found" in said
    assert "clear of 0" not in said


def test_one_dimension_has_effects_but_no_pairs() -> None:
    odd = infer_odd({"time": ["day", "dusk", "night"]})
    seed = SeedTable.from_slices(odd, [{"time": "day"}, {"time": "night"}], [400, 400], [0.9, 0.2])
    app = part("effects", result_of(seed))
    assert "Clearest single values" in text(app)
    assert "pairs, beyond" not in text(app)
    assert not app.selectbox
    assert "One dimension has no pairs" in text(part("tway", result_of(seed)))


@pytest.mark.parametrize("t", ["pairs", "triples"])
def test_coverage_is_counted_as_in_core(t: str) -> None:
    result = result_of(seed_of(every=5))
    app = part("tway", result, tway=t)
    said = text(app)
    r = result.ranking
    for width in (2, 3):
        c = tway(r.evidence.observed.codes, r.codes, ODD.base_space, r.dims, width)
        assert f"{c.covered:,} of {c.possible:,}, by {c.slices:,} tested slices" in said
        assert f"+{c.added:,}" in said
        shown = f"{c.open:,} of {c.possible:,} value {'pairs' if width == 2 else 'triples'} after the list"
        assert (shown in said) == (t == ("pairs" if width == 2 else "triples"))


def test_full_coverage_is_told() -> None:
    said = text(part("tway", result_of(seed_of(every=1))))
    assert "100.0%" in said
    assert "Every one of the 16 value pairs was tested or is in the list" in said
    assert "3 of 3 pairs of dimensions were tested in full, and are not drawn." in said


def test_a_filter_and_slices_set_aside_are_told() -> None:
    seed = seed_of(every=5)
    thin = SeedTable(ODD, seed.codes, np.array([3, 200, 200]), seed.mean, seed.variance)
    said = text(part("tway", result_of(thin, where={"time": ["day"]}, provisional="missing")))
    assert "1 tested slice" in said
    assert "time: day only" in said


@pytest.mark.parametrize(
    ("n", "of", "shown"), [(9_999, 10_000, "99.9%"), (1, 3, "33.3%"), (3, 3, "100.0%"), (0, 0, "none"), (0, 7, "0.0%")]
)
def test_only_all_of_it_is_100_percent(n: int, of: int, shown: str) -> None:
    assert percent(n, of) == shown


def test_user_text_is_escaped_everywhere() -> None:
    value = lambda *names: tuple(Value(n) for n in names)  # noqa: E731
    odd = Odd("x", 1, tuple(Dimension(d, f"{HOSTILE}{d}", value(HOSTILE, f"plain{d}", "third")) for d in ("a", "b", "c")))
    for name in ("effects", "tway"):
        for t in ("pairs", "triples"):
            app = part(name, result_of(seed_of(odd, every=4)), tway=t)
            assert "<img" not in html(app)
            assert "&lt;img" in html(app)
