"""Hand-offs of a slice: a value in the ODD, a campaign over it, driving cases of its images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from core import operators
from core.acquisition import Request
from core.error_slices.hypotheses import Hypothesis
from core.errors import InputError
from core.odd import built_in
from core.odd.model import Value
from core.operators import slice_handoff, slices
from core.operators.slice_report import SliceReport, SliceRow
from core.settings import Settings
from core.storage import Judgement, Store, open_store

HIDDEN = Hypothesis("hidden", "The object is partly hidden behind a closer one.", "FN", "contextual_interference")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("handoff")


@pytest.fixture(scope="module")
def store(home: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(home)}))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def report(store: Store) -> SliceReport:
    return slices.slice_report(store, slices.load_demo(store).id)


def row_of(report: SliceReport, name: str) -> SliceRow:
    found = report.row(name)
    assert found is not None
    return found


def test_a_statement_that_names_a_value_proposes_that_value() -> None:
    odd = built_in()
    night = slice_handoff.propose_value(odd, replace(HIDDEN, text="The picture was taken at night."))
    assert (night.dimension, night.value, night.known, night.tier) == ("time", "night", True, "base")
    assert '"at night"' in night.why or '"night"' in night.why
    fog = slice_handoff.propose_value(odd, replace(HIDDEN, text="The picture shows fog, haze or heavy rain."))
    assert (fog.dimension, fog.value, fog.known) == ("weather_visibility", "foggy", True)
    rain = slice_handoff.propose_value(odd, replace(HIDDEN, text="Heavy rain."))
    assert (rain.value, rain.tier) == ("rain_heavy", "extended")
    other = slice_handoff.propose_value(odd, replace(HIDDEN, text="Taken at night."), dimension="sky_conditions")
    assert (other.dimension, other.known) == ("sky_conditions", False)


def test_look_alikes_never_name_the_place_that_they_are_taken_for() -> None:
    text = "The detected traffic light is a street lamp."
    assert slice_handoff.propose_value(built_in(), replace(HIDDEN, text=text)).dimension == "road_type"
    p = slice_handoff.propose_value(built_in(), replace(HIDDEN, text=text, category="semantic_confusion"))
    assert (p.dimension, p.value, p.known) == ("road_users_present", "traffic_light_street_lamp", False)


def test_a_new_value_is_made_of_the_words_and_may_be_renamed() -> None:
    odd = built_in()
    p = slice_handoff.propose_value(odd, HIDDEN)
    assert (p.dimension, p.value, p.known, p.tier, p.parent) == (
        *("road_users_present", "partly_hidden_behind_closer", False, "extended", "unspecified"),
    )
    assert p.definition == HIDDEN.text
    named = slice_handoff.propose_value(odd, HIDDEN, dimension="environment", value=" Behind  a Kerb! ")
    assert (named.dimension, named.value, named.parent) == ("environment", "behind_a_kerb", "")
    assert slice_handoff.propose_value(odd, HIDDEN, value="Cyclists").known
    with pytest.raises(InputError, match='no dimension "wind"'):
        slice_handoff.propose_value(odd, HIDDEN, dimension="wind")
    with pytest.raises(InputError, match="cannot be the name of a value"):
        slice_handoff.propose_value(odd, HIDDEN, value="!!")
    with pytest.raises(InputError, match="takes no further values"):
        slice_handoff.propose_value(odd, HIDDEN, dimension="question_category", value="hidden")


def test_a_value_is_known_whatever_its_case_and_words_may_be_of_any_language() -> None:
    odd = built_in()
    smoke = Value("Heavy Smoke", "extended")
    users = odd.by_name["road_users_present"]
    own = replace(odd, dimensions=tuple(replace(d, values=(*d.values, smoke)) if d is users else d for d in odd.dimensions))
    p = slice_handoff.propose_value(own, HIDDEN, dimension="road_users_present", value="heavy smoke")
    assert (p.value, p.known) == ("Heavy Smoke", True)
    told = replace(HIDDEN, text="Fußgänger nachts 12px Donaudampfschifffahrtsgesellschaftskapitänspatent Überholverbotsschilderaufstellung")
    value = slice_handoff.propose_value(odd, told).value
    assert value.startswith("fussgänger_nachts_donaudampf")
    assert len(value) <= 60


def test_an_odd_with_the_value_is_saved_with_where_it_comes_from(store: Store, report: SliceReport) -> None:
    odd, row = built_in(), row_of(report, "ci_occluded")
    p = slice_handoff.propose_value(odd, row.hypothesis)
    added = slice_handoff.add_value(store, odd, p, report, row)
    kept = store.odds.get(added.odd.hash)
    value = kept.by_name["road_users_present"].by_name[p.value]
    assert (value.tier, value.parent, value.definition) == ("extended", "unspecified", row.hypothesis.text)
    assert kept.extras["notes"][-1] == added.note
    assert all(part in added.note for part in ("ci_occluded", report.saved.digest[:12], "synthetic", "verified", "n = 1,012"))
    assert added.inside == odd.base_space.size == kept.base_space.size
    assert added.after > added.before == odd.codec.size
    assert built_in().hash == odd.hash
    again = slice_handoff.add_value(store, kept, slice_handoff.propose_value(kept, HIDDEN, value=p.value), report, row)
    assert again.odd is kept


def test_nothing_follows_from_a_slice_that_does_not_hold_up_unless_a_person_accepts_it(store: Store, report: SliceReport) -> None:
    row = row_of(report, "iv_aspect")
    p = slice_handoff.propose_value(built_in(), row.hypothesis)
    with pytest.raises(InputError, match='"iv_aspect": it is rejected, and nobody accepted it'):
        slice_handoff.add_value(store, built_in(), p, report, row)
    said = Judgement("u1234567", "iv_aspect", "", "accept", who="ana", at=datetime(2026, 1, 1, tzinfo=UTC))
    slice_handoff.add_value(store, built_in(), p, report, replace(row, judgement=said))
    with pytest.raises(InputError, match="a person rejected it"):
        slice_handoff.refuse(replace(row_of(report, "iv_small"), judgement=replace(said, verdict="reject")))


def test_a_table_keeps_its_slices_under_the_larger_odd(store: Store, report: SliceReport) -> None:
    table = store.tables.load(operators.load_demo(store)[0].id)
    row = row_of(report, "iv_small")
    odd = slice_handoff.add_value(store, table.odd, slice_handoff.propose_value(table.odd, HIDDEN), report, row).odd
    moved = slice_handoff.under(odd, table)

    def key(r: dict[str, object]) -> tuple[str, ...]:
        return tuple(str(v) for v in r.values())

    assert sorted(map(key, moved.to_records())) == sorted(map(key, table.to_records()))
    assert np.all(np.diff(moved.ids) > 0)
    with pytest.raises(InputError, match="lacks values of the table"):
        slice_handoff.under(table.odd, moved.__class__(odd, moved.codes, moved.n, moved.mean, moved.variance))
    with pytest.raises(InputError, match="other dimensions"):
        slice_handoff.under(table.odd.restricted(["time"]), table)


def test_a_campaign_tests_slices_with_the_value_and_says_where_it_comes_from(store: Store, report: SliceReport, home: Path) -> None:
    settings = Settings.from_environment({"ODDYSSEY_HOME": str(home)})
    saved = operators.load_demo(store)[0]
    table, row = store.tables.load(saved.id), row_of(report, "ci_occluded")
    p = slice_handoff.propose_value(table.odd, row.hypothesis)
    with pytest.raises(InputError, match="add it first"):
        slice_handoff.plan_slice_campaign(store, saved.id, table.odd, p, Request(4, samples=10), settings)
    odd = slice_handoff.add_value(store, table.odd, p, report, row).odd
    plan = slice_handoff.plan_slice_campaign(store, saved.id, odd, p, Request(4, samples=10), settings, origin={"slice": "ci_occluded"})
    assert [s.values["road_users_present"] for s in plan.slices] == ["partly_hidden_behind_closer"] * 4
    assert [s.rank for s in plan.slices] == sorted(s.rank for s in plan.slices)
    assert plan.manifest["error_slice"] == {
        **{"dimension": "road_users_present", "value": "partly_hidden_behind_closer", "slice": "ci_occluded"},
    }
    kept = operators.save_campaign(store, "Hidden objects", plan, saved)
    assert (kept.slices, kept.samples, kept.odd_hash) == (4, 40, odd.hash)


def test_a_known_value_inside_the_odd_ranks_inside_it(store: Store, report: SliceReport, home: Path) -> None:
    settings = Settings.from_environment({"ODDYSSEY_HOME": str(home)})
    saved = operators.load_demo(store)[0]
    odd = store.tables.load(saved.id).odd
    p = slice_handoff.propose_value(odd, row_of(report, "ci_night").hypothesis)
    plan = slice_handoff.plan_slice_campaign(store, saved.id, odd, p, Request(3, samples=10), settings)
    assert {s.values["time"] for s in plan.slices} == {"night"}


def test_images_lead_to_the_cases_of_their_scenes(store: Store, report: SliceReport) -> None:
    row = row_of(report, "ci_occluded")
    if not store.cases.list():
        assert slice_handoff.cases_of_slice(store, report, row) == ()
    saved = operators.load_demo_cases(store)
    links = slice_handoff.cases_of_slice(store, report, row)
    content = store.cases.open(saved.id)
    assert links
    assert [x.score for x in links] == sorted((x.score for x in links), reverse=True)
    for x in links:
        case = content.cases[x.place - 1]
        assert (case.case_id, case.scene_id, x.set_id) == (x.case_id, x.scene_id, saved.id)
        assert x.file_name == f"{x.scene_id}.jpg"
        assert (x.same, x.cases) == ("name", 4)
        assert x.unit_id in report.units.ids
        assert x.score > 0.5
    assert len(slice_handoff.cases_of_slice(store, report, row, most=1)) == 1


def test_the_same_bytes_lead_to_a_case_whatever_the_name(store: Store, report: SliceReport) -> None:
    row = row_of(report, "ci_occluded")
    saved = operators.load_demo_cases(store)
    frame = store.cases.open(saved.id).cases[0].cameras[0].frames[0]
    assert row.population is not None
    at = int(row.population.image[int(np.nanargmax(row.scores.logit))]) if row.scores is not None else 0
    images = list(report.units.detections.images)
    images[at] = replace(images[at], sha256=frame.sha256)
    units = replace(report.units, detections=replace(report.units.detections, images=tuple(images)))
    first = slice_handoff.cases_of_slice(store, replace(report, units=units), row)[0]
    assert (first.same, first.scene_id, first.file_name) == ("picture", store.cases.open(saved.id).cases[0].scene_id, images[at].file_name)
