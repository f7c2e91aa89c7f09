from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.acquisition.candidates import Candidate
from core.digest import sha256_bytes
from core.errors import InputError
from core.odd import built_in
from core.operators import acquire, bundle_jsonl, open_footage, read_acquired, read_manifest, read_slices, retrieval_jsonl, unfilled_jsonl
from core.operators.acquire import COUNTED
from core.operators.footage import build_datastore
from core.settings import Settings
from core.similarity.encoder import installed
from core.storage import open_store

ODD = built_in()
NIGHT = {"time": "night", "environment": "highway"}
HAZARD = NIGHT | {"question_category": "hazard_assessment"}


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / "home")})


@pytest.fixture
def footage(tmp_path):
    """Makes a datastore of CSV text, with a file for each path that names content."""

    def make(text, **content):
        root = tmp_path / "footage"
        root.mkdir(exist_ok=True)
        for name, data in content.items():
            (root / f"{name}.jpg").write_bytes(data)
        return build_datastore(read_manifest(text.encode(), "m.csv"), tmp_path / "stores", root=root)

    return make


def look(settings, datastore, slices, **k):
    k = {"source": "datastore", "per_slice": 1} | k
    return acquire(ODD, slices, datastore, settings=settings, media=settings.media, **k)


def test_a_match_becomes_a_candidate_and_an_item_with_a_template_question(settings, footage):
    store = footage("id,path,time,environment,group,licence\n1,a.jpg,night,highway,v,MIT\n2,b.jpg,day,highway,v,MIT\n", a=b"A", b=b"B")
    found = look(settings, store, [HAZARD])
    (c,), (item,) = found.candidates, found.items
    assert (c.path, c.verdict, c.matches, c.qa_origin, c.qa_type, c.licence) == ("a.jpg", "valid", 3, "template", "MCQ", "MIT")
    assert c.realised == HAZARD
    assert c.media_sha256 == sha256_bytes(b"A")
    assert (item.id, item.images, item.root, item.image_sha256) == (c.id, ("a.jpg",), str(store.root), (c.media_sha256,))
    assert (item.question, item.answer, item.verdict, item.realised) == (c.question, c.answer, "valid", HAZARD)
    assert found.unfilled == ()
    assert tuple(found.counts) == COUNTED
    assert found.manifest["captions"].startswith("not compared: the datastore was imported without")


def test_a_question_of_the_data_set_keeps_its_own_and_its_category(settings, footage):
    text = "id,path,time,environment,question,options,answer,question_category\n"
    own = f"{text}1,a.jpg,night,highway,Q?,Yes | No,No,hazard_assessment\n2,b.jpg,night,highway,R?,,free text,\n"
    found = look(settings, footage(own, a=b"A", b=b"B"), [HAZARD], per_slice=2)
    first, second = found.candidates
    assert (first.question, first.options, first.answer, first.qa_origin, first.verdict) == ("Q?", ("Yes", "No"), "B", "dataset", "valid")
    assert (second.question, second.answer, second.qa_type, second.verdict) == ("R?", "free text", "VQA", "partial")
    assert second.fidelity["question_category"] == "missing"
    assert second.realised is None
    assert (found.counts["uncategorised"], found.counts["items"]) == (1, 2)
    assert (found.unfilled[0]["valid"], found.unfilled[0]["lacking"]) == (1, 1)


def test_near_misses_are_kept_and_told_apart_and_never_fill_a_slice(settings, footage):
    store = footage("id,path,time,environment\n1,a.jpg,night,\n2,b.jpg,night,tunnel\n3,c.jpg,night,city_downtown\n", a=b"A", b=b"B", c=b"C")
    found = look(settings, store, [NIGHT], per_slice=3)
    assert [(c.path, c.verdict) for c in found.candidates] == [("a.jpg", "partial"), ("b.jpg", "partial"), ("c.jpg", "invalid")]
    assert [c.fidelity["environment"] for c in found.candidates] == ["missing", "ambiguous", "mismatch"]
    assert found.unfilled == (
        {
            "slice": NIGHT, "rank": 1, "wanted": 3, "valid": 0, "lacking": 3,
            "reason": "no row matches; the best match 1 of 2 dimensions.",
        },
    )  # fmt: skip


