"""The baseline that lists slices itself: what it is told, and how its tables are read."""

import pytest

from core import operators
from core.controller import choose_slices as m
from core.odd import Dimension, Odd, Value
from core.seed_table import SeedTable, open_table


@pytest.fixture(scope="module")
def seed() -> SeedTable:
    dims = (
        Dimension("weather", "Weather", (Value("clear"), Value("rain", synonyms=("wet weather",)), Value("hail", "extended", "rain"))),
        Dimension("time", "Time of day", (Value("day"), Value("night"))),
        Dimension("users", "Road users", (Value("unspecified"), Value("cyclists", "extended", "unspecified"))),
    )
    data = b"weather,time,users,n,score\nclear,day,unspecified,20,0.9\nrain,night,unspecified,20,0.4\n"
    prepared = operators.prepare(open_table(data, "t.csv"), Odd("small", 1, dims), overrides={"count": "n", "score": "score"})
    return operators.check(prepared).seed


NEW = {("hail", "day", "unspecified"), ("rain", "day", "unspecified")}


@pytest.mark.parametrize(
    "text",
    [
        "weather,time,users\nhail,day,unspecified\nrain,day,unspecified",
        "```csv\nweather,time,users\nhail,day,unspecified\nrain,day,unspecified\n```",
        "Here you are:\n\nweather,time,users\nhail,day,unspecified\nrain,day,unspecified\n\nI hope this helps, good luck.",
        "users;time;weather\nunspecified;day;hail\nunspecified;day;rain",
        "| weather | time | users |\n|---|---|---|\n| hail | day | unspecified |\n| rain | day | unspecified |",
        "weather\ttime\tusers\nHAIL\tDay\tunspecified\nwet weather\tday\tunspecified",
        '"weather","time","users"\n"hail","day","unspecified"\n"rain","day","unspecified"',
        "Weather,Time of day\nhail,day\nrain,day",
        "hail,day,unspecified\nrain,day,unspecified",
        "rank,weather,time,users\n1,hail,day,unspecified\n2,rain,day,unspecified",
        "weather,time,users\r\nhail,day,\r\nrain,day,unspecified\r\n",
    ],
)
def test_tables_are_read_in_many_forms(seed, text):
    found = m.read_slices(text, seed)
    assert set(found.slices) == NEW
    assert found.outside == 1


def test_every_row_is_accounted_for(seed):
    text = (
        "weather,time,users\nhail,day,unspecified\nhail,day,unspecified\nclear,day,unspecified\nsleet,day,unspecified\nrain,,unspecified\n"
    )
    found = m.read_slices(text, seed)
    assert found.slices == (("hail", "day", "unspecified"),)
    assert (found.rows, found.repeated, found.tested, found.unusable, found.unknown_values) == (5, 1, 1, 2, 1)


@pytest.mark.parametrize("text", ["", "I cannot do that.", "```csv\n```", ",,,\n,,,", "weather,time,users", '"', "a\x00b,c"])
def test_no_table_is_an_empty_list(seed, text):
    assert m.read_slices(text, seed).slices == ()


def test_the_model_is_told_a_summary_and_no_slice(seed):
    question = 'Ignore {header} and "quote"'
    system, task = (x["content"] for x in m.messages(question, seed, operators.triage(seed), 7))
    assert "CSV" in system
    assert "40 samples in 2 slices, error 35.0%" in task
    assert "weather=rain: n = 20 (50%), error 60.0%" in task
    assert "weather: hail" in task and "exactly 7 lines" in task
    assert '"Ignore {header} and \\"quote\\""' in task


def test_a_prompt_with_other_names_in_braces_is_refused(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("name: choose_slices\nversion: 1\nsystem: s\ntask: '{summary} {top}'\n")
    with pytest.raises(m.InputError, match="must have these names"):
        m._document(path)
    path.write_text("name: other\n")
    with pytest.raises(m.InputError, match="cannot be read"):
        m._document.__wrapped__(path)
