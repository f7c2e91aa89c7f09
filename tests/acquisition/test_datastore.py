"""The store and its query against a slow reading of the same rules."""

from __future__ import annotations

import csv
import io
import random
import threading

import numpy as np
import pytest

from core.acquisition.datastore import META, TEMPLATE, open_datastore
from core.acquisition.fidelity import UNSPECIFIED, fidelity
from core.acquisition.query import NEAR, find, slice_words, spread
from core.errors import InputError
from core.odd import built_in, infer_odd
from core.operators import read_manifest
from core.operators.footage import build_datastore
from core.similarity.encoder import Encoder

ODD = built_in()
DIMS = ODD.names


def write(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "path", "sha256", "group", "caption", "question", "answer", *DIMS], restval="")
    writer.writeheader()
    writer.writerows({"path": f"{r['id']}.jpg"} | r for r in rows)
    return out.getvalue().encode()


def store_of(rows, folder, **k):
    return build_datastore(read_manifest(write(rows), "rows.csv"), folder, **k)


def random_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        row = {"id": f"r{rng.randrange(10**9):09d}", "path": f"p{i}.jpg", "group": rng.choice(["", "a", "b", "c"]), "caption": f"c{i % 7}"}
        for d in ODD.dimensions:
            names = list(d.by_name)
            lot = rng.random()
            few = [v.name for v in d.base] * 4 + names
            row[d.name] = "" if lot < 0.15 else "|".join(rng.sample(names, min(2, len(names)))) if lot < 0.25 else rng.choice(few)
        if rng.random() < 0.5:
            row |= {"question": f"Q{rng.randrange(3)}?", "answer": "yes"}
        else:
            row["question_category"] = rng.choice(["", row["question_category"]])
        if rng.random() < 0.1 and rows:
            row |= {"path": rows[-1]["path"], "question": rows[-1].get("question", ""), "answer": rows[-1].get("answer", "")}
        rows.append(row)
    return rows


def slowly(store, requested):
    """Rows with matches and contradictions, best first, one row at a time."""
    out = []
    for row in store.fetch(range(len(store))):
        if store.copy_of[row.row] >= 0:
            continue
        tags = dict(row.tags)
        if not row.question and tags["question_category"] is None and "question_category" in requested:
            tags["question_category"] = requested["question_category"]  # a template asks whatever is wanted
        flags = list(fidelity(ODD, requested, tags).values())
        out.append((-flags.count("match"), flags.count("mismatch"), row.row))
    return sorted(out)


@pytest.mark.parametrize("seed", range(6))
def test_the_query_grades_and_orders_as_a_slow_reading_does(tmp_path, seed):
    store = store_of(random_rows(300, seed), tmp_path)
    rng = random.Random(seed)
    for count in (1, 3, 8, 9):
        dims = sorted(rng.sample(DIMS, count), key=DIMS.index)
        requested = {d: rng.choice([*[v.name for v in ODD.by_name[d].base] * 3, *ODD.by_name[d].by_name]) for d in dims}
        expected = slowly(store, requested)
        for pool in (5_000, 40, 1):
            found = find(store, ODD, requested, pool=pool)
            best = expected[:pool]
            assert found.rows.tolist() == [r for _, _, r in best]
            assert found.matches.tolist() == [-m for m, _, _ in best]
            assert found.mismatches.tolist() == [x for _, x, _ in best]
            assert found.matching == sum(-m == count for m, _, _ in expected)


def test_small_codes_and_large_ones_pack_to_the_same_tags(tmp_path):
    store = store_of(random_rows(200, 9), tmp_path)
    assert len(store.packed) > 1  # nine dimensions do not fit into 16 bits
    for part in store.packed:
        codes = part.codes.astype(np.int64)
        for d, size in reversed(list(zip(part.dims, part.sizes, strict=True))):
            assert (codes % size - 1).tolist() == store.codes[d][store.live].tolist()
            codes //= size


def test_rows_come_back_as_they_were_written_in_any_order(tmp_path):
    rows = random_rows(60, 3)
    store = store_of(rows, tmp_path)
    by_id = {r["id"]: r for r in rows}
    for row in store.fetch([5, 0, 59, 5]):
        given = by_id[row.id]
        assert (row.path, row.caption, row.question) == (given["path"], given["caption"], given.get("question", ""))
        assert {d: "|".join(t) if isinstance(t, tuple) else t or "" for d, t in row.tags.items() if t != (UNSPECIFIED,)} == {
            d: "|".join(v for v in ODD.by_name[d].by_name if v in given[d].split("|")) for d in DIMS
        }
    assert store.fetch([]) == []
    assert [r.row for r in store.fetch([5, 0, 59, 5])] == [5, 0, 59, 5]