def test_what_is_not_asked_for_does_not_count(settings, footage):
    store = footage("id,path,time,environment,road_users_present,traffic_type\n1,a.jpg,night,highway,pedestrians,\n", a=b"A")
    (c,) = look(settings, store, [HAZARD]).candidates
    assert (c.verdict, set(c.tags)) == ("valid", set(HAZARD))


def test_a_slice_that_leaves_road_users_open_is_met_by_silence_only(settings, footage):
    store = footage("id,path,time,road_users_present\n1,a.jpg,night,\n2,b.jpg,night,pedestrians\n", a=b"A", b=b"B")
    asked = {"time": "night", "road_users_present": "unspecified"}
    first, second = look(settings, store, [asked], per_slice=2).candidates
    assert (first.path, first.verdict, first.realised) == ("a.jpg", "valid", asked)
    assert (second.path, second.verdict, second.realised) == ("b.jpg", "partial", {"time": "night", "road_users_present": "pedestrians"})


def test_media_that_are_gone_or_changed_make_no_item_and_fill_nothing(settings, footage):
    store = footage(f"id,path,time,sha256\n1,gone.jpg,night,\n2,new.jpg,night,{sha256_bytes(b'old')}\n3,../up.jpg,night,\n", new=b"new")
    found = look(settings, store, [{"time": "night"}], per_slice=3)
    assert (len(found.candidates), found.items) == (3, ())
    assert (found.counts["no_media"], found.counts["media_changed"]) == (2, 1)
    assert found.unfilled[0]["reason"] == "3 rows match, 3 of them without a question or without their media on this machine."


def test_media_at_an_address_are_shown_but_fill_nothing_since_they_are_not_fetched(settings, footage):
    found = look(settings, footage("id,url,time\n1,https://example.org/a.jpg,night\n"), [{"time": "night"}])
    assert ([c.path for c in found.candidates], found.items) == (["https://example.org/a.jpg"], ())
    assert (found.counts["no_media"], found.counts["unfilled"]) == (1, 1)


def test_clips_are_folders_or_lists_and_give_frames_in_order(settings, footage, tmp_path):
    clip = tmp_path / "footage" / "clip"
    clip.mkdir(parents=True)
    for i in range(12):
        (clip / f"{i}.jpg").write_bytes(bytes([i]))
    text = 'id,path,time\n1,clip,night\n2,"[""a.jpg"", ""clip/3.jpg""]",night\n3,"[""a.jpg"", ""gone.jpg""]",night\n'
    found = look(settings, footage(text, a=b"A"), [{"time": "night"}], per_slice=3)
    whole, listed = found.items
    assert (len(whole.images), whole.images[0], whole.images[-1]) == (8, "clip/0.jpg", "clip/11.jpg")
    assert [sha256_bytes(bytes([int(Path(p).stem)])) for p in whole.images] == list(whole.image_sha256)
    assert listed.images == ("a.jpg", "clip/3.jpg")
    assert found.counts["no_media"] == 1
    assert len({c.media_sha256 for c in found.candidates[:2]}) == 2
    (tmp_path / "elsewhere.jpg").write_bytes(b"E")
    (clip / "1.jpg").unlink()
    (clip / "99.jpg").symlink_to(tmp_path / "elsewhere.jpg")
    assert look(settings, footage(text, a=b"A"), [{"time": "night"}]).counts["no_media"] == 1  # the last frame leads out of the folder


def test_copies_and_rows_of_one_video_give_way(settings, footage):
    text = "id,path,time,group\n1,a.jpg,night,v\n2,b.jpg,night,v\n3,c.jpg,night,w\n4,a.jpg,night,w\n"
    found = look(settings, footage(text, a=b"A", b=b"B", c=b"C"), [{"time": "night"}], per_slice=2)
    assert [c.path for c in found.candidates] == ["a.jpg", "c.jpg"]
    assert (found.counts["copies"], found.counts["passed_over"]) == (1, 1)


