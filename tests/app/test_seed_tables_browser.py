"""An import in a real browser: real results, a nasty file, the editable tables, a lost connection, two tabs."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from core import operators
from core.settings import Settings
from core.storage import open_store

pytestmark = pytest.mark.browser
UNIAD = Path(__file__).parents[3] / "shared" / "data" / "bench2drive" / "uniad_base_routes.csv"
NASTY = "nasty.csv"
DIMS = ("time", "precipitation", "fog", "road_surface", "sky")


def store_of(server):
    return open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)}))


def nasty() -> tuple[bytes, int]:
    """BOM, semicolons, decimal commas, slips in values, NA, bad scores; and the number of rows that are fine as they are."""
    with operators.DEMO_TABLE.open(newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["model"] == "model-a"][:400]
    names = [n for n in rows[0] if n not in ("model", "n")]
    for r in rows:
        r["score"] = f"{float(r['score']):.3f}".replace(".", ",")
    time = next(n for n in names if n.startswith("time"))
    for r, text in zip(rows[:6], ["dayy", "dayy", "nigth", "NA", "", "purple haze"], strict=True):
        r[time] = text
    for r, text in zip(rows[6:10], ["1,2", "-0,1", "abc", ""], strict=True):
        r["score"] = text
    lines = [";".join(names), *(";".join(r[n] for n in names) for r in rows)]
    return ("\ufeff" + "\r\n".join(lines) + "\r\n").encode(), len(rows) - 10


def upload(tab, server, name, data):
    page = tab.open(f"{server.url}/seed_tables")
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})
    page.wait_for_url("**draft=*")
    page.get_by_text("4 Rows that need a decision").wait_for()
    tab.settle()
    return page


def save_button(page):
    return page.get_by_role("button", name=re.compile(r"^Save [\d,]+ rows"))


def click(tab, locator):
    locator.click()
    tab.page.wait_for_timeout(400)
    tab.settle()


def cell(page, grid, column, row):
    """Click a cell of an editable table; x in px from its left edge, rows are 34 px high below a header of 35."""
    box = page.locator("[data-testid='stDataFrame']").nth(grid).bounding_box()
    page.mouse.click(box["x"] + column, box["y"] + 35 + 34 * row + 17)
    page.wait_for_timeout(500)


def test_a_real_result_file_goes_from_upload_to_a_ranking(fresh_server, tab):
    if not UNIAD.is_file():
        pytest.skip("the public data file bench2drive/uniad_base_routes.csv is not on this machine")
    server = fresh_server()
    page = upload(tab, server, UNIAD.name, UNIAD.read_bytes())
    dims = page.locator("[data-testid='stMultiSelect']", has_text="Columns that are dimensions")
    assert page.get_by_role("radio", name="Infer from table").is_checked()  # it does not fit the built-in ODD
    for wanted in DIMS:
        if dims.locator("[data-tag]", has_text=re.compile(f"^{wanted}$")).count() == 0:
            dims.locator("input").fill(wanted)
            page.get_by_role("option", name=wanted, exact=True).click()
            tab.settle()
    for _ in range(30):  # a first click on a tag that is half scrolled out of the box only brings it into view
        extra = [t for t in map(str.strip, dims.locator("[data-tag]").all_inner_texts()) if t not in DIMS]
        if not extra:
            break
        click(tab, dims.get_by_role("button", name=f"Remove {extra[0]}", exact=True, include_hidden=True))
    assert sorted(t.strip() for t in dims.locator("[data-tag]").all_inner_texts()) == sorted(DIMS)
    assert page.locator(".od-head").inner_text() == "218 rows read, none needs a decision, and every declared value has rows."
    tab.check()
    click(tab, save_button(page))
    page.get_by_text("1 table is kept").wait_for()
    assert "uniad_base_routes" in page.locator("[data-testid='stMain']").inner_text()
    page.goto(f"{server.url}/ranked_gaps?similarity=exact")
    tab.settle()
    assert page.locator("[data-testid='stException']").count() == 0
    assert page.locator(".od-head").inner_text().startswith("Test ")
    assert "58" in page.locator("[data-testid='stMain']").inner_text()
    (saved,) = store_of(server).tables.list()
    assert (saved.total, saved.name, saved.model) == (218, "uniad_base_routes", "UniAD-Base")


def test_a_nasty_file_is_decided_saved_and_the_counts_add_up(fresh_server, tab):
    server = fresh_server()
    data, fine = nasty()
    page = upload(tab, server, NASTY, data)
    main = page.locator("[data-testid='stMain']")
    head = page.locator(".od-head")
    assert "400 rows read, 10 need a decision" in head.inner_text()
    assert "semicolon" in main.inner_text()
    assert f"Save {fine} rows" in save_button(page).inner_text()
    assert "1 safe correction settles 2 of the 10 rows" in page.locator(".od-prov").inner_text()
    click(tab, page.get_by_role("button", name="Apply 1 checked"))
    page.get_by_role("button", name=f"Save {fine + 2} rows").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download 8 rejected rows").click()
    rejected = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [int(r["row"]) for r in rejected] == [3, 4, 5, 6, 7, 8, 9, 10]
    click(tab, save_button(page))
    page.get_by_text("1 table is kept").wait_for()
    store = store_of(server)
    (saved,) = store.tables.list()
    report = store.tables.provenance(saved.id).report
    assert saved.total == report["accepted"] == fine + 2
    assert report["accepted"] + report["rejected"] + report["other_models"] == report["rows"] == 400
    assert store.drafts.open() == ()
    tab.check()


def test_every_edit_of_the_table_of_decisions_stays(fresh_server, tab):
    server = fresh_server()
    page = upload(tab, server, NASTY, nasty()[0])
    grid = page.locator("[data-testid='stDataFrame']").count() - 1
    page.locator("[data-testid='stDataFrame']").nth(grid).scroll_into_view_if_needed()
    counts = []
    for row in (0, 1, 0, 1, 0):
        cell(page, grid, 24, row)
        tab.settle()
        counts.append(int(re.search(r"Apply (\d+)", page.get_by_role("button", name=re.compile("^Apply")).inner_text()).group(1)))
    assert counts == [0, 1, 2, 1, 0]
    (draft,) = store_of(server).drafts.open()
    assert len(draft.decisions["pending"]) == 1
    tab.check()


def test_a_closed_tab_loses_nothing_and_a_second_tab_overwrites_nothing(fresh_server, open_tab):
    server = fresh_server()
    first = open_tab()
    page = upload(first, server, NASTY, nasty()[0])
    click(first, page.get_by_role("button", name="Apply 1 checked"))
    name = page.get_by_label("Name of the table")
    name.fill("After the storm")
    name.press("Enter")
    page.wait_for_timeout(500)
    first.settle()
    url = page.url
    second = open_tab()
    other = second.open(url)
    assert other.get_by_label("Name of the table").input_value() == "After the storm"
    other.get_by_role("button", name="Save 392 rows").wait_for()
    name.fill("First tab")
    name.press("Enter")
    page.wait_for_timeout(500)
    first.settle()
    mine = other.get_by_label("Name of the table")
    mine.fill("Second tab")
    mine.press("Enter")
    other.get_by_text("was changed in another tab").first.wait_for()
    (draft,) = store_of(server).drafts.open()
    assert draft.decisions["name"] == "First tab"
    page.close()
    click(second, other.get_by_role("button", name="Load the newest version"))
    assert other.get_by_label("Name of the table").input_value() == "First tab"
    click(second, save_button(other))
    other.get_by_text("1 table is kept").wait_for()
    assert [t.name for t in store_of(server).tables.list()] == ["First tab"]