def test_opening_again_gives_the_same_store_and_writes_nothing(tmp_path):
    first = store_of(random_rows(50, 4), tmp_path)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    again = store_of(random_rows(50, 4), tmp_path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    assert (again.digest, again.entries, again.report) == (first.digest, first.entries, first.report)
    assert all((again.codes[d] == first.codes[d]).all() for d in DIMS)
    assert store_of(random_rows(50, 5), tmp_path).digest != first.digest


def test_a_damaged_store_says_so(tmp_path):
    store = store_of(random_rows(5, 1), tmp_path)
    (store.folder / META).write_text("{")
    with pytest.raises(InputError, match="Import its manifest again"):
        open_datastore(store.folder)
    with pytest.raises(InputError):
        open_datastore(tmp_path / "nowhere")


def test_the_inventory_counts_every_row_once_per_dimension(tmp_path):
    store = store_of([{"id": "1", "time": "day"}, {"id": "2", "time": "day"}, {"id": "3", "time": "day|dusk"}, {"id": "4"}], tmp_path)
    found = store.inventory()
    assert found["time"] == {"day": 2, "": 1, "day|dusk": 1}
    assert all(sum(tags.values()) == 4 for tags in found.values())


def test_a_row_that_asks_nothing_can_be_asked_anything(tmp_path):
    store = store_of([{"id": "1"}, {"id": "2", "question": "Q?", "answer": "yes"}], tmp_path)
    assert store.tag("question_category", 0) is None  # the star is no tag
    assert TEMPLATE in store.entries["question_category"]
    found = find(store, ODD, {"question_category": "hazard_assessment"})
    assert found.matches.tolist() == [1, 0]


def test_threads_share_a_store(tmp_path):
    store = store_of(random_rows(80, 2), tmp_path)
    seen = []
    threads = [threading.Thread(target=lambda k=k: seen.append([r.id for r in store.fetch([k, k + 1])])) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    alone = [[r.id for r in store.fetch([k, k + 1])] for k in range(8)]
    assert sorted(seen) == sorted(alone)


class Words:
    """An encoder without meaning: one direction per text, known texts as given."""

    id = "words@1"

    def __init__(self, known):
        self.known = known

    def embed(self, texts):
        return np.stack([np.array(self.known.get(t, (0, 0, 1)), dtype=np.float32) for t in texts])


def test_captions_decide_among_equal_tags_only(tmp_path):
    rows = [
        {"id": "a", "time": "night", "caption": "far"},
        {"id": "b", "time": "night", "caption": "near"},
        {"id": "c", "time": "day", "caption": "nearest"},
        {"id": "d", "time": "night", "caption": "near"},
    ]
    words = {"far": (0, 1, 0), "near": (0.8, 0.6, 0), "nearest": (1, 0, 0)}
    store = store_of(rows, tmp_path, encoder=Encoder(Words(words)))
    assert store.captions is not None and store.captions.vectors.shape == (3, 3)  # one vector a distinct text
    found = find(store, ODD, {"time": "night"}, np.array([1, 0, 0], dtype=np.float32))
    assert [store.fetch([r])[0].id for r in found.rows] == ["b", "d", "a", "c"]
    assert found.similarity is not None
    assert found.similarity.tolist() == pytest.approx([0.8, 0.8, 0.0, 1.0], abs=1e-3)
    assert [store.fetch([r])[0].id for r in find(store, ODD, {"time": "night"}).rows] == ["a", "b", "d", "c"]
    assert store_of(rows, tmp_path).digest != store.digest  # what orders otherwise is another store


def test_a_row_without_a_caption_is_like_no_slice(tmp_path):
    store = store_of(
        [{"id": "a", "time": "night"}, {"id": "b", "time": "night", "caption": "x"}], tmp_path, encoder=Encoder(Words({"": (1, 0, 0)}))
    )
    found = find(store, ODD, {"time": "night"}, np.array([1, 0, 0], dtype=np.float32))
    assert found.similarity is not None and found.similarity.tolist() == [0.0, 0.0]


def test_names_of_an_own_odd_may_hold_quotes(tmp_path):
    odd = infer_odd({'a "b"': ["x'y", "z"]})
    store = build_datastore(read_manifest(b'path,"a ""b"""\na.jpg,x\'y\n', "m.csv", odd=odd), tmp_path / "it's")
    assert store.inventory() == {'a "b"': {"x'y": 1}}
    assert find(store, odd, {'a "b"': "x'y"}).matching == 1


def test_the_text_of_a_slice_is_that_of_the_scorer():
    assert slice_words({"weather_visibility": "foggy", "time": "night"}) == "weather visibility: foggy, time: night"


def picked(rows, count, tmp_path, requested=None):
    store = store_of(rows, tmp_path)
    found = find(store, ODD, requested or {"time": "night", "environment": "highway"})
    chosen = spread(found, store.group, count)
    return [store.fetch([found.rows[i]])[0].id for i in chosen.at], chosen.passed_over


def test_one_of_each_source_comes_before_a_second_of_any(tmp_path):
    full = {"time": "night", "environment": "highway"}
    rows = [{"id": f"{i}", "group": g, **full} for i, g in enumerate(["v1", "v1", "v1", "v2", "", ""])]
    assert picked(rows, 2, tmp_path) == (["0", "3"], 2)
    assert picked(rows, 4, tmp_path) == (["0", "3", "4", "5"], 2)
    assert picked(rows, 5, tmp_path) == (["0", "1", "3", "4", "5"], 1)
    assert picked(rows, 9, tmp_path) == (["0", "1", "2", "3", "4", "5"], 0)


def test_near_misses_only_fill_what_is_left_and_the_better_ones_first(tmp_path):
    rows = [
        {"id": "a", "group": "v", "time": "night", "environment": "highway"},
        {"id": "b", "group": "v", "time": "night"},
        {"id": "c", "group": "v", "time": "night", "environment": "tunnel"},
        {"id": "d", "group": "w", "time": "night", "environment": "city_downtown"},
        {"id": "e", "group": "w", "time": "day", "environment": "city_downtown"},
        {"id": "f"},
    ]
    assert picked(rows, 1, tmp_path)[0] == ["a"]
    assert picked(rows, 3, tmp_path)[0] == ["a", "b", "c"]  # tunnel is a child of highway, so it may be one
    assert picked(rows, 9, tmp_path)[0] == ["a", "b", "c", "d"]  # nothing of e or f matches


def test_what_contradicts_too_often_is_no_near_miss(tmp_path):
    asked = {"time": "night", "environment": "highway", "road_condition": "wet", "traffic_type": "dense"}
    rows = [{"id": "a", **asked, "time": "day", "environment": "tunnel", "road_condition": "dry", "traffic_type": "sparse"}]
    rows += [{"id": "b", **asked, "time": "day", "road_condition": "dry", "traffic_type": "sparse"}, {"id": "c", **asked, "time": "day"}]
    assert NEAR == 2
    assert picked(rows, 3, tmp_path, asked)[0] == ["c"]


def test_an_empty_pool_of_columns_is_still_a_store(tmp_path):
    store = store_of([{"id": "1", "path": "a.jpg"}], tmp_path)
    found = find(store, ODD, {"time": "night"})
    assert (found.rows.tolist(), found.matches.tolist(), found.mismatches.tolist(), found.matching) == ([0], [0], [0], 0)
    assert spread(found, store.group, 3).at == ()


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a.jpg", True),
        ("sub/a.jpg", True),
        ("../a.jpg", False),
        ("/etc/passwd", False),
        ("sub/../../a.jpg", False),
        ("https://x/a.jpg", False),
        ("", False),
    ],
)
def test_media_are_only_read_below_their_folder(tmp_path, path, inside):
    root = tmp_path / "root"
    root.mkdir()
    store = store_of([{"id": "1", "path": path or "x"}], tmp_path / "stores", root=root)
    assert (store.media(path) is not None) == inside
    assert store_of([{"id": "1", "path": "x"}], tmp_path / "stores").media(path) is None  # not known where paths start


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.jpg").write_bytes(b"x")
    (root / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    assert store_of([{"id": "1", "path": "link.jpg"}], tmp_path / "stores", root=root).media("link.jpg") is None
