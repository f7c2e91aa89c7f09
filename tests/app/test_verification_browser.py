"""The verification queue in a real browser: two people, two tabs, one result."""

from __future__ import annotations

import pytest

from core import operators
from core.odd import built_in
from core.settings import Settings
from core.storage import open_store

pytestmark = pytest.mark.browser


@pytest.fixture
def checked(fresh_server):
    """A server with the demo footage and a queue of two images; gives server, store and queue."""
    server = fresh_server()
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)}))
    footage = operators.open_datastore(store, operators.load_demo_datastore(store).id)
    items = operators.footage_items(footage, built_in(), 2)
    yield server, store, operators.draw_queue(store, "First check", items, built_in(), size=2, what={"kind": "The footage in use"})
    store.close()


def introduce(tab, name):
    """Say who sits there."""
    box = tab.page.get_by_role("combobox", name="Your name")
    box.click()
    box.fill(name)
    box.press("Enter")
    tab.settle()


def test_two_people_check_the_same_sample(checked, open_tab):
    server, store, queue = checked
    items = store.verification.items(queue.id)
    address = f"{server.url}/evaluation?view=Checks&queue={queue.id}"
    for name, word, look in (("Ada", "Yes", {"width": 1440}), ("Bob", "No", {"width": 900, "theme": "dark"})):
        tab = open_tab(**look)
        tab.open(address)
        if name == "Ada":  # nobody is known yet, so nobody is taken for somebody else
            assert tab.page.get_by_text("Say who you are first").is_visible()
        introduce(tab, name)
        picture = tab.page.locator("[data-testid='stImage'] img")
        picture.first.wait_for()
        tab.page.wait_for_function("() => document.querySelector('[data-testid=stImage] img').naturalWidth > 0")
        answers = tab.page.get_by_role("radio", name=word, exact=True)
        assert answers.count() == len(items[0].statements)
        tab.check()
        for i in range(answers.count()):
            answers.nth(i).click()
            tab.settle()
        answers.last.click()  # clicked twice: it stays
        tab.settle()
        tab.page.keyboard.press("Enter")  # the answer has the focus: it stays, too
        tab.settle()
        assert [a.get_attribute("aria-checked") for a in answers.all()] == ["true"] * answers.count()
        tab.page.keyboard.press("s")
        tab.page.get_by_text(f"1 of 2 answered in full by {name}").wait_for()
        tab.check()
    assert store.verification.present(items[0].statements) == {s: {"Ada": "yes", "Bob": "no"} for s in items[0].statements}
    tab.page.get_by_role("radio", name="Result").click()
    tab.page.get_by_text("Fleiss' kappa").first.wait_for()
    tab.settle()
    assert tab.page.get_by_text(f"Ada {len(items[0].statements)}").is_visible()
    tab.check()
    tab.page.get_by_role("radio", name="Answer").click()
    tab.settle()
    tab.page.get_by_role("button", name="Undo").click()
    tab.page.get_by_text("answers taken back").wait_for()
    assert store.verification.present(items[0].statements) == {s: {"Ada": "yes"} for s in items[0].statements}
