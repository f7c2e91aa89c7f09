"""The pages of error slices in a real browser: they fit their window in both themes, and a row of the list leads to its slice."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from core.settings import Settings
from core.storage import open_store
from tests.detection_sets import detection_set

pytestmark = pytest.mark.browser


@pytest.fixture
def app(fresh_server, monkeypatch):
    """A server whose workspace holds two models on the same images; gives its address and the id of the first set."""
    server = fresh_server()
    monkeypatch.setenv("ODDYSSEY_HOME", str(server.home))
    store = open_store(Settings.from_environment())
    try:
        first = detection_set(store, "Before", 0.9)
        detection_set(store, "After", 0.3)
    finally:
        store.close()
    return server.url, first.id


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (900, "dark")])
def test_the_pages_fit_their_window(app, open_tab, width, theme):
    url, set_id = app
    tab = open_tab(width=width, theme=theme)
    for address in (
        f"slices?detections={set_id}",
        f"slice_compare?detections={set_id}",
        f"slice_compare?detections={set_id}&view=Hypotheses",
        f"detections?detections={set_id}",
        f"detections?detections={set_id}&view=Import",
    ):
        tab.open(f"{url}/{address}")
        tab.check()


def test_a_row_leads_to_its_slice_in_the_same_session_and_back(app, tab):
    url, set_id = app
    page = tab.open(f"{url}/slices?detections={set_id}")
    row = page.locator(".od-slices tbody tr", has_text="The object is very small in the image")
    row.locator("td").nth(5).click()
    page.wait_for_url("**/slice?**")
    assert "where the object is very small in the image" in tab.headline().lower()
    assert "slice=iv_small" in page.url and f"detections={set_id}" in page.url
    page.get_by_role("link", name="Error slices").click()
    page.wait_for_url("**/slices?**")
    assert "hypotheses hold up" in tab.headline()
    tab.check()


def test_a_row_opens_in_a_tab_of_its_own_where_that_is_wanted(app, tab):
    url, set_id = app
    page = tab.open(f"{url}/slices?detections={set_id}&gamma=0.6")
    with page.context.expect_page() as opened:
        page.locator(".od-slices a.od-go").first.click(modifiers=["ControlOrMeta"])
    other = opened.value
    expect(other.locator(".od-head")).to_have_count(1, timeout=60_000)
    assert "/slice?" in other.url and "gamma=0.6" in other.url
    assert "/slices?" in page.url


def test_a_setting_recomputes_the_list_and_stands_in_the_address(app, tab):
    url, set_id = app
    page = tab.open(f"{url}/slices?detections={set_id}")
    page.get_by_role("button", name="Settings").click()
    box = page.get_by_role("spinbutton", name="Confidence cut")
    box.fill("0.7")
    box.press("Enter")
    expect(page.locator(".od-prov")).to_contain_text("Confidence ≥ 0.7")
    assert "confidence=0.7" in page.url
    tab.check()
