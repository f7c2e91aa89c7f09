"""The ODD page in a real browser: read, edit, save as a new one, use it for an import."""

from __future__ import annotations

import pytest

from core import operators
from core.odd import built_in
from core.settings import Settings
from core.storage import open_store

pytestmark = pytest.mark.browser


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_an_edited_odd_is_a_new_one_and_serves_an_import(fresh_server, tab):
    server = fresh_server()
    page = tab.open(f"{server.url}/odd")
    assert "3,840 slices inside the ODD, and 91,445,760" in page.locator(".od-head").inner_text()
    text = page.locator("textarea")
    yaml = text.input_value()
    for wrong, said in ((yaml.replace("tier: base", "tier: basic", 1), "dimensions."), ("a: [", "not valid YAML")):
        text.fill(wrong)
        text.press("Control+Enter")
        page.wait_for_timeout(500)
        tab.settle()
        button(page, "Validate").click()
        page.locator(".od-error", has_text=said).wait_for()
    text.fill(yaml.replace("name: driving", "name: ours", 1))
    text.press("Control+Enter")
    page.wait_for_timeout(500)
    tab.settle()
    button(page, "Save as a new ODD").click()
    page.wait_for_url("**odd=*")
    page.locator(".od-head", has_text="ours spans").wait_for()
    tab.settle()
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)}))
    (ours,) = store.odds.all()
    assert ours.hash != built_in().hash
    tab.check()
    button(page, "Use for an import").click()
    page.get_by_text("New table").wait_for()
    button(page, "Use the sample").click()
    page.get_by_text("4 Rows that need a decision").wait_for()
    tab.settle()
    assert f"ours v1 {ours.hash[:6]}" in page.locator("[data-testid='stMain']").inner_text()
    page.get_by_role("button", name="Save 7,950 rows as 2 tables").click()
    page.get_by_text("2 tables are kept").wait_for()
    assert {t.odd_hash for t in store.tables.list()} == {ours.hash}
    assert all(t.synthetic and t.upload_sha and operators.is_demo(t.upload_sha) for t in store.tables.list())


def test_a_stored_odd_opens_by_its_address_on_a_fresh_server(fresh_server, open_tab):
    server = fresh_server()
    odd = built_in().restricted(["time", "environment"])
    open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)})).odds.put(odd)
    tab = open_tab(width=900, theme="dark")
    page = tab.open(f"{server.url}/odd?odd={odd.hash[:12]}")
    page.locator(".od-head", has_text="8 slices inside the ODD").wait_for()
    tab.check()
