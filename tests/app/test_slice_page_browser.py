"""The page of one slice in a real browser: crops come as they are looked at, keys judge them, nothing is lost, and the slice goes out."""

from __future__ import annotations

import io
import zipfile

import pytest
from playwright.sync_api import expect

from core.operators import slices
from core.settings import Settings
from core.storage import open_store
from tests.slice_units import small_set

pytestmark = pytest.mark.browser
FOCUS = """() => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return node?.dataset?.unit ?? node?.className ?? "";
}"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A server whose workspace holds made-up detections."""
    from tests.conftest import start_server, stop_server

    folder = tmp_path_factory.mktemp("slices")
    running = start_server(folder)
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(running.home)}))
    saved = slices.keep_detections(store, small_set(folder / "images", 80))
    yield running, store, saved
    store.close()
    stop_server(running)


def open_slice(filled, open_tab, name="iv_small", more="", **look):
    running, _, saved = filled
    tab = open_tab(**look)
    page = tab.open(f"{running.url}/slice?detections={saved.id}&slice={name}{more}")
    expect(page.locator(".od-gallery .crop").first).to_be_visible(timeout=30_000)
    return tab, page


def named(page, name):
    box = page.locator(".st-key-slice_who input")
    box.fill(name)
    box.press("Enter")
    page.wait_for_function("() => document.querySelector('.st-key-slice_who input').value !== ''")
    page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']")
    page.wait_for_timeout(500)


def focus_first(page):
    first = page.locator(".od-gallery .crop").first
    first.evaluate("crop => crop.scrollIntoView()")  # at once: crops that are drawn anew on a busy machine are never "stable" for long
    expect(first).to_have_attribute("data-ready", "1", timeout=15_000)
    first.focus()
    return first


def all_saved(page):
    expect(page.locator(".od-gallery")).to_have_attribute("data-outbox", "0", timeout=20_000)


def current(store, saved, who, name="iv_small"):
    return {j.unit_id: j.verdict for j in slices.judgements(store, saved.id, name) if j.who == who}


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (900, "dark")])
def test_the_page_fits_and_draws(filled, open_tab, width, theme):
    tab, page = open_slice(filled, open_tab, width=width, theme=theme)
    page.wait_for_function("""() => document.querySelectorAll('[data-testid="stVegaLiteChart"] :is(canvas, svg.marks)').length >= 4""")
    tab.check()


def test_browse_judge_accept_and_export(filled, open_tab):
    _, store, saved = filled
    tab, page = open_slice(filled, open_tab, more="&halves=verification")
    gallery = page.locator(".od-gallery")
    named(page, "Bea")
    focus_first(page)
    units = gallery.locator(".crop").evaluate_all("nodes => nodes.map(n => n.dataset.unit)")
    assert len(units) == 24
    for key in "yynu":
        at = page.evaluate(FOCUS)
        expect(gallery.locator(f'.crop[data-unit="{at}"]')).to_have_attribute("data-ready", "1")
        page.keyboard.press(key)
    assert page.evaluate(FOCUS) == units[4]
    all_saved(page)
    assert current(store, saved, "Bea") == dict(zip(units, ["accept", "accept", "reject", "unsure"], strict=False))
    expect(page.get_by_text("Matcher precision 67%")).to_be_visible()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Backspace")
    all_saved(page)
    assert units[0] not in current(store, saved, "Bea")
    page.keyboard.press("PageDown")
    expect(gallery).to_have_attribute("data-page", "1")
    assert page.evaluate(FOCUS) not in units

    page.get_by_role("button", name="Accept slice").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("Small ones are missed.")
    dialog.get_by_role("button", name="Accept slice").click()
    expect(page.get_by_text("accepted by Bea")).to_be_visible(timeout=20_000)
    assert [(j.verdict, j.note, j.who) for j in slices.judgements(store, saved.id, "iv_small") if not j.unit_id] == [
        ("accept", "Small ones are missed.", "Bea")
    ]

    page.get_by_role("button", name="Make the files").click()
    button = page.get_by_role("button", name="Download all as zip")
    expect(button).to_be_visible(timeout=30_000)
    with page.expect_download() as download:
        button.click()
    names = zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())).namelist()
    assert {"slice.json", "units.csv", "sample_weights.csv"} <= set(names)
    tab.check()


