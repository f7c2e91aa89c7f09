"""The whole loop in a real browser: ask, confirm, acquire, evaluate (a stub answers), the table changes, the gaps change; and back.

The model under test is a stub that answers "A" to every question; nothing here says anything about a real model.
"""

from __future__ import annotations

import re

import pytest

from core import operators
from core.settings import Settings
from core.storage import open_store
from tests.conftest import start_server, stop_server
from tests.stub_llm import StubServer, text

pytestmark = pytest.mark.browser
FOGGY = "Find missing foggy highway slices, retrieve test images and evaluate the model."
MODEL = "model-b"


@pytest.fixture(scope="module")
def stub():
    with StubServer(lambda request: text("A", delay=0.3)) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory, stub):
    """A server of this file's own, with a model under test that is a stub, and the demo tables and footage."""
    folder = tmp_path_factory.mktemp("server")
    running = start_server(folder, **stub.environment("vlm"), ODDYSSEY_VLM_LABEL=MODEL)
    yield running
    stop_server(running)


@pytest.fixture(scope="module")
def store(server):
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)}))
    operators.load_demo(opened)
    operators.load_demo_datastore(opened)
    yield opened
    opened.close()


@pytest.fixture
def table(store):
    return next(t for t in store.tables.list() if t.model == MODEL)


def gaps(tab, server, table) -> int:
    """Missing slices, as the page Ranked gaps tells them."""
    tab.open(f"{server.url}/ranked_gaps?table={table.id}")
    said = tab.page.locator(".od-prov").inner_text()
    return int(re.search(r"Exact over ([\d,]+) missing", said).group(1).replace(",", ""))


def press(tab, name: str | re.Pattern[str]) -> None:
    tab.page.get_by_role("button", name=name).first.click()
    tab.page.wait_for_timeout(400)
    tab.settle()


def test_from_a_question_to_changed_gaps_and_back(server, store, table, stub, open_tab):
    tab = open_tab()
    page = tab.page
    missing = gaps(tab, server, table)
    tab.open(f"{server.url}/controller?table={table.id}")
    page.get_by_role("combobox", name="Your name").fill("Ana")
    page.keyboard.press("Enter")
    tab.settle()
    page.get_by_placeholder("Ask what to test next").fill(FOGGY)
    page.keyboard.press("Enter")
    page.wait_for_url("**run=**")
    page.get_by_text("One paid step waits for you").wait_for()
    assert re.fullmatch(
        r"Plan ready: 233 untested slices ranked, \d+ samples? found, \d+ usable(?: \(\d+ as evidence\))?\. One paid step waits for you\.",
        tab.headline(),
    )
    assert stub.asked == []

    page.reload()  # a disconnected browser finds everything again by the address
    tab.settle()
    assert "One paid step waits for you" in tab.headline()
    card = page.locator(".st-key-confirm")
    assert "no price named" in card.inner_text()
    assert "waits for your answer" in card.inner_text()
    press(tab, re.compile(r"^Evaluate \d+ samples?$"))
    page.get_by_text(re.compile(r"answers? right")).first.wait_for(timeout=60_000)
    tab.settle()
    run = store.runs.list("Ana")[0]
    rows = store.results.rows(run.id)
    assert len(stub.asked) == len(rows) > 0
    assert all(r.status == "scored" for r in rows)
    assert any("data:image/jpeg;base64," in str(r.body) for r in stub.asked)
    tab.check()

    grown = store.tables.get(table.id)
    valid = sum(r.verdict == "valid" for r in rows)
    assert (grown.total, grown.runs) == (table.total + valid, (run.id,))
    tested = len(store.tables.load(table.id).n) - len(store.tables.load(table.id, 0).n)
    assert tested > 0
    assert gaps(tab, server, table) == missing - tested

    tab.open(f"{server.url}/evaluation?run={run.id}&view=What moved")
    assert tab.headline().startswith(f"{tested} gap")
    tab.check()
    press(tab, "Undo this run")
    page.get_by_text("was taken out of the table").wait_for()
    assert store.tables.get(table.id).digest == table.digest
    assert gaps(tab, server, table) == missing

    tab.open(f"{server.url}/evaluation?run={run.id}&view=Samples")
    first = rows[0]
    press(tab, "Overrule the verdict")
    page.get_by_test_id("stPopoverBody").get_by_text("Wrong" if first.score else "Right", exact=True).click()
    page.get_by_label("Why", exact=True).fill("The picture is too dark to tell.")
    page.keyboard.press("Control+Enter")
    tab.settle()
    press(tab, "Record it")
    page.get_by_text("The picture is too dark to tell.").first.wait_for()
    changed = store.results.history(run.id, first.item_id)[-1]
    assert (changed.scored_by, changed.who, changed.why) == ("person", "Ana", "The picture is too dark to tell.")
    assert changed.score == 1 - first.score
    tab.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_pages_fit_every_window(server, store, table, open_tab, theme):
    planned = open_tab(theme=theme)
    planned.open(f"{server.url}/controller?table={table.id}")
    planned.page.get_by_placeholder("Ask what to test next").fill("Which tunnel and underpass scenarios need testing in heavy rain?")
    planned.page.keyboard.press("Enter")
    planned.page.wait_for_url("**run=**")
    planned.page.get_by_text("untested slices ranked").first.wait_for()
    run = planned.page.url.split("run=")[1].split("&")[0]
    for width in (1440, 900):
        tab = open_tab(width=width, theme=theme)
        for address in ("controller", f"controller?run={run}", *(f"evaluation?view={v}" for v in ("Runs", "Samples", "Footage"))):
            tab.open(f"{server.url}/{address}")
            tab.page.wait_for_timeout(400)
            tab.check()
        tab.page.get_by_role("button", name="Connections", exact=True).click()
        tab.page.get_by_role("dialog").get_by_text("Model under test", exact=True).wait_for()
        tab.check()