def test_derived_tags_say_by_which_rule(settings, tmp_path):
    record = {"name": "a.jpg", "attributes": {"weather": "foggy", "scene": "highway", "timeofday": "night"}}
    store = build_datastore(read_manifest(json.dumps([record]).encode(), "labels.json"), tmp_path / "stores", root=tmp_path)
    (c,) = look(settings, store, [NIGHT]).candidates
    assert c.made_by == {"derived": {"time": "bdd_time", "environment": "bdd_scene"}}


def test_files_are_the_same_bytes_and_read_back(settings, footage):
    text = "id,path,time,environment,caption\n1,a.jpg,night,highway|tunnel,é\n2,b.jpg,night,,\n"
    store = footage(text, a=b"A", b=b"B")
    found, again = (look(settings, store, [NIGHT, {"time": "day"}], per_slice=2) for _ in range(2))
    files = retrieval_jsonl(found), bundle_jsonl(found), unfilled_jsonl(found)
    assert files == (retrieval_jsonl(again), bundle_jsonl(again), unfilled_jsonl(again))
    assert not any(str(store.root).encode() in f for f in files)
    back = read_acquired(*files, datastore=store, media=settings.media)
    assert (back.candidates, back.items, back.unfilled) == (found.candidates, found.items, found.unfilled)
    assert [i.root for i in back.items] == [i.root for i in found.items]
    assert all("realised" in json.loads(line) for line in files[0].splitlines())


def test_files_that_are_none_are_refused():
    with pytest.raises(InputError):
        read_acquired(b'{"id": 1}\n', b"")
    with pytest.raises(InputError):
        read_acquired(b"no json\n", b"")


def test_an_absolute_path_below_the_root_is_written_relative(settings, footage, tmp_path):
    root = tmp_path / "footage"
    found = look(settings, footage(f"id,path,time\n1,{root}/a.jpg,night\n", a=b"A"), [{"time": "night"}])
    assert (found.candidates[0].path, found.items[0].images) == ("a.jpg", ("a.jpg",))


def test_without_footage_or_endpoint_every_slice_says_so(settings):
    for source, word in (("datastore", "no footage"), ("datastore_then_synthesis", "no endpoint"), ("synthesis", "no endpoint")):
        found = look(settings, None, [NIGHT], source=source)
        assert (found.candidates, len(found.unfilled)) == ((), 1)
        assert word in found.unfilled[0]["reason"]


def test_no_slices_give_nothing(settings, footage):
    found = look(settings, footage("id,path\n1,a.jpg\n", a=b"A"), [])
    assert (found.candidates, found.items, found.unfilled, found.counts["slices"]) == ((), (), (), 0)


def test_all_that_is_wrong_with_slices_is_told_at_once(settings):
    with pytest.raises(InputError) as e:
        look(settings, None, [{"time": "noon"}, {"colour": "red"}, {}], per_slice=0, source="thin air")
    assert [(p.row, p.column) for p in e.value.problems] == [
        (None, "source"),
        (None, "samples per slice"),
        (1, "time"),
        (2, "colour"),
        (3, "slice"),
    ]