def test_the_whole_image_opens_by_enter_and_closes_by_escape(filled, open_tab):
    tab, page = open_slice(filled, open_tab)
    focus_first(page)
    page.keyboard.press("Enter")
    frame = page.locator(".od-gallery dialog.frame")
    page.wait_for_function(
        """() => [...document.querySelectorAll('*')].some(n => n.shadowRoot?.querySelector('dialog[data-frame]'))""", timeout=20_000
    )
    assert frame.locator("img").evaluate("i => i.naturalWidth") == 160
    boxes = frame.locator("svg .box").count()
    frame.get_by_role("button", name="Predictions").click()
    assert frame.locator("svg .box").count() < boxes
    frame.get_by_role("button", name="Neighbours").click()
    page.keyboard.press("ArrowRight")
    expect(frame.locator(".frame-title")).to_contain_text("px")
    page.keyboard.press("Escape")
    expect(frame).not_to_be_visible()
    assert page.evaluate(FOCUS)
    tab.check()


def test_without_a_name_nothing_is_judged_and_the_page_says_so(filled, open_tab):
    _, store, saved = filled
    before = len(store.slice_judgements.all(saved.id))
    names = store.preferences.get("who.names", [])
    store.preferences.set("who.names", [])
    try:
        _, page = open_slice(filled, open_tab, name="iv_small_loc")
        focus_first(page)
        page.keyboard.press("y")
        expect(page.locator(".od-gallery .notice.blocked")).to_contain_text("Say who you are first")
        page.keyboard.press("Enter")
        page.keyboard.press("n")
        expect(page.locator(".od-gallery .frame-told")).to_contain_text("Say who you are first")  # the page lies behind the dialog
    finally:
        store.preferences.set("who.names", names)
    assert len(store.slice_judgements.all(saved.id)) == before


def test_only_crops_near_the_window_are_fetched(filled, open_tab):
    running, _, saved = filled
    tab = open_tab(width=900, height=500)
    fetched = []
    tab.page.on("request", lambda r: fetched.append(r.url) if r.url.endswith(".jpg") else None)
    page = tab.open(f"{running.url}/slice?detections={saved.id}&slice=iv_dark&crops=around")
    expect(page.locator(".od-gallery .crop").first).to_be_attached(timeout=30_000)
    page.wait_for_timeout(800)
    soon = len(fetched)
    focus_first(page)
    page.keyboard.press("End")
    expect(page.locator(".od-gallery .crop").last).to_have_attribute("data-ready", "1", timeout=15_000)
    assert soon < 24 and len(fetched) > soon


def test_judgements_survive_a_server_that_does_not_answer_and_a_reload(fresh_server, open_tab, tmp_path):
    from tests.conftest import stop_server

    running = fresh_server()
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(running.home)}))
    saved = slices.keep_detections(store, small_set(tmp_path / "images", 80))
    store.preferences.set("who.names", ["Cai"])
    tab = open_tab()
    page = tab.open(f"{running.url}/slice?detections={saved.id}&slice=iv_small")
    expect(page.locator(".od-gallery .crop").first).to_be_visible(timeout=30_000)
    focus_first(page)
    stop_server(running)
    page.keyboard.press("y")
    page.keyboard.press("n")
    expect(page.locator(".od-gallery")).to_have_attribute("data-outbox", "2")
    again = fresh_server_at(running)
    try:
        page.on("dialog", lambda d: d.accept())
        page.goto(f"{again.url}/slice?detections={saved.id}&slice=iv_small")
        expect(page.locator(".od-gallery .crop").first).to_be_visible(timeout=60_000)
        all_saved(page)
        assert sorted(current(store, saved, "Cai").values()) == ["accept", "reject"]
    finally:
        stop_server(again)
        store.close()


def fresh_server_at(before):
    """The same workspace at the same address, started anew."""
    import os
    import subprocess
    import sys
    import time
    import urllib.request

    from tests.conftest import ROOT, STARTED, Server, foreign_settings

    port = before.url.rsplit(":", 1)[1]
    unset = foreign_settings()
    env = {k: v for k, v in os.environ.items() if k not in unset} | {"ODDYSSEY_HOME": str(before.home)}
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.port", port, "--server.address", "127.0.0.1"]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + STARTED
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{before.url}/_stcore/health", timeout=5):
                return Server(before.url, before.home, process)
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise RuntimeError("The app did not start again.")
