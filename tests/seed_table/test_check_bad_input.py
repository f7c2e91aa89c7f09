"""Bad input of the kinds that public trackers report: each is read right or refused clearly, and no row is lost."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.odd import built_in, infer_odd
from core.scoring import ScoringParameters, gather_evidence

ROWS = [("clear", "day", "1"), ("rain", "day", "0"), ("snow", "night", "0.5")]
GOOD = "weather,time,score\n" + "".join(",".join(r) + "\n" for r in ROWS)


def kinds(report):
    return report.summary()["rejected_by_kind"]


def test_good_rows_become_slices(checked):
    report = checked(GOOD + "snow,night,1\n")
    assert (report.rows, report.accepted, report.rejected.size, report.other_models) == (4, 4, 0, 0)
    assert report.seed.to_records() == [
        {"weather": "clear", "time": "day", "n": 1, "mean": 1.0, "variance": None},
        {"weather": "rain", "time": "day", "n": 1, "mean": 0.0, "variance": None},
        {"weather": "snow", "time": "night", "n": 2, "mean": 0.75, "variance": 0.125},
    ]
    assert (report.observed, report.missing) == (3, 3)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + GOOD.encode(), id="BOM glued to the first header"),
        pytest.param(GOOD.replace(",", ";").replace("0.5", "0,5").encode(), id="semicolons with decimal commas"),
        pytest.param(GOOD.replace(",", "\t").encode(), id="tabs"),
        pytest.param(GOOD.encode("utf-16"), id="UTF-16"),
        pytest.param(GOOD.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(GOOD.replace("clear", '"clear"').encode(), id="quotes"),
        pytest.param(GOOD.replace("clear", " Clear ").replace("rain", "RAIN").encode(), id="case and spaces"),
    ],
)
def test_the_same_table_however_it_was_written(checked, data):
    report = checked(data)
    assert report.rejected.size == 0
    assert report.seed.digest == checked(GOOD).seed.digest


@pytest.mark.parametrize("word", ["NA", "None", "null", "NaN", "n/a", "N/A", "nan", "-"])
def test_a_category_named_like_a_missing_value_stays_a_value(checked, word):
    text = f"weather,time,score\n{word},day,1\n{word},night,0\nclear,day,1\n"
    inferred = checked(text, domain=None, dims=["weather", "time"])
    assert word in inferred.odd.by_name["weather"].by_name
    assert inferred.accepted == 3
    assert any(f'the word "{word}" in 2 rows' in w and "kept as a value" in w for w in inferred.warnings)

    declared = infer_odd({"weather": ["clear", word], "time": ["day", "night"]})
    assert checked(text, domain=declared).accepted == 3


@pytest.mark.parametrize("word", ["NA", "None", "null"])
def test_a_missing_word_makes_cells_empty_and_they_are_counted(checked, word):
    text = f"weather,time,score\n{word},day,1\n{word},night,{word}\nclear,day,1\nrain,night,1\n"
    report = checked(text, domain=None, dims=["weather", "time"], missing_words=(word.lower(),))
    assert word not in report.odd.by_name["weather"].by_name
    assert (report.accepted, report.rejected.tolist()) == (2, [1, 2])
    assert kinds(report) == {"empty": 3}


def test_a_missing_word_that_is_mapped_to_a_value_is_that_value(checked):
    text = "weather,time,score\nNA,day,1\nclear,day,1\n"
    report = checked(text, missing_words=("NA",), value_map={"weather": {"NA": "rain"}})
    assert [r["weather"] for r in report.seed.to_records()] == ["clear", "rain"]


def test_rows_with_an_empty_cell_are_named_not_dropped(checked):
    report = checked("weather,time,score\nclear,day,1\n,day,1\nclear,,0\nclear,day,\n")
    assert (report.accepted, report.rejected.tolist()) == (1, [2, 3, 4])
    assert [(p.row, p.column, p.got, p.kind) for p in report.problems()] == [
        (2, "weather", "(empty)", "empty"),
        (3, "time", "(empty)", "empty"),
        (4, "score", "(empty)", "empty"),
    ]


def test_every_problem_names_row_column_got_allowed_and_suggestion(checked):
    report = checked("weather,time,score\nclear,day,1\nrane,dya,2\nhail,day,x\n" + "clear,day,1\n" * 40)
    found = [p.as_dict() for p in report.problems()]
    assert [(p["row"], p["column"], p["got"], p["allowed"], p["suggestion"]) for p in found] == [
        (2, "score", "2", "a score, 0 to 1", ""),
        (2, "time", "dya", "day, night", "day"),
        (2, "weather", "rane", "clear, rain, snow", "rain"),
        (3, "score", "x", "a score, 0 to 1", ""),
        (3, "weather", "hail", "clear, rain, snow", ""),
    ]
    assert report.problem_count == 5
    assert report.rejected.tolist() == [2, 3]
    assert str(next(p for p in report.problems() if p.got == "rane")) == (
        'Row 2, column "weather": got "rane"; allowed: clear, rain, snow. Did you mean "rain"?'
    )


@pytest.mark.parametrize("bad", ["nan", "NaN", "inf", "-inf", "n.a.", "1_0", "0,5,1", "1.234,5"])
def test_a_score_that_is_no_number_is_rejected(checked, bad):
    report = checked(f'weather,time,score\nclear,day,1\nrain,day,"{bad}"\n')
    assert (report.accepted, kinds(report)) == (1, {"not_a_number": 1})
    assert np.isfinite(report.seed.mean).all()


@pytest.mark.parametrize(
    ("cells", "sample"), [(["NaN", "nan"], "NaN, nan"), (["", ""], "every cell is empty"), (["bad", "worse"], "bad, worse")]
)
def test_a_score_column_without_a_single_number_is_refused(checked, cells, sample):
    with pytest.raises(InputError, match=f"holds no usable score: .*{sample}"):
        checked(f"weather,time,score\nclear,day,{cells[0]}\nrain,day,{cells[1]}\n", score="score")


@pytest.mark.parametrize("bad", ["-0.1", "1.2", "100", "-1", "1e9"])
def test_scores_out_of_range_are_rejected_never_clamped(checked, bad):
    report = checked("weather,time,score\n" + "clear,day,1\n" * 30 + f"rain,day,{bad}\n")
    assert (report.accepted, kinds(report)) == (30, {"out_of_range": 1})
    assert report.seed.mean.tolist() == [1.0]
    at_once = checked("weather,time,score\n" + "clear,day,100\n" * 30 + "rain,day,101\n", scale="percent")
    assert (at_once.accepted, kinds(at_once)) == (30, {"out_of_range": 1})


@pytest.mark.parametrize(("score", "text"), [("1", "(1)"), ("0", "(0)")])
def test_errors_without_variance_are_said(checked, score, text):
    report = checked(f"weather,time,score\nclear,day,{score}\nrain,day,{score}\nclear,day,{score}\n")
    assert report.seed.error.std() == 0
    assert any(f"same mean score {text}" in w for w in report.warnings)


@pytest.mark.parametrize(
    ("count", "kind"),
    [
        ("0", "zero_count"),
        ("0.0", "zero_count"),
        ("-3", "negative_count"),
        ("2.5", "fractional_count"),
        ("", "empty"),
        ("many", "not_a_number"),
        ("nan", "not_a_number"),
        ("inf", "not_a_number"),
        ("1e18", "count_too_large"),
        ('"1,000"', "grouped_digits"),
        ('"1,234,567"', "grouped_digits"),
    ],
)
def test_a_count_that_cannot_be_one_is_rejected_by_kind(checked, count, kind):
    report = checked(f"weather,time,score,n\nclear,day,0.5,10\nrain,day,0.5,{count}\n")
    assert report.plan.count == "n"
    assert (report.accepted, kinds(report)) == (1, {kind: 1})
    assert report.seed.n.tolist() == [10]


def test_grouped_digits_are_told_with_the_number_they_may_be(checked):
    (problem,) = checked('weather,time,score,n\nclear,day,0.5,10\nrain,day,0.5,"1,000"\n').problems()
    assert (problem.got, problem.suggestion) == ("1,000", "1000")


@pytest.mark.parametrize("count", ["20", "20.0", "2e1"])
def test_a_whole_count_is_taken_however_it_is_spelled(checked, count):
    report = checked(f"weather,time,score,n\nclear,day,0.5,{count}\n")
    assert (report.seed.n.tolist(), report.plan.shape, report.seed.n_assumed) == ([20], "slices", False)


def test_without_counts_the_assumed_one_is_said(checked):
    report = checked(GOOD, assume_n=40)
    assert (report.seed.n.tolist(), report.seed.n_assumed) == ([40, 40, 40], True)
    assert any("gives no counts: n = 40 was assumed" in w for w in report.warnings)
    assert report.summary()["n_assumed"] is True


def test_one_row_a_slice_without_counts_is_pointed_out(checked):
    assert any("exactly one row" in w and "--assume-n" in w for w in checked(GOOD).warnings)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_an_assumed_count_that_cannot_be_one_is_refused(checked, n):
    with pytest.raises(InputError, match="assume_n"):
        checked(GOOD, assume_n=n)


def test_counts_from_a_column_and_assumed_ones_exclude_each_other(checked):
    with pytest.raises(InputError, match="not both"):
        checked("weather,time,score,n\nclear,day,0.5,10\n", count="n", assume_n=4)


@pytest.mark.parametrize(("support", "threshold"), [(10, 10), (0.1, 3), (0, 0), (1, 1)])
def test_minimum_support_is_a_count_or_a_share_and_is_never_mutated(checked, support, threshold):
    seed = checked("weather,time,score,n\nclear,day,0.5,20\nrain,day,0.5,2\nsnow,day,0.5,8\n").seed
    params = ScoringParameters(min_support=support)
    for _ in range(2):
        evidence = gather_evidence(seed, params)
        assert evidence.threshold == threshold
        assert evidence.provisional.tolist() == [n < threshold for n in evidence.observed.n]
    assert params.min_support == support
    assert params.as_dict()["min_support"] == support


@pytest.mark.parametrize("support", [-1, 1.5, float("nan"), float("inf")])
def test_a_minimum_support_that_cannot_be_one_is_refused(support):
    with pytest.raises(InputError, match="min_support"):
        ScoringParameters(min_support=support)


def test_duplicate_rows_are_pooled_and_said(checked):
    report = checked("weather,time,score,n\nclear,day,0.5,10\nclear,day,1,30\nrain,day,0,5\n")
    assert (report.seed.n.tolist(), report.seed.mean.tolist()) == ([40, 5], [0.875, 0.0])
    assert any("3 rows name 2 slices" in w for w in report.warnings)


def test_samples_that_stand_there_twice_are_kept_and_said(checked):
    report = checked("sample_id,weather,time,score\na,clear,day,1\na,clear,day,1\nb,rain,day,0\n,rain,day,1\n")
    assert (report.plan.sample_column, report.accepted) == ("sample_id", 4)
    assert any(w.startswith("1 rows repeat an id") for w in report.warnings)


def test_two_models_without_a_choice_list_them(checked):
    text = "model,weather,time,score\na,clear,day,1\nb,clear,day,0\nb,rain,day,0\n,rain,day,0\n"
    with pytest.raises(InputError, match=r"names 2 models; choose one \(--model\): a \(1 rows\), b \(2 rows\)"):
        checked(text)
    with pytest.raises(InputError, match='"c" is not among them: a'):
        checked(text, model="c")
    report = checked(text, model="b")
    assert (report.rows, report.accepted, report.other_models, report.rejected.tolist()) == (4, 2, 1, [4])
    assert report.models == {"a": 1, "b": 2}
    assert any("1 rows of other models were left aside; this table is b" in w for w in report.warnings)


def test_a_single_model_needs_no_choice(checked):
    assert checked("model,weather,time,score\na,clear,day,1\na,rain,day,0\n").plan.model == "a"


def test_a_model_column_without_a_model_is_refused(checked):
    with pytest.raises(InputError, match="names no model"):
        checked("model,weather,time,score\n,clear,day,1\n", model_column="model")


def test_a_table_of_one_row(checked):
    report = checked("weather,time,score\nclear,day,1\n")
    assert (report.accepted, report.observed, report.missing) == (1, 1, 5)
    assert np.isnan(report.seed.variance).all()
    assert not any("same mean" in w or "exactly one row" in w for w in report.warnings)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"weather,time,score\n", b"   \n"])
def test_empty_files_are_refused(checked, data):
    with pytest.raises(InputError, match=r"empty|no records|no bytes"):
        checked(data)


def test_a_table_in_which_no_row_is_good_reports_all_of_them(checked):
    report = checked("weather,time,score\nhail,day,1\nclear,noon,0\n")
    assert (report.rows, report.accepted, report.rejected.tolist(), len(report.seed.n)) == (2, 0, [1, 2], 0)
    assert (report.observed, report.missing) == (0, 6)


def test_a_hundred_thousand_distinct_values_in_one_message(checked):
    text = "weather,time,score\n" + "".join(f"w{i},day,1\n" for i in range(100_000))
    for domain in (None, built_in().restricted(["weather_visibility", "time"]), infer_odd({"weather": ["clear", "rain"], "time": ["day"]})):
        columns = {"weather_visibility": "weather", "time": "time"} if domain is not None and domain.name.startswith("driving") else None
        with pytest.raises(InputError, match=r'Column "weather" has 100,000 distinct values') as e:
            checked(text, domain=domain, columns=columns, dims=["weather", "time"] if domain is None else ())
        assert len(str(e.value)) < 1000


def test_a_hundred_thousand_distinct_scores_and_ids_are_fine(checked):
    text = "sample_id,weather,time,score\n" + "".join(f"s{i},clear,day,{i / 100_000}\n" for i in range(100_000))
    report = checked(text)
    assert (report.accepted, report.seed.n.tolist()) == (100_000, [100_000])
    assert report.seed.mean[0] == pytest.approx(0.499995, abs=1e-15)


def test_broken_records_are_counted_with_their_number(checked):
    report = checked("weather,time,score\nclear,day,1\nclear,day\nrain,day,0,9\nrain,day,0\n")
    assert (report.rows, report.accepted, report.rejected.tolist()) == (4, 2, [2, 3])
    assert kinds(report) == {"broken_row": 2}
    assert [(p.row, p.kind) for p in report.problems()] == [(2, "broken_row"), (3, "broken_row")]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"score": "sore"}, r'"sore".*Did you mean "score"'),
        ({"columns": {"wether": "weather"}}, r'no such dimension.*\n.*"wether".*Did you mean "weather"'),
        ({"columns": {"weather": "wether"}}, r'no such column.*\n.*"wether".*Did you mean "weather"'),
        ({"value_map": {"wether": {"x": "rain"}}}, r'no such dimension.*\n.*Did you mean "weather"'),
        ({"value_map": {"weather": {"x": "rian"}}}, r'does not have.*\n.*"rian".*Did you mean "rain"'),
        ({"count": "nn"}, r'"nn"'),
        ({"score": "-"}, "No score"),
        ({"scale": "stars"}, "scale"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_one(checked, changed, what):
    with pytest.raises(InputError, match=what):
        checked(GOOD, **changed)


def test_a_dimension_without_a_column_is_named(checked):
    with pytest.raises(InputError, match="No column is mapped to time"):
        checked("weather,score\nclear,1\n")


def test_a_given_dimension_that_is_not_used_is_refused(checked):
    with pytest.raises(InputError, match=r'not used.*\n.*"fog"'):
        checked(GOOD, domain=None, dims=["weather", "time"], columns={"fog": "weather"})
