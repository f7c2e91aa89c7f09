"""The Ranked gaps page in a real browser: clicks on the map and the table, links, downloads, widths and themes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from core import operators
from core.settings import Settings
from core.storage import open_store
from tests.conftest import start_server, stop_server

pytestmark = pytest.mark.browser
REAL = Path(__file__).parents[3] / "shared" / "data" / "bench2drive" / "uniad_base_routes.csv"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of this file's own: its tests save tables, and that of the session stays empty for the tests of empty pages."""
    running = start_server(tmp_path_factory.mktemp("server"))
    yield running
    stop_server(running)


def workspace_of(server):
    return open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)}))


@pytest.fixture(scope="module")
def demo(server) -> str:
    store = workspace_of(server)
    try:
        return operators.load_demo(store)[0].id
    finally:
        store.close()


@pytest.fixture(scope="module")
def bench2drive(server) -> str:
    if not REAL.is_file():
        pytest.skip("the public data file uniad_base_routes.csv is not on this machine")
    dims = ["time", "precipitation", "fog", "road_surface", "sky"]
    prepared = operators.prepare(operators.open_table(REAL), None, dims=dims, overrides={"score": "score"})
    store = workspace_of(server)
    try:
        return operators.save_table(store, store.tables.free_name("UniAD"), prepared, operators.check(prepared)).id
    finally:
        store.close()


def why(page) -> str:
    return page.locator(".st-key-why .od-h").first.inner_text().replace("\n", " ")


def click_cell(page, row: str, column: str) -> None:
    """Click a cell of the heat map, known by the label that a screen reader is given."""
    page.locator(f"path[aria-label*='weather visibility: {row}; environment: {column}']").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 900])
def test_the_full_page_fits_every_window(server, open_tab, demo, width, theme):
    tab = open_tab(width=width, theme=theme)
    page = tab.open(f"{server.url}/ranked_gaps?table={demo}")
    page.locator(".st-key-profile svg.marks").nth(7).wait_for()
    assert "Synthetic demo data" in page.locator(".od-eyebrow").inner_text()
    tab.check()


def test_a_click_on_the_map_filters_and_a_second_one_frees(server, tab, demo):
    page = tab.open(f"{server.url}/ranked_gaps?table={demo}")
    click_cell(page, "foggy", "construction")
    page.wait_for_url("**w_weather_visibility=foggy**")
    tab.settle()
    assert "w_environment=construction" in page.url
    assert "(fixed: weather visibility: foggy, environment: construction)" in page.locator(".od-prov").inner_text()
    assert why(page).startswith("Why this one rank 1 of 2")
    click_cell(page, "foggy", "construction")
    page.wait_for_url(lambda u: "w_" not in u)
    tab.settle()
    assert why(page) == "Why this one rank 1 of 3,540"
    tab.check()


def test_a_selected_row_is_explained_and_its_link_shows_it_again(server, open_tab, demo):
    tab = open_tab()
    page = tab.open(f"{server.url}/ranked_gaps?table={demo}")
    box = page.locator("[data-testid='stDataFrame']").first.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 37 + 33 * 4.5)
    page.wait_for_url("**rank=5**")
    tab.settle()
    assert why(page) == "Why this one rank 5 of 3,540"
    shown = page.locator(".st-key-why").inner_text()
    other = open_tab()
    again = other.open(page.url)
    assert why(again) == "Why this one rank 5 of 3,540"
    assert again.locator(".st-key-why").inner_text() == shown
    other.check()


def test_a_link_opened_on_a_fresh_server_shows_its_view(fresh_server, tab):
    server = fresh_server()
    store = workspace_of(server)
    table = operators.load_demo(store)[0].id
    store.close()
    page = tab.open(f"{server.url}/ranked_gaps?table={table}&similarity=exact&top=50&w_time=night&kappa=0.5&rank=3")
    assert "(fixed: time: night)" in page.locator(".od-prov").inner_text()
    assert why(page).startswith("Why this one rank 3 of 1,8")
    assert "50 of 1,8" in page.get_by_role("heading", name="Top 50").inner_text()
    assert page.get_by_role("button", name="Scoring (1)").is_visible()
    assert page.get_by_role("button", name="Fixed values (1)").is_visible()
    tab.check()


def test_the_downloads_hold_the_rows_that_are_shown(server, tab, demo, tmp_path):
    page = tab.open(f"{server.url}/ranked_gaps?table={demo}")
    page.get_by_role("button", name="Download", exact=True).click()
    files = {}
    for label in ("CSV", "Manifest of the CSV", "JSON, with explanations", "Parquet"):
        with page.expect_download() as download:
            page.get_by_role("button", name=label, exact=True).click()
        files[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[label])
    rows = list(csv.DictReader(files["CSV"].read_text(encoding="utf-8").splitlines()))
    assert [r["rank"] for r in rows] == [str(i) for i in range(1, 21)]
    manifest = json.loads(files["Manifest of the CSV"].read_text(encoding="utf-8"))
    document = json.loads(files["JSON, with explanations"].read_text(encoding="utf-8"))
    assert document["manifest"] == manifest
    assert [str(i["slice_id"]) for i in document["items"]] == [r["slice_id"] for r in rows]
    assert len(manifest["odd"]["sha256"]) == len(manifest["input"]["sha256"]) == 64
    assert files["Parquet"].read_bytes()[:4] == b"PAR1"
    tab.check()


def test_a_real_result_file_is_ranked(server, tab, bench2drive):
    page = tab.open(f"{server.url}/ranked_gaps?table={bench2drive}&similarity=exact&top=100")
    assert "58 missing of 72 slices" in page.locator(".od-prov").inner_text()
    assert "58 of 58 missing slices shown" in page.get_by_role("heading", name="Top 58").inner_text()
    assert page.locator(".od-synthetic").count() == 0
    tab.check()


def test_the_empty_page_offers_the_sample(fresh_server, tab):
    page = tab.open(f"{fresh_server().url}/ranked_gaps")
    assert page.locator(".od-head").inner_text().startswith("No table yet, so nothing can be ranked.")
    page.get_by_role("button", name="Try the sample table").click()
    page.get_by_text("Why this one").wait_for()
    tab.settle()
    assert "Exact over 3,540 missing of 3,840 slices" in page.locator(".od-prov").inner_text()
    tab.check()
