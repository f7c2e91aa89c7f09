"""Labelling in a real browser: keys, the case on the screen, what is stored, and what happens in between."""

from __future__ import annotations

import json
import statistics
import time

import pytest

from tests.label_pages import CODES, PIXEL, SEEN_MS, SHOWN, label, on_screen, press, progress, saved, start, wait_for_case
from tests.label_pages import ignored as ignored_of
from tests.label_sets import case_of, flat_cases

pytestmark = pytest.mark.browser


def test_a_run_of_sixteen_cases_by_keyboard(fresh_server, tab):
    server = fresh_server()
    work = flat_cases(server.home, 16, frames=3)
    ada = work.person()
    start(tab, work.address(server.url, ada))
    page = tab.page
    answers = ["y", "n", " ", "n"] * 5
    total = int(progress(page).split(" of ")[1].split()[0])
    assert total == 17  # one hidden repeat
    done = []
    for key in answers[:total]:
        done.append((press(page, key), CODES[key]))
    page.get_by_role("heading", name=f"All {total} cases are labelled.").wait_for()
    saved(page)
    assert work.labels(ada) == done
    assert sorted({i for i, _ in done}) == list(range(16))
    for event in work.store.labels.events(work.cases.id, ada.id):
        timing = event.new.payload
        assert timing["t_key_ms"] - timing["t_ready_ms"] >= SEEN_MS
        assert timing["keyboard"] is True and timing["hidden_ms"] == 0
        assert event.new.guidance_version.startswith("v") and event.new.interface_version
    tab.check()
    work.store.close()


def test_twenty_presses_a_second_label_only_what_was_on_the_screen(fresh_server, tab):
    server = fresh_server()
    work = flat_cases(server.home, 210)
    ada = work.person()
    start(tab, work.address(server.url, ada))
    page = tab.page
    wait_for_case(page)
    # What stands on the screen is noted at each press, before the page itself hears of it.
    label(page).evaluate(
        "(label, pixel) => { const read = eval(pixel); window.log = []; window.addEventListener('keydown',"
        " (e) => window.log.push([performance.now(), e.key, read(label)]), true); }",
        PIXEL,
    )
    begun = time.perf_counter()
    for i in range(200):
        while time.perf_counter() < begun + i * 0.05:  # the rate is what is tested
            time.sleep(0.001)
        page.keyboard.press(["y", "n", " "][i % 3])
    log = page.evaluate("() => window.log")
    saved(page)
    stored = work.labels(ada)
    ignored = ignored_of(page)
    assert len(log) == 200
    assert len(stored) + ignored == 200
    assert f"{ignored} key presses ignored" in progress(page)
    # Each label is of the case that was on the screen when some press of that key was made, in the same order.
    seen = iter([(case_of(tuple(rgb)), CODES[key]) for _, key, rgb in log if rgb])
    assert all(one in seen for one in stored), (stored, log)
    assert len(set(stored)) == len(stored)
    assert len(stored) >= 20, "hardly any press was taken"
    print(f"hammer: {len(stored)} stored, {ignored} ignored, {(log[-1][0] - log[0][0]) / 1000:.2f} s")
    tab.check()
    work.store.close()


def test_two_annotators_at_once(fresh_server, open_tab):
    server = fresh_server()
    work = flat_cases(server.home, 12)
    people = [work.person("Ada"), work.person("Bob")]
    tabs = [open_tab(), open_tab(width=900, theme="dark")]
    for tab, who in zip(tabs, people, strict=True):
        start(tab, work.address(server.url, who))
    done = {who.id: [] for who in people}
    for i in range(6):
        for tab, who in zip(tabs, people, strict=True):
            key = "y" if (i + (who is people[0])) % 2 else "n"
            done[who.id].append((press(tab.page, key), key.upper()))
    for tab, who in zip(tabs, people, strict=True):
        saved(tab.page)
        assert work.labels(who) == done[who.id]
        tab.check()
    assert [c for c, _ in done[people[0].id]] != [c for c, _ in done[people[1].id]]  # each has an order of their own
    work.store.close()


