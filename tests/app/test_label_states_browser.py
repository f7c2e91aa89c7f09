"""The label page when things are not as usual: images that fail, few cameras, keys that must not act, hidden tabs, narrow windows."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from tests.conftest import start_server, stop_server
from tests.label_pages import SHOWN, gone, ignored, label, on_screen, press, progress, saved, start, wait_for_case
from tests.label_sets import flat_cases, with_rounds

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One server for all of these tests; each has a case set of its own."""
    running = start_server(tmp_path_factory.mktemp("label"))
    yield running
    stop_server(running)


@pytest.fixture
def make(place):
    """Make a case set with one person, and the address where this person labels it."""
    made = []

    def one(n=6, **how):
        made.append(flat_cases(place.home, n, name=f"Flat {uuid4().hex[:8]}", **how))
        made[-1].who = made[-1].person(f"Ada {uuid4().hex[:8]}")
        made[-1].url = made[-1].address(place.url, made[-1].who)
        return made[-1]

    yield one
    for each in made:
        each.store.close()


@pytest.fixture
def work(make):
    """Six cases."""
    return make()


def test_an_image_that_fails_leaves_unsure_alone(work, tab):
    failed = []

    def refuse(route):
        if len(failed) < 3 and (not failed or route.request.url == failed[0]):  # as often as the page tries
            failed.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    tab.page.route(re.compile(r"bidi-components/oddyssey\.cases/.*\.jpg"), refuse)
    page = start(tab, work.url)
    page.get_by_role("alert").get_by_text("did not load. Unsure is possible; Y and N wait.").wait_for()
    name = label(page).locator(".failure:visible").inner_text()
    assert name.endswith("did not load: the server did not answer.")
    case = wait_for_case(page)
    for key in ("y", "n"):
        page.keyboard.press(key)
    assert ignored(page) == 2
    assert "an image did not load" in progress(page)
    assert label(page).get_attribute("data-case") == case
    page.keyboard.press(" ")
    gone(page, case)
    saved(page)
    event = work.store.labels.events(work.cases.id, work.who.id)[0].new
    assert event.label == "U"
    assert len(event.payload["failed_cameras"]) == 1
    press(page, "y")  # the next case is whole
    saved(page)
    assert [x for _, x in work.labels(work.who)] == ["U", "Y"]


def test_an_image_can_be_fetched_again(work, tab):
    tab.page.route(re.compile(r"oddyssey\.cases/.*\.jpg"), lambda route: route.abort())
    page = start(tab, work.url)
    page.get_by_role("alert").get_by_text("did not load").first.wait_for()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".notice.failed", state="detached")
    assert press(page, "n") is not None
    saved(page)
    assert [x for _, x in work.labels(work.who)] == ["N"]


def test_a_case_that_cannot_be_loaded_is_never_labelled(work, tab):
    tab.page.route(re.compile(r"oddyssey\.cases/.*\.json"), lambda route: route.abort())
    tab.open(work.url)
    page = tab.page
    page.get_by_role("heading", name="This case could not be loaded.").wait_for()
    for key in ("y", "n", " "):
        page.keyboard.press(key)
    assert ignored(page) == 3
    page.unroute_all()
    page.get_by_role("button", name="Show the next one first").click()
    page.wait_for_selector(SHOWN)
    press(page, "y")
    saved(page)
    assert len(work.labels(work.who)) == 1


@pytest.mark.parametrize(("cameras", "n"), [(("front",), 1), ((), 0)])
def test_cases_with_few_cameras(make, tab, cameras, n):
    made = make(cameras=cameras)
    page = start(tab, made.url)
    assert label(page).locator(".cam:visible").count() == n
    assert label(page).get_by_role("img", name="Scene from above").is_visible()
    assert label(page).get_by_text("No camera saw this case").count() == (0 if n else 1)
    assert page.get_by_text("Rear cameras").count() == 0
    press(page, "y")
    press(page, " ")
    saved(page)
    assert [x for _, x in made.labels(made.who)] == ["Y", "U"]
    tab.check()


def test_keys_that_must_not_act(work, tab):
    page = start(tab, work.url)
    case = wait_for_case(page)
    for combination in ("Control+y", "Alt+n", "Shift+Y", "Meta+n", "c", "r", "x", "Enter", "Escape"):
        page.keyboard.press(combination)
    page.keyboard.down("m")
    page.keyboard.down("m")  # on repeat: once off, and not on again
    assert "off" in label(page).get_by_role("button", name="Lens").inner_text()
    page.keyboard.up("m")
    label(page).locator("summary", has_text="Comment").click()
    box = label(page).get_by_label("Comment on this case")
    box.fill("")
    box.press_sequentially("yes, no  and a cone 1 2 p m g")
    assert box.input_value() == "yes, no  and a cone 1 2 p m g"
    assert page.locator("[role=dialog]").count() == 0
    assert label(page).get_attribute("data-case") == case
    assert ignored(page) == 0
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    gone(page, case)
    saved(page)
    events = [e.new for e in work.store.labels.events(work.cases.id, work.who.id)]
    assert [(e.kind, e.label) for e in events] == [("comment", None), ("label", "N")]
    assert events[0].payload["text"] == "yes, no  and a cone 1 2 p m g"
    assert events[0].case_id == events[1].case_id
    tab.check()


