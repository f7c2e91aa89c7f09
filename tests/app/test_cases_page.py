"""The page "Cases" without a browser: what it says of a set, how it is narrowed, and what an import tells."""

from __future__ import annotations

import pytest

from pages.shared import case_import
from tests.apptest import open_page, text
from tests.threat_sets import threat_set


@pytest.fixture
def set_id(store):
    return threat_set(store, ())


def table(app):
    """The list of cases as it is shown."""
    return next(d.value for d in app.dataframe if "Scene" in d.value.columns)


def test_an_empty_workspace_offers_the_demo_and_an_import(workspace):
    app = open_page("cases")
    assert not app.exception
    assert "No case yet" in text(app)
    assert [b.label for b in app.button] == ["Load the demo cases", "Import"]


def test_the_headline_counts_what_is_far_from_the_expert(set_id):
    app = open_page("cases", cases=set_id)
    assert not app.exception
    # After 5 s planner a of scene i is 5 i m further on and i / 2 m to the left, b 5 m more; of 4 gold cases each is 5 m further on.
    assert "In 15 of 16 cases the planner is more than 3 m from the expert after 5 s; the farthest is b in s5, 30.1 m" in text(app)
    assert "16 cases of 10 scenes by 3 planners" in text(app)
    assert "Synthetic" in text(app)


def test_a_choice_narrows_the_list_and_says_how_many_it_leaves_out(set_id):
    app = open_page("cases", cases=set_id, planner="b")
    assert list(table(app)["Planner"]) == ["b"] * 6
    assert "6 of 16; 10 cases left out by the choices above" in text(app)
    app.multiselect(key="case_without").set_value(["open_future"]).run()
    assert list(table(app)["Scene"]) == ["s0", "s1", "s2", "s3", "s5"]


def test_nothing_left_is_said(set_id):
    app = open_page("cases", cases=set_id, planner="b", role="calibration")
    assert not app.exception
    assert "No case is left." in text(app)


def test_a_case_in_the_address_is_shown_without_its_known_answer(set_id):
    app = open_page("cases", cases=set_id, case="13")
    assert not app.exception
    assert "Scene calibration00, planner p" in text(app)
    assert "Why 0" not in text(app)
    assert "No camera: this case is told from above and by its speeds." in text(app)


def test_a_case_in_the_address_that_is_none_shows_the_first(set_id):
    for wanted in ("0", "99", "x"):
        app = open_page("cases", cases=set_id, case=wanted)
        assert not app.exception
        assert "Scene s0, planner a" in text(app)


def test_metrics_carry_n_and_say_why_numbers_lack(set_id):
    app = open_page("cases", cases=set_id, view="Metrics")
    assert not app.exception
    said = text(app)
    assert "FDE@5 s (expert), m lower is better" in said
    assert "n = 6" in said
    assert "No trajectory of this scene was rated." in said
    assert "Known for no case:" in said


def test_flags_that_are_left_out_keep_cases_from_being_labelled(store, set_id):
    from core.operators import labelling

    app = open_page("cases", cases=set_id)
    app.multiselect(key=f"left_out-{set_id}").set_value(["open_future"]).run()
    assert not app.exception
    assert labelling.left_out(store, set_id) == ("open_future",)
    assert labelling.progress(store, set_id).cases == 10


def test_a_set_whose_files_are_gone_is_told_and_others_can_be_chosen(store, set_id):
    import shutil

    shutil.rmtree(store.cases.get(set_id).folder)
    app = open_page("cases", cases=set_id)
    assert not app.exception
    assert "cannot be shown" in text(app)
    assert "are gone from the workspace" in text(app)


def test_the_report_of_an_import_counts_every_case(set_id):
    app = open_page("cases", cases=set_id, view="Sets and import")
    app.toggle(key=f"cases-report-{set_id}").set_value(True).run()
    assert not app.exception
    assert "Format jsonl: 16 accepted, 0 rejected, 0 resampled." in text(app)


def test_an_uploaded_file_becomes_a_set(workspace, store):
    app = open_page("cases")
    lines = ["scene_id,planner,t,x,y"]
    for who, speed in (("expert", 8), ("mine", 9)):
        lines += [f"s1,{who},{0.25 * k},{speed * 0.25 * k},0" for k in range(1, 21)]
    app.file_uploader(key=f"case_file-{case_import.FILE}").upload("points.csv", "\n".join(lines).encode(), "text/csv").run()
    next(b for b in app.button if b.label == "Import").click()
    app.run()
    assert not app.exception
    (made,) = store.cases.list()
    assert (made.name, made.cases) == ("points", 1)


def test_a_file_that_is_none_changes_nothing(workspace, store):
    app = open_page("cases")
    app.file_uploader(key=f"case_file-{case_import.FILE}").upload("x.bin", b"\x00\x01", "application/octet-stream").run()
    next(b for b in app.button if b.label == "Import").click()
    app.run()
    assert not app.exception
    assert "Nothing was imported." in text(app)
    assert store.cases.list() == ()


@pytest.mark.parametrize("name", ["../x.csv", "/etc/x.csv", "a/../../x.csv", ""])
def test_an_uploaded_path_never_leaves_its_folder(tmp_path, name):
    from core.errors import InputError

    with pytest.raises(InputError):
        case_import._write(tmp_path, [(name, b"x"), ("a.csv", b"y")], folder=True)


def test_a_folder_is_put_down_as_it_was(tmp_path):
    found = case_import._write(tmp_path, [("set/cases.jsonl", b"x"), ("set/images/a.jpg", b"y")], folder=True)
    assert found == tmp_path / "set"
    assert (found / "images" / "a.jpg").read_bytes() == b"y"


def test_every_flag_says_what_it_holds_and_where_its_rule_cannot_tell(set_id):
    said = text(open_page("cases", cases=set_id))
    # s4 of both planners came with the flag; nobody rated anything, and one case of each planner has a camera with parameters.
    assert "open future People accepted futures that lie apart. 2 0 14" in said
    assert "bad calibration A camera&#39;s parameters cannot be right. 0 2 14" in said


def test_cells_without_a_number_say_why(store):
    from core.trajectories.case import RatedTrajectory
    from tests.cases import case, straight
    from tests.labels.desk import keep

    short = {"expert": straight(8.0, n=12), "planner": straight(10.0, n=12)}
    rated = {"rated": (RatedTrajectory(straight(), 8.0),)}
    set_id = keep(store, [case("s0-p", **rated), case("s1-p"), case("s2-p", **short)])
    app = open_page("cases", cases=set_id)
    shown = table(app)
    assert shown["FDE@3 s (expert)"].notna().tolist() == [True] * 3
    assert shown["FDE@5 s (expert)"].notna().tolist() == [True, True, False]
    assert app.dataframe[0].proto.placeholder == "–"
    said = text(app)
    assert "– : no number." in said
    assert "RFS of 2 cases: No trajectory of this scene was rated." in said


def test_shorter_cases_are_told_at_their_own_horizon(store):
    from tests.cases import case, straight
    from tests.labels.desk import keep

    set_id = keep(store, [case("a-very-long-name-of-a-scene-p", expert=straight(8.0, n=12), planner=straight(10.0, n=12))])
    app = open_page("cases", cases=set_id)
    assert not app.exception
    assert "In 1 of 1 case the planner is more than 3 m from the expert after 3 s; the farthest is p in a-very-long-name…, 6.0 m" in text(
        app
    )
    assert "Without a distance at 3 s: 0." in text(app)
