"""Texts are read as values through spelling and synonyms; what is ambiguous or unknown is told, never guessed."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.odd import built_in, load_yaml
from core.seed_table import EXCLUDE, ValueReader

OWN = """
name: weather
dimensions:
  sky:
    values:
      - {name: clear_sky, synonyms: [sunny, fine]}
      - {name: overcast, synonyms: [grey, fine]}
      - {name: hazy, tier: extended, parent: overcast}
  state:
    values: [none, on]
"""


@pytest.fixture
def own():
    return load_yaml(OWN)


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        ("clear_sky", "clear_sky", "exact"),
        ("Clear Sky", "clear_sky", "spelling"),
        ("clear-sky", "clear_sky", "spelling"),
        ("CLEAR__SKY", "clear_sky", "spelling"),
        ("Sunny", "clear_sky", "synonym"),
        ("hazy", "hazy", "exact"),
        ("fine", "", "ambiguous"),
        ("purple", "", "unknown"),
        ("overcats", "", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_how_a_text_is_read(own, text, value, how):
    reading = ValueReader(own.by_name["sky"]).read(text)
    assert (reading.value, reading.how, reading.ok) == (value, how, bool(value))


def test_a_slip_has_a_safe_suggestion_and_a_guess_has_not(own):
    reader = ValueReader(own.by_name["sky"])
    slip = reader.read("overcats")
    assert (slip.suggestion, slip.safe, slip.why) == ("overcast", True, "2 letters off")
    guess = reader.read("overcast_dawn")
    assert (guess.suggestion, guess.safe) == ("overcast", False)
    ambiguous = reader.read("fine")
    assert (ambiguous.safe, ambiguous.why) == (False, "Means clear_sky or overcast")
    assert reader.read("xyzzy").suggestion == ""


def test_a_slip_of_an_ambiguous_synonym_is_not_safe(own):
    assert not ValueReader(own.by_name["sky"]).read("finee").safe


def test_rush_hour_is_several_kinds_of_traffic_and_is_not_guessed():
    traffic = built_in().by_name["traffic_type"]
    reading = ValueReader(traffic).read("Rush hour")
    assert (reading.value, reading.how, reading.safe) == ("", "ambiguous", False)
    assert all(name in reading.why for name in (v.name for v in traffic.values if "rush hour" in v.synonyms))


def test_every_name_of_the_built_in_odd_reads_as_itself_and_every_synonym_as_its_value_or_as_ambiguous():
    for d in built_in().dimensions:
        reader = ValueReader(d)
        for v in d.values:
            assert reader.read(v.name).value == v.name
            assert reader.read(v.name.upper().replace("_", " ")).value == v.name
            for s in v.synonyms:
                reading = reader.read(s)
                assert reading.value == v.name or reading.how in ("ambiguous", "spelling", "exact"), (d.name, v.name, s)


def test_the_users_word_comes_first(own):
    reader = ValueReader(own.by_name["sky"], {"fine": "overcast", "clear_sky": "hazy", "junk": EXCLUDE})
    assert [reader.read(t).value for t in ("fine", "clear_sky", "junk")] == ["overcast", "hazy", ""]
    assert [reader.read(t).how for t in ("fine", "clear_sky", "junk")] == ["mapped", "mapped", "excluded"]


def test_an_ambiguous_synonym_in_a_table_is_a_problem_with_its_reason(checked, own):
    report = checked("sky,state,score\nfine,none,1\nsunny,on,1\n", domain=own)
    (rejection,) = report.rejections
    assert (rejection.problem.kind, rejection.why, rejection.safe) == ("ambiguous_value", "Means clear_sky or overcast", False)
    assert report.accepted == 1


def test_values_are_mapped_excluded_and_counted(checked, own):
    text = "sky,state,score\nfine,none,1\nsunny,on,1\njunk,on,1\npurple,on,0\n"
    report = checked(text, domain=own, value_map={"sky": {"fine": "overcast", "junk": ""}})
    assert [(r["sky"], r["n"]) for r in report.seed.to_records()] == [("clear_sky", 1), ("overcast", 1)]
    assert report.summary()["rejected_by_kind"] == {"excluded": 1, "unknown_value": 1}
    assert {(r.text, r.how, n) for r, n in report.readings["sky"]} == {
        ("fine", "mapped", 1),
        ("sunny", "synonym", 1),
        ("junk", "excluded", 1),
        ("purple", "unknown", 1),
    }


def test_a_value_added_to_the_odd_changes_its_hash(checked, own):
    wider = own.with_values({"sky": ["purple"]})
    assert wider.hash != own.hash
    report = checked("sky,state,score\npurple,on,0\n", domain=wider)
    assert (report.accepted, report.odd.base_space.size) == (1, 6)


def test_a_declared_value_called_none_is_no_reason_to_warn(checked, own):
    assert not any("none" in w for w in checked("sky,state,score\nsunny,none,1\nsunny,none,0\n", domain=own).warnings)


def test_values_outside_the_base_odd_are_kept_but_no_evidence(checked, own):
    report = checked("sky,state,score\nhazy,on,1\nsunny,on,1\n", domain=own)
    assert (len(report.seed.n), report.observed, report.missing) == (2, 1, 3)
    assert any(w.startswith("1 slices (1 samples) hold values outside the base ODD") for w in report.warnings)
    assert (report.summary()["outside_odd_slices"], report.summary()["outside_odd_samples"]) == (1, 1)


def test_spellings_of_one_value_become_one_value_of_an_inferred_odd(checked):
    report = checked("sky,score\nOpen Sky,1\nopen_sky,0\nopen sky,1\nfog,1\n", domain=None, dims=["sky"])
    assert report.odd.by_name["sky"].by_name.keys() == {"Open Sky", "fog"}
    assert sorted(report.seed.n.tolist()) == [1, 3]


def test_an_inferred_odd_takes_mapped_texts_under_their_new_name(checked):
    text = "sky,score\nfog,1\nmist,0\njunk,1\nclear,1\n"
    report = checked(text, domain=None, dims=["sky"], value_map={"sky": {"mist": "fog", "junk": ""}})
    assert list(report.odd.by_name["sky"].by_name) == ["clear", "fog"]
    assert (report.accepted, report.summary()["rejected_by_kind"]) == (3, {"excluded": 1})


def test_an_own_odd_that_is_no_odd_lists_every_rule_it_breaks():
    with pytest.raises(InputError) as e:
        load_yaml("dimensions:\n  a: {values: [x, X]}\n  b: {values: [{name: y, tier: extended}]}\n")
    assert len(e.value.problems) == 2