def test_a_held_key_labels_once(work, tab):
    page = start(tab, work.url)
    case = wait_for_case(page)
    page.keyboard.down("y")
    gone(page, case)
    wait_for_case(page)
    for _ in range(5):
        page.keyboard.down("y")
    page.keyboard.up("y")
    wait_for_case(page)
    saved(page)
    assert len(work.labels(work.who)) == 1


def test_space_after_a_click_does_not_repeat_the_click(work, tab):
    page = start(tab, work.url)
    case = wait_for_case(page)
    label(page).get_by_role("button", name="Y Threat").click()
    gone(page, case)
    press(page, " ")
    saved(page)
    assert [x for _, x in work.labels(work.who)] == ["Y", "U"]
    payloads = [e.new.payload["keyboard"] for e in work.store.labels.events(work.cases.id, work.who.id)]
    assert payloads == [False, True]


@pytest.mark.parametrize("width", [1440, 1100, 900])
def test_the_playback_row_keeps_its_clock_with_the_sidebar_open(make, open_tab, width):
    tab = open_tab(width=width)
    page = start(tab, make(frames=5).url)
    page.locator("[data-testid=stExpandSidebarButton]").click()
    page.wait_for_function("() => document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().left > -1")
    page.wait_for_timeout(300)
    middles = (
        label(page).locator(".tools").evaluate("e => [...e.children].map(c => c.getBoundingClientRect()).map(b => b.top + b.height / 2)")
    )
    assert max(middles) - min(middles) < 3
    tab.check()


def test_playback_lens_and_toggles_leave_traces(make, tab):
    work = make(frames=5)
    page = start(tab, work.url)
    wait_for_case(page)
    shown = on_screen(page)
    page.keyboard.press("ArrowLeft")
    assert label(page).locator(".clock").inner_text() == "−0.25 s"
    darker = (
        label(page)
        .locator(".cam canvas[role=img]")
        .evaluate_all("all => all.map(c => [...c.getContext('2d').getImageData(c.width - 12, 12, 1, 1).data].slice(0, 3).join())")
    )
    assert len(set(darker)) == 1  # all six show the same moment
    page.keyboard.press("ArrowRight")
    assert on_screen(page) == shown
    page.keyboard.press("p")
    label(page).get_by_text("Pause").wait_for()
    page.wait_for_function("clock => clock.textContent.includes('0.75')", arg=label(page).locator(".clock").element_handle())
    page.keyboard.press("p")
    label(page).get_by_text("Play").wait_for()
    label(page).locator(".cam").nth(1).hover(position={"x": 60, "y": 60})
    assert label(page).locator(".lens:visible").count() == 1
    page.mouse.wheel(0, -100)
    label(page).get_by_text("Lens 3.5×").wait_for()
    page.mouse.wheel(0, -300)
    label(page).get_by_text("Lens 4×").wait_for()
    page.keyboard.press("m")
    assert label(page).locator(".lens:visible").count() == 0
    page.keyboard.press("1")
    assert label(page).get_by_role("button", name="Expert 1").get_attribute("aria-pressed") == "false"
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    press(page, "n")
    saved(page)
    payload = work.store.labels.events(work.cases.id, work.who.id)[0].new.payload
    assert payload["playback_n"] >= 3
    assert payload["magnifier_ms"] > 0
    tab.check()


def test_a_camera_can_be_magnified_by_keyboard_alone(work, tab):
    page = start(tab, work.url)
    wait_for_case(page)
    label(page).locator(".cam canvas[role=img]").first.focus()
    page.keyboard.press("m")  # off
    page.keyboard.press("m")
    lens = label(page).locator(".lens:visible")
    assert lens.count() == 1
    before = lens.bounding_box()
    page.keyboard.press("ArrowRight")
    assert lens.bounding_box()["x"] > before["x"]
    page.keyboard.press("+")
    label(page).get_by_text("Lens 3.5×").wait_for()


def test_threats_can_be_named(work, tab):
    page = start(tab, work.url)
    case = wait_for_case(page)
    label(page).locator("summary", has_text="Which threat?").click()
    label(page).locator(".threats input").nth(2).check()
    name = label(page).locator(".threats input").nth(2).get_attribute("value")
    label(page).get_by_text("1 chosen").wait_for()
    page.keyboard.press("y")
    gone(page, case)
    saved(page)
    events = [e.new for e in work.store.labels.events(work.cases.id, work.who.id)]
    assert [(e.kind, e.label) for e in events] == [("tags", None), ("label", "Y")]
    assert events[0].payload["threats"] == [name]
    assert label(page).locator(".threats input:checked").count() == 0


