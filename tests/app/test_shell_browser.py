from __future__ import annotations

import pytest

from pages.shared.navigation import ENTRIES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 900])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.title)
def test_every_page_opens_on_an_empty_workspace(server, open_tab, entry, width, theme):
    tab = open_tab(width=width, theme=theme)
    address = "" if entry is ENTRIES[0] else entry.address
    page = tab.open(f"{server.url}/{address}")
    assert "No table yet" in page.locator(".od-workspace").inner_text()  # else a test left something behind
    assert entry.title in page.locator(".od-eyebrow").inner_text()
    assert page.locator(".od-workspace").is_visible()
    ground = page.evaluate("() => getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 21, 28)"}[theme]
    tab.check()


def test_the_first_page_says_what_is_needed(server, tab):
    page = tab.open(server.url)
    assert page.locator(".od-head").inner_text() == "Nothing tested yet. Start with a table."
    assert page.title() == "Oddyssey" or page.title().startswith("Home")


def test_the_label_page_has_the_whole_width_however_one_comes_there(server, tab):
    expanded = "() => document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right > 1"
    for address, wide in (("label", True), ("review", False)):
        tab.open(f"{server.url}/{address}")
        assert tab.page.evaluate(expanded) is not wide
    tab.page.get_by_role("link", name="Label", exact=True).click()
    tab.page.wait_for_function(f"() => !({expanded})()")
    tab.page.locator("[data-testid=stExpandSidebarButton]").click()
    tab.page.wait_for_function(expanded)
    tab.page.keyboard.press("r")  # a further run leaves it as the person put it
    tab.settle()
    assert tab.page.evaluate(expanded)
    tab.page.get_by_role("link", name="Home", exact=True).click()
    tab.page.wait_for_url(lambda url: "label" not in url)
    tab.settle()
    assert tab.page.evaluate(expanded)
    tab.check()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.title)
def test_a_deep_link_on_a_fresh_server_keeps_its_parameters(fresh_server, tab, entry):
    page = tab.open(f"{fresh_server().url}/{entry.address}?x=1&y=a&y=b")
    page.wait_for_url("**?x=1&y=a&y=b")
    tab.settle()
    assert "No table yet" in page.locator(".od-workspace").inner_text()  # else a test left something behind
    assert entry.title in page.locator(".od-eyebrow").inner_text()
    assert page.locator(".od-workspace").is_visible()
    tab.check()