def test_progress_is_told_and_a_stop_leaves_the_rest_unfilled(settings, footage):
    store, seen = footage("id,path,time\n1,a.jpg,night\n", a=b"A"), []
    found = look(
        settings, store, [{"time": "night"}] * 3, progress=lambda done, total: seen.append((done, total)), cancel=lambda: len(seen) == 1
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert len(found.candidates) == 1
    assert [u["reason"] for u in found.unfilled] == ["it was stopped."] * 2


def test_what_was_made_before_is_taken_again(settings):
    made = Candidate("m", "synthetic", "x.png", NIGHT, {"time": ("night",), "environment": ("highway",)}, {}, "partial", 0, question="Q?")
    found = look(settings, None, [NIGHT], source="datastore_then_synthesis", made=[made, replace(made, requested={"time": "day"})])
    assert found.candidates == (made,)
    assert (found.items[0].images, found.items[0].root, found.items[0].source) == (("x.png",), str(settings.media), "synthetic")
    assert (found.unfilled, found.counts["made"]) == ((), 1)


def test_images_are_made_for_what_lacks_and_are_not_verified(settings, footage):
    stub = pytest.importorskip("tests.stub_llm", reason="the stub server needs aiohttp")
    with stub.StubServer([stub.image(), stub.error(400, "no such picture")]) as server:
        store = footage("id,path,time,environment\n1,a.jpg,night,highway\n", a=b"A")
        found = look(
            settings,
            store,
            [NIGHT, HAZARD | {"time": "day"}, {"time": "dawn"}],
            source="datastore_then_synthesis",
            images=server.endpoint(),
        )
    assert [(c.source, c.verdict) for c in found.candidates if c.source == "synthetic"] == [("synthetic", "partial")]
    made = found.candidates[-1]
    assert not Path(made.path).is_absolute()
    assert (settings.media / made.path).is_file()
    assert made.fidelity == {"time": "ambiguous", "environment": "ambiguous", "question_category": "match"}
    assert [u["rank"] for u in found.unfilled] == [3]
    assert "an image could not be made" in found.unfilled[0]["reason"]


@pytest.mark.encoder
def test_captions_are_compared_where_they_were_encoded(settings, tmp_path):
    if not installed():
        pytest.skip("sentence-transformers is not installed")
    from core.operators import import_manifest

    path = tmp_path / "m.csv"
    path.write_text("id,path,time,caption\n1,a.jpg,night,A bowl of soup on a table.\n2,b.jpg,night,A highway at night in dense fog.\n")
    store = open_store(settings)
    saved = import_manifest(store, path, captions=settings)
    opened = open_footage(store, saved.name)
    store.close()
    found = look(settings, opened, [{"time": "night", "weather_visibility": "foggy", "environment": "highway"}], per_slice=2)
    assert [c.path for c in found.candidates] == ["b.jpg", "a.jpg"]
    first, second = (c.similarity for c in found.candidates)
    assert first is not None and second is not None and first > second + 0.3
    assert found.manifest["captions"].startswith("compared by sentence-transformers/all-MiniLM-L6-v2")


def test_slices_are_read_from_a_ranking_or_any_table():
    text = b"rank,slice_id,time,Environment,score\n1,7,night,highway,0.5\n2,8,NIGHT,motorway,0.4\n3,9,,tunnel,0.1\n4,10,,,\n"
    slices, notes = read_slices(text, ODD, "ranking.csv")
    assert slices == [{"time": "night", "environment": "highway"}, {"environment": "tunnel"}]
    assert any(n.startswith("2 rows") for n in notes)
    with pytest.raises(InputError) as e:
        read_slices(b"time\nnihgt\nday\nnoonish\n", ODD)
    assert [(p.row, p.suggestion) for p in e.value.problems] == [(1, "night"), (3, "day")]
    with pytest.raises(InputError, match="no column of a dimension"):
        read_slices(b"a,b\n1,2\n", ODD)


def test_the_same_image_made_again_is_no_second_sample(settings):
    stub = pytest.importorskip("tests.stub_llm", reason="the stub server needs aiohttp")
    with stub.StubServer(lambda _: stub.image()) as server:
        found = look(settings, None, [NIGHT], source="synthesis", per_slice=3, images=server.endpoint())
    assert len({c.id for c in found.candidates}) == len(found.candidates) == len(found.items) == 1
    assert (found.candidates[0].verdict, found.candidates[0].synthetic, found.counts["valid"]) == ("partial", True, 0)
    assert found.unfilled[0]["lacking"] == 2
    assert found.unfilled[0]["reason"] == "images were to be made; the server made the same image again, so there are 1."


def test_an_image_without_a_question_fills_no_place(settings):
    stub = pytest.importorskip("tests.stub_llm", reason="the stub server needs aiohttp")
    asked = {"time": "night", "question_category": "ego_action_reasoning"}  # no template asks for an action at night alone
    with stub.StubServer(lambda _: stub.image()) as server:
        found = look(settings, None, [asked], source="synthesis", images=server.endpoint())
    assert (len(found.candidates), found.items, found.counts["no_question"]) == (1, (), 1)
    assert (found.unfilled[0]["lacking"], found.unfilled[0]["reason"]) == (
        1,
        "images were to be made; no question can be asked of images of it.",
    )
