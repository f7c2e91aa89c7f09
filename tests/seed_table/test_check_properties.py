"""Whatever stands in a table, every row is accounted for, and neither format nor order of the rows shows in the result."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections import defaultdict

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import infer_odd
from core.operators import as_csv, check, open_table, prepare, rank
from core.scoring import ScoringParameters
from core.seed_table import ImportPlan, check_table
from core.settings import Settings

ODD = infer_odd({"weather": ["clear", "rain", "NA", "a,b", 'say "hi"'], "time": ["day", "night"]})
HEADER = ["model", "weather", "time", "score", "n"]
PLAN = ImportPlan(columns={"weather": "weather", "time": "time"}, score="score", scale="unit", count="n", model_column="model", model="a")
CELLS = {
    "model": ["a", "a", "a", "b", ""],
    "weather": ["clear", "rain", "NA", "a,b", 'say "hi"', " Clear ", "hail", "", "null", "ré\tn", "two\nlines"],
    "time": ["day", "night", "DAY", "noon", ""],
    "score": ["0", "1", "0.5", "0,25", "-1", "2", "nan", "inf", "", "x", "5%", "1e-1"],
    "n": ["1", "7", "12.0", "0", "-2", "1.5", "", "many", "1,000", "9" * 30],
}
rows_of_cells = st.lists(st.tuples(*(st.sampled_from(CELLS[c]) for c in HEADER)), min_size=1, max_size=40)


def written(rows, separator=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)
    return out.getvalue().encode()


def run(rows):
    return check_table(open_table(written(rows), "t.csv", separator=","), ODD, PLAN)


def usable(row):
    """An independent reading of one row: its slice, score and count, or None."""
    _, weather, time, score, n = (c.strip() for c in row)
    weather = "clear" if weather == "Clear" else weather
    scores = {"0": 0.0, "1": 1.0, "0.5": 0.5, "0,25": 0.25, "1e-1": 0.1}
    counts = {"1": 1, "7": 7, "12.0": 12}
    time = time.lower()
    if weather not in ODD.by_name["weather"].by_name or time not in ("day", "night") or score not in scores or n not in counts:
        return None
    return (weather, time), scores[score], counts[n]


@given(rows_of_cells)
@settings(max_examples=150, deadline=None)
def test_accepted_rejected_and_other_models_are_all_rows(rows):
    if not any(r[0] == "a" for r in rows):
        with pytest.raises(InputError, match="model"):
            run(rows)
        return
    if not any(r[3] not in ("nan", "inf", "", "x") for r in rows if r[0] in ("a", "")):
        with pytest.raises(InputError, match="no usable score"):
            run(rows)
        return
    report = run(rows)
    assert report.rows == len(rows) == report.accepted + report.rejected.size + report.other_models
    assert report.other_models == sum(r[0] == "b" for r in rows)

    expected = [i for i, r in enumerate(rows, 1) if r[0] == "" or (r[0] == "a" and usable(r) is None)]
    assert report.rejected.tolist() == expected
    assert sorted({p.row for p in report.problems()}) == expected
    assert report.problem_count == len(list(report.problems()))
    for p in report.problems():
        assert p.column in HEADER
        assert p.got
        assert p.allowed

    pooled = defaultdict(list)
    for r in rows:
        if r[0] == "a" and (found := usable(r)):
            pooled[found[0]].append(found[1:])
    records = {(x["weather"], x["time"]): x for x in report.seed.to_records()}
    assert records.keys() == pooled.keys()
    for key, parts in pooled.items():
        n = sum(k for _, k in parts)
        assert records[key]["n"] == n
        assert records[key]["mean"] == pytest.approx(math.fsum(s * k for s, k in parts) / n, abs=1e-15)


@given(rows_of_cells.filter(lambda rows: any(r[0] == "a" and usable(r) for r in rows)), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_rows_changes_nothing(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    first, second = run(rows), run(shuffled)
    assert first.seed.digest == second.seed.digest
    assert first.summary() == second.summary()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1)), min_size=1, max_size=60),
    st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_sample_means_and_variances_equal_those_of_numpy_in_every_order(samples, random):
    odd = infer_odd({"k": [str(i) for i in range(6)]})

    def seed(items):
        text = "k,score\n" + "".join(f"{k},{x!r}\n" for k, x in items)
        plan = ImportPlan(columns={"k": "k"}, score="score", scale="unit")
        return check_table(open_table(text.encode(), "t.csv"), odd, plan).seed

    table = seed(samples)
    groups = defaultdict(list)
    for k, x in samples:
        groups[str(k)].append(x)
    for record in table.to_records():
        values = groups[record["k"]]
        assert record["n"] == len(values)
        assert record["mean"] == pytest.approx(np.mean(values), abs=1e-12)
        assert (record["variance"] is None) == (len(values) == 1)
        if len(values) > 1:
            assert record["variance"] == pytest.approx(np.var(values, ddof=1), abs=1e-12)
    shuffled = list(samples)
    random.shuffle(shuffled)
    assert seed(shuffled).digest == table.digest


TABLE = [
    {"weather": w, "time": t, "score": s, "n": n}
    for w, t, s, n in [("clear", "day", 0.5, 12), ("rain", "night", 0.25, 7), ("NA", "day", 1.0, 3), ("rain", "day", 0.0, 20)]
]


def as_text(separator, comma=False):
    lines = [separator.join(TABLE[0])]
    lines += [separator.join(str(v).replace(".", "," if comma else ".") for v in r.values()) for r in TABLE]
    return ("\n".join(lines) + "\n").encode()


def as_xlsx():
    book = openpyxl.Workbook()
    book.active.append(list(TABLE[0]))
    for r in TABLE:
        book.active.append(list(r.values()))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_parquet():
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(TABLE), out)
    return out.getvalue()


FORMS = {
    "tsv": lambda: as_text("\t"),
    "semicolons": lambda: as_text(";", comma=True),
    "pipes": lambda: as_text("|"),
    "xlsx": as_xlsx,
    "parquet": as_parquet,
    "jsonl": lambda: "".join(json.dumps(r) + "\n" for r in TABLE).encode(),
    "csv.gz": lambda: gzip.compress(as_text(",")),
    "jsonl.gz": lambda: gzip.compress("".join(json.dumps(r) + "\n" for r in TABLE).encode()),
    "UTF-16": lambda: as_text(",").decode().encode("utf-16"),
    "upside down": lambda: b"\n".join([as_text(",").split(b"\n")[0], *reversed(as_text(",").strip().split(b"\n")[1:])]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_seed_table_and_ranking(form, tmp_path):
    odd = infer_odd({"weather": ["clear", "rain", "NA"], "time": ["day", "night"]})

    def ranked(data, name):
        report = check(prepare(open_table(data, name), odd))
        assert report.accepted == 4
        result = rank(report.seed, ScoringParameters(), Settings.from_environment(), mode="exact", top=None)
        return report.seed.digest, as_csv(result.ranking)

    assert ranked(FORMS[form](), f"t.{form}") == ranked(as_text(","), "t.csv")
