"""The page of one slice without a browser: what it says, where it leads, and what it does without data."""

from __future__ import annotations

import re

import pytest

from core.operators import slices
from core.storage import NewJudgement
from tests.slice_units import small_set


@pytest.fixture
def saved(store, tmp_path):
    return slices.keep_detections(store, small_set(tmp_path / "images"))


def opened(app, **params):
    app.run()
    for name, value in params.items():
        app.query_params[name] = value
    app.switch_page("pages/slice.py").run()
    assert not app.exception
    return app


def text(app):
    return re.sub(r"<[^>]+>", " ", "\n".join(h.proto.body for h in app.get("html"))).replace("&#34;", '"')


def clicked(app, key):
    return app.button(key=key).click().run()


def test_without_detections_the_page_says_what_is_needed(app):
    said = text(opened(app))
    assert "No detections yet, so no slice." in said and "ground truth" in said


def test_the_finding_stands_in_the_headline_with_its_intervals(app, saved):
    said = text(opened(app, detections=saved.id, slice="iv_small"))
    assert re.search(r"Where the object is very small in the image,\s+\d+%\s+are missed, against\s+\d+%", said)
    assert re.search(r"In \d+% to \d+%, n = 180 in 60 images; out \d+% to \d+%, n = 180", said)
    assert "Synthetic demo data" in said and "score is geometric, not calibrated" in said
    assert re.search(r"as printed, W = 5: (no )?pass, (as|though) \d+% of random losses would", said)


def test_an_address_of_a_slice_that_is_not_there_is_said(app, saved):
    assert 'asks for the slice "gone"' in text(opened(app, detections=saved.id, slice="gone"))


def test_a_slice_without_scores_says_why(app, saved):
    said = text(opened(app, detections=saved.id, slice="iv_unusual_vehicle"))
    assert "not tested" in said and "vision model" in said


def test_one_can_walk_along_the_slices(app, saved):
    page = opened(app, detections=saved.id)
    first = page.query_params["slice"]
    clicked(page, "slice_next")
    second = page.query_params["slice"]
    assert first != second
    clicked(page, "slice_before")
    assert page.query_params["slice"] == first
    page.selectbox(key="slice_box").select("iv_small").run()
    assert page.query_params["slice"] == "iv_small" and not page.exception


@pytest.mark.parametrize("view", ["chance", "else", "others", "halves"])
@pytest.mark.parametrize("name", ["iv_small", "iv_dark", "iv_small_fp", "iv_small_loc"])
def test_every_view_behind_a_verdict_draws(app, saved, view, name):
    page = opened(app, detections=saved.id, slice=name)
    page.segmented_control(key="behind").set_value(view).run()
    assert not page.exception


def test_decisions_of_people_stand_on_the_page_and_can_be_taken_back(app, store, saved):
    slices.judge(store, saved.id, [NewJudgement("decide-0001", "iv_small", "", "accept", "It holds <b>up</b>", "Ann")])
    page = opened(app, detections=saved.id, slice="iv_small")
    said = text(page)
    assert "accepted by Ann" in said and "It holds &lt;b&gt;up&lt;/b&gt;" in said
    assert "decide_back" not in {b.key for b in page.button}  # somebody else sits there
    store.preferences.set("who.names", ["Ann"])
    del page.session_state["who"]
    page.run()
    clicked(page, "decide_back")
    assert slices.judgements(store, saved.id, "iv_small") == ()


def test_clicks_give_the_precision_of_the_matcher_with_its_interval(app, store, saved):
    report = slices.slice_report(store, saved.id)
    row = report.row("iv_small")
    inside = [report.units.ids[u] for u, c in zip(row.population.units, row.scores.c, strict=True) if c > 0.5][:8]
    said = [NewJudgement(f"click-{k:04d}", "iv_small", u, "reject" if k < 2 else "accept", who="Ann") for k, u in enumerate(inside)]
    slices.judge(store, saved.id, said)
    assert "Matcher precision 75% (41% to 93%, 6 of 8 judged crops in the slice fit)" in text(
        opened(app, detections=saved.id, slice="iv_small")
    )


def test_fifty_clicks_propose_a_gamma_that_can_be_used(app, store, saved):
    report = slices.slice_report(store, saved.id)
    row = report.row("iv_small")
    said = [
        NewJudgement(f"click-{k:04d}", "iv_small", report.units.ids[u], "accept" if c > 0.97 else "reject", who="Ann")
        for k, (u, c) in enumerate(zip(row.population.units[:120], row.scores.c[:120], strict=True))
    ]
    slices.judge(store, saved.id, said)
    page = opened(app, detections=saved.id, slice="iv_small")
    clicked(page, "use_gamma")
    assert 0.9 < float(page.query_params["gamma"]) < 0.98
    assert not page.exception


def onward(app, way):
    app.segmented_control(key="onward").set_value(way).run()
    assert not app.exception
    return app


def test_an_export_from_images_that_were_tested_is_refused_with_the_reason(app, saved):
    page = opened(app, detections=saved.id, slice="iv_small")
    assert "no image is left" in text(page)
    clicked(page, "repair_make")
    assert "Nothing was exported" in text(page) and not page.exception
    clicked(page, "repair_half")
    assert page.query_params["halves"] == "verification"


def test_the_other_half_is_exported_with_what_was_left_out(app, saved, workspace):
    page = opened(app, detections=saved.id, slice="iv_small", halves="verification")
    clicked(page, "repair_make")
    said = text(page)
    assert not page.exception and "sample_weights.csv" in said
    [folder] = (workspace / "exports").iterdir()
    assert (folder / "slice.json").is_file()
    assert folder.name in said


def test_a_slice_that_does_not_hold_up_is_not_handed_on(app, saved):
    page = onward(opened(app, detections=saved.id, slice="iv_dark"), "odd")
    assert "nobody accepted it" in text(page)


def test_a_value_is_proposed_and_saved_in_the_odd(app, store, saved):
    page = onward(opened(app, detections=saved.id, slice="iv_small"), "odd")
    assert "No value of the ODD is named in the statement" in text(page)
    clicked(page, "onward_save")
    said = text(page)
    assert "Saved as" in said and "there is none yet" in said
    [odd] = [o for o in store.odds.all() if any("error slice" in n for n in o.extras.get("notes", []))]
    assert "iv_small" in odd.extras["notes"][-1]


def test_a_campaign_is_planned_over_slices_with_the_value(app, store, saved):
    from core import operators

    table = operators.load_demo(store)[0]
    page = onward(opened(app, detections=saved.id, slice="iv_small", table=table.id), "odd")
    clicked(page, "onward_save")
    clicked(page, "onward_plan")
    assert not page.exception and "Open it on the page Ranked gaps" in text(page)
    [campaign] = store.campaigns.list()
    content = store.campaigns.load(campaign.id)
    assert campaign.table_id == table.id and len(content.slices) == campaign.slices > 0
    assert content.manifest["error_slice"]["hypothesis"] == "iv_small"
    assert {s.planned.values[content.manifest["error_slice"]["dimension"]] for s in content.slices} == {
        content.manifest["error_slice"]["value"]
    }


def test_without_cases_nothing_is_linked_and_the_page_says_why(app, saved):
    assert "No case of this workspace" in text(onward(opened(app, detections=saved.id, slice="iv_small"), "cases"))
