"""The way from a file to ranked gaps in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest

from tests.conftest import Server, Tab

pytestmark = pytest.mark.browser
ROUTES = Path(__file__).parents[2].parent / "shared" / "data" / "bench2drive" / "uniad_base_routes.csv"
NASTY = (
    "\ufeffweather visibility;sky_conditions;time;environment;road_condition;road_type;traffic_type;question_category;score\n"
    + "\n".join(
        f"{w};cloudy;night;{e};wet;intersection;dense;hazard_assessment;{s}"
        for w, e, s in [
            ("fogy", "highway", "0,5"),
            ("rain", "highway", "1"),
            ("foggy", "lunar base", "0"),
            ("foggy", "highway", "7"),
            ("snow", "urban", "0,25"),
        ]
    )
)


def draft_of(tab: Tab) -> str:
    return parse_qs(urlparse(tab.page.url).query)["draft"][0]


def upload(tab: Tab, url: str, name: str, data: bytes) -> None:
    tab.open(f"{url}/seed_tables")
    tab.page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})
    tab.page.get_by_text("3 Columns").wait_for(timeout=30_000)
    tab.settle()


def test_a_real_result_file_goes_through_the_pages(fresh_server: Callable[..., Server], tab: Tab) -> None:
    if not ROUTES.is_file():
        pytest.skip("the public file of route results is not on this machine")
    url = fresh_server().url
    upload(tab, url, ROUTES.name, ROUTES.read_bytes())
    tab.page.get_by_role("radio", name="Infer from table").click()
    tab.page.get_by_text("Columns that are dimensions").wait_for(timeout=30_000)
    tab.settle()
    wanted = ["fog", "precipitation", "road_surface", "sky", "time"]
    for extra in tab.page.locator("[data-tag]").all_inner_texts():
        if extra.strip() not in wanted:
            tab.page.get_by_role("button", name=f"Remove {extra.strip()}").click()
            tab.settle()
    assert sorted(x.strip() for x in tab.page.locator("[data-tag]").all_inner_texts()) == wanted
    tab.page.get_by_role("button", name="Save 218 rows").click()
    tab.page.get_by_text("Saved tables").wait_for(timeout=30_000)
    tab.settle()
    tab.open(f"{url}/ranked_gaps?similarity=exact")
    assert "58 missing of 72 slices" in tab.page.locator(".od-prov").first.inner_text()
    assert "Test " in tab.page.locator(".od-head").inner_text()
    tab.check()


def test_a_lost_connection_loses_nothing_and_the_counts_add_up(fresh_server: Callable[..., Server], open_tab: Callable[..., Tab]) -> None:
    url = fresh_server().url
    first = open_tab()
    upload(first, url, "nasty.csv", NASTY.encode())
    assert "scale" in first.page.locator(".od-error").inner_text()  # 1 of 5 scores is 7: 0 to 1, or 0 to 100?
    first.page.get_by_role("radio", name="0 to 1", exact=True).click()
    first.page.get_by_text("5 rows read").wait_for(timeout=30_000)
    head = first.page.locator(".od-head").inner_text()
    assert "5 rows read, 3 need a decision" in head
    first.page.get_by_role("button", name="Apply 1 checked").click()
    first.page.get_by_text("5 rows read, 2 need a decision").wait_for(timeout=30_000)
    draft = draft_of(first)
    first.page.close()
    second = open_tab()
    second.open(f"{url}/seed_tables?draft={draft}")
    assert "5 rows read, 2 need a decision" in second.page.locator(".od-head").inner_text()
    second.page.get_by_role("button", name="Save 3 rows").click()
    second.page.get_by_text("Saved tables").wait_for(timeout=30_000)
    second.settle()
    second.open(f"{url}/ranked_gaps")
    prov = second.page.locator(".od-prov").first.inner_text()
    assert "2 of 5 rows were rejected" in prov
    assert "3,837 missing of 3,840 slices" in prov
    second.check()


def test_a_click_on_the_map_filters_and_the_address_shares_the_view(
    fresh_server: Callable[..., Server], open_tab: Callable[..., Tab]
) -> None:
    url = fresh_server(ODDYSSEY_DEMO="1").url
    tab = open_tab()
    tab.open(f"{url}/ranked_gaps")
    chart = tab.page.locator("[data-testid=stVegaLiteChart]").first
    chart.wait_for()
    tab.page.wait_for_timeout(1500)
    box = chart.locator("canvas, svg").first.bounding_box()
    assert box is not None
    tab.page.mouse.click(box["x"] + box["width"] - 40, box["y"] + 60)
    tab.page.get_by_text("missing of 240 slices").wait_for(timeout=30_000)
    shared = open_tab(width=900, theme="dark")
    shared.open(tab.page.url)
    assert "missing of 240 slices" in shared.page.locator(".od-prov").first.inner_text()
    shared.check()


def test_the_manifest_and_the_csv_download(fresh_server: Callable[..., Server], tab: Tab) -> None:
    url = fresh_server(ODDYSSEY_DEMO="1").url
    tab.open(f"{url}/ranked_gaps?top=50")
    tab.page.get_by_role("button", name="Download", exact=True).click()
    downloads = tab.page.locator("[data-testid=stDownloadButton] button")
    with tab.page.expect_download() as csv:
        downloads.filter(has_text="CSV").first.click()
    assert len(csv.value.path().read_text().splitlines()) == 51
    with tab.page.expect_download() as manifest:
        downloads.filter(has_text=re.compile("manifest", re.IGNORECASE)).first.click()
    data = json.loads(manifest.value.path().read_text())
    assert data["odd"]["base_slices"] == 3_840
    assert data["similarity"]["mode"] == "calibrated"
