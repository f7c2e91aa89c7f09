"""Compare methods in a real browser: from the demo to figures and charts, wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Server, Tab

pytestmark = pytest.mark.browser


def test_from_the_demo_to_figures_and_charts(fresh_server: Callable[..., Server], open_tab: Callable[..., Tab]) -> None:
    server = fresh_server(ODDYSSEY_DEMO="1")
    tab = open_tab()
    page = tab.open(f"{server.url}/benchmark?k=50,200")
    assert "No oracle yet" in page.locator(".od-head").inner_text()
    tab.check()
    page.get_by_role("button", name="Use the demo's oracle").click()
    page.wait_for_selector("text=Regret and diversity at K = 200", timeout=120_000)
    tab.settle()
    assert "comes closest to the oracle" in page.locator(".od-head").inner_text()
    assert page.locator("table.od-table tbody tr").count() >= 11
    for chart in page.locator("[data-testid='stVegaLiteChart'] canvas, [data-testid='stVegaLiteChart'] svg").all():
        assert chart.bounding_box()["height"] > 300
    page.get_by_role("radio", name="50", exact=True).click()
    page.wait_for_selector("text=Regret and diversity at K = 50")
    tab.settle()
    assert "at=50" in page.url
    tab.check()
    narrow = open_tab(width=900, theme="dark")
    narrow.open(page.url)
    narrow.page.wait_for_selector("text=Regret and diversity at K = 50", timeout=60_000)  # the result was kept
    narrow.settle()
    narrow.check()


def test_an_oracle_is_left_with_its_table(fresh_server: Callable[..., Server], tab: Tab) -> None:
    server = fresh_server(ODDYSSEY_DEMO="1")
    page = tab.open(f"{server.url}/benchmark?k=10&similarity=exact")
    page.get_by_role("button", name="Use the demo's oracle").click()
    page.wait_for_selector("text=Regret and diversity at K = 10", timeout=120_000)
    tab.settle()
    main, side = page.get_by_test_id("stMain"), page.get_by_test_id("stSidebar")
    first = main.get_by_role("combobox").first.input_value()
    for name in ("Demo, model-b", "Demo, model-a", "Demo, model-b"):
        side.get_by_role("combobox").first.click()
        page.get_by_role("option", name=name, exact=True).click()
        page.wait_for_timeout(500)
        page.wait_for_selector("text=Regret and diversity at K = 10", timeout=120_000)
        tab.settle()
        assert main.get_by_role("combobox").first.input_value() == name.replace("Demo", "Demo oracle")
        assert page.get_by_text("another model").count() == 0
    assert first == "Demo oracle, model-a"
    tab.check()