def test_one_person_in_two_tabs_is_told_of_the_conflict(fresh_server, open_tab):
    server = fresh_server()
    work = flat_cases(server.home, 12)
    ada = work.person()
    first, second = open_tab(), open_tab()
    for tab in (first, second):
        start(tab, work.address(server.url, ada))
    wait_for_case(second.page)
    shown = press(first.page, "y")
    saved(first.page)
    assert press(second.page, "n") == shown  # the second tab still shows the same case
    saved(second.page)
    second.page.get_by_text("You had labelled this case in another tab").wait_for()
    assert work.labels(ada) == [(shown, "Y")]
    other = press(second.page, "n")
    saved(second.page)
    assert other != shown
    assert work.labels(ada) == [(shown, "Y"), (other, "N")]
    work.store.close()


def test_undo_reload_and_resume(fresh_server, tab):
    server = fresh_server()
    work = flat_cases(server.home, 12)
    ada = work.person()
    start(tab, work.address(server.url, ada))
    page = tab.page
    first, second = press(page, "y"), press(page, "n")
    wait_for_case(page)
    page.keyboard.press("Backspace")
    label(page).locator(".progress b", has_text="Case 2 of 13").wait_for()  # the line for screen readers says it, too
    assert press(page, " ") == second
    saved(page)
    assert work.labels(ada) == [(first, "Y"), (second, "N"), (second, "U")]  # nothing is deleted
    third = on_screen(page) if wait_for_case(page) else None
    page.reload()
    page.wait_for_selector(SHOWN)
    wait_for_case(page)
    assert on_screen(page) == third
    assert "Saved: case 2, unsure" in progress(page)
    page.keyboard.press("Backspace")  # of a label that this page has not seen
    label(page).locator(".progress b", has_text="Case 2 of 13").wait_for()  # the line for screen readers says it, too
    assert press(page, "y") == second
    assert press(page, "n") == third
    saved(page)
    assert work.labels(ada)[-2:] == [(second, "Y"), (third, "N")]
    tab.check()
    work.store.close()


def test_labels_survive_a_server_that_is_away(fresh_server, tab):
    server = fresh_server()
    work = flat_cases(server.home, 12)
    ada = work.person()
    start(tab, work.address(server.url, ada))
    page = tab.page
    wait_for_case(page)
    page.context.set_offline(True)
    shown = [on_screen(page)]
    page.keyboard.press("y")
    page.wait_for_selector('.od-label[data-waiting="1"]')
    box = page.evaluate('() => Object.values(localStorage).filter(v => v.includes(\'"kind":"label"\'))')
    assert len(json.loads(box[0])) == 1
    page.context.set_offline(False)
    page.reload()
    page.wait_for_selector(SHOWN)
    saved(page)
    assert work.labels(ada) == [(shown[0], "Y")]
    work.store.close()


def measured(devtools):
    """What the page holds after a collection of garbage: bytes of its heap, nodes, listeners."""
    devtools.send("HeapProfiler.collectGarbage")
    found = {m["name"]: m["value"] for m in devtools.send("Performance.getMetrics")["metrics"]}
    return {k: int(found[k]) for k in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}


def test_two_hundred_cases_in_a_row_come_at_once_and_leave_nothing_behind(fresh_server, tab):
    server = fresh_server()
    work = flat_cases(server.home, 205)
    ada = work.person()
    page = start(tab, work.address(server.url, ada))
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    times, shown, early = [], [], {}
    for i in range(205):
        shown.append(press(page, "yn "[i % 3]))
        wait_for_case(page)
        times.append(int(label(page).get_attribute("data-painted")))
        if i == 20:
            early = measured(devtools)
    saved(page)
    late = measured(devtools)
    times.sort()
    print(f"key to next case painted: median {statistics.median(times)} ms, p95 {times[195]} ms, longest {times[-1]} ms; {early} {late}")
    assert [i for i, _ in work.labels(ada)] == shown
    assert int(label(page).get_attribute("data-near")) < 20
    assert late["JSHeapUsedSize"] < early["JSHeapUsedSize"] + 10 * 2**20
    assert late["Nodes"] < early["Nodes"] * 1.5
    assert late["JSEventListeners"] < early["JSEventListeners"] * 1.5
    tab.check()  # no file was missing
    work.store.close()