def test_time_in_a_hidden_tab_is_told_apart(work, tab):
    page = start(tab, work.url)
    case = wait_for_case(page)
    page.evaluate("""() => {
        window.away = (on) => { Object.defineProperty(document, 'hidden', { value: on, configurable: true });
            document.dispatchEvent(new Event('visibilitychange')); };
        window.away(true);
    }""")
    begun = page.evaluate("() => performance.now()")
    page.wait_for_function("begun => performance.now() - begun > 500", arg=begun)
    page.evaluate("() => window.away(false)")
    page.keyboard.press("y")
    gone(page, case)
    saved(page)
    payload = work.store.labels.events(work.cases.id, work.who.id)[0].new.payload
    assert 500 <= payload["hidden_ms"] < payload["t_key_ms"] - payload["t_ready_ms"]


def test_the_guidance_opens_and_keys_rest_while_it_is_read(work, tab):
    page = start(tab, work.url)
    case = wait_for_case(page)
    page.keyboard.press("g")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("y")
    assert label(page).get_attribute("data-case") == case
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.wait_for_function("() => document.activeElement.shadowRoot?.activeElement?.tagName === 'H1'")
    assert press(page, "y") is not None
    saved(page)
    assert len(work.labels(work.who)) == 1


@pytest.mark.parametrize(("width", "theme"), [(1440, "dark"), (900, "light"), (900, "dark")])
def test_nothing_sticks_out(work, open_tab, width, theme):
    tab = open_tab(width=width, theme=theme)
    page = start(tab, work.url)
    wait_for_case(page)
    tab.check()
    wide = label(page).evaluate(
        """label => [...label.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
            && !e.closest('.hidden')).map(e => e.className)"""
    )
    assert wide == []
    assert page.locator("[data-testid='stSidebar'][aria-expanded='true']").count() == 0


def test_the_end_is_told_without_headings_above_nothing(make, open_tab):
    tab = open_tab(width=900)
    work = make(n=1)
    page = start(tab, work.url)
    wait_for_case(page)
    page.keyboard.press("y")
    page.get_by_role("heading", name="The only case is labelled.").wait_for()
    assert label(page).get_by_role("heading").all_inner_texts() == ["The only case is labelled."]
    page.keyboard.press("Backspace")
    page.wait_for_selector(SHOWN)
    assert len([x for x in label(page).get_by_role("heading").all_inner_texts() if x]) == 3
    saved(page)
    tab.check()


def test_a_deep_link_by_name_leads_to_the_case(work, tab):
    page = start(tab, work.url.replace(work.cases.id, work.cases.name.replace(" ", "%20")))
    assert f"set={work.cases.id}" in page.url
    assert press(page, "n") is not None
    saved(page)
    assert len(work.labels(work.who)) == 1
    assert "secret" not in page.content()


def test_training_and_calibration_end_with_what_came_of_them(place, tab):
    made = with_rounds(place.home, f"Rounds {uuid4().hex[:8]}")
    who = made.person(f"Eve {uuid4().hex[:8]}")
    tab.open(made.address(place.url, who))
    page = tab.page
    answer = lambda: "n" if on_screen(page) % 2 else "y"  # noqa: E731
    page.get_by_role("button", name="Start training").click()
    page.wait_for_selector(SHOWN)
    for _ in range(2):
        wait_for_case(page)
        press_any(page, answer())
    page.get_by_role("heading", name="You gave the known answer in 2 of 2 training cases.").wait_for()
    page.get_by_role("button", name="Go on to calibration").click()
    page.get_by_role("button", name="Start calibration").click()
    page.wait_for_selector(SHOWN)
    for _ in range(4):
        wait_for_case(page)
        press_any(page, answer())
    page.get_by_role("heading", name=re.compile("Passed: kappa 1.00")).wait_for()
    assert page.evaluate("() => Object.keys(localStorage).filter(k => k.startsWith('oddyssey.label'))") == []
    page.get_by_role("button", name="Start labelling").click()
    page.wait_for_selector(SHOWN)
    assert page.evaluate("() => document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right") <= 1
    press(page, "n")
    saved(page)
    slots = [e.new.slot for e in made.store.labels.events(made.cases.id, who.id)]
    assert slots == ["training:1"] * 2 + ["calibration:1"] * 4 + ["main"]
    tab.check()
    made.store.close()


def press_any(page, key):
    """Press a key, also for the last case of a round, after which the component goes."""
    handle, before = label(page).element_handle(), label(page).get_attribute("data-case")
    page.keyboard.press(key)
    page.wait_for_function("([label, before]) => !label.isConnected || label.dataset.case !== before", arg=[handle, before])
