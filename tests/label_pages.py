"""What tests of the label page in a browser share: what is on the screen, and keys that wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.label_sets import case_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.conftest import Tab

SHOWN = ".od-label[data-case]"
SEEN_MS = 200
CODES = {"y": "Y", "n": "N", " ": "U"}
PIXEL = """(label) => {
    const canvas = label.querySelector('.cam canvas[role="img"]');
    if (!canvas || !canvas.width) return null;
    const d = canvas.getContext('2d').getImageData(canvas.width - 12, 12, 1, 1).data;
    return d[3] < 255 ? null : [d[0], d[1], d[2]];
}"""


def label(page: Page) -> Locator:
    """The root of the component."""
    return page.locator(".od-label")


def progress(page: Page) -> str:
    """What stands beside the case about how far one is."""
    return label(page).locator(".progress").inner_text()


def ignored(page: Page) -> int:
    """Presses that were not taken."""
    return int(label(page).get_attribute("data-ignored") or 0)


def on_screen(page: Page) -> int | None:
    """The case whose picture the first camera shows, read from its pixels; None without one."""
    rgb = label(page).evaluate(PIXEL)
    return None if rgb is None else case_of(tuple(rgb))


def wait_for_case(page: Page) -> str:
    """Wait until a case has been on the screen long enough for a key to count; gives its name in the browser."""
    found: str = page.wait_for_function(
        """([label, seen]) => {
            const now = label.dataset.case;
            if (!now) { window.since = null; return null; }
            if (!window.since || window.since[0] !== now) { window.since = [now, performance.now()]; return null; }
            return performance.now() - window.since[1] > seen + 20 ? now : null;
        }""",
        arg=[label(page).element_handle(), SEEN_MS],
        timeout=30_000,
    ).json_value()
    return found


def saved(page: Page) -> None:
    """Wait until everything that was pressed is stored."""
    page.wait_for_selector('.od-label[data-waiting="0"]', timeout=30_000)


def gone(page: Page, case: str) -> None:
    """Wait until a case is not on the screen any more."""
    page.wait_for_function("([label, before]) => label.dataset.case !== before", arg=[label(page).element_handle(), case], timeout=30_000)


def press(page: Page, key: str) -> int | None:
    """Press a key for the case on the screen and wait until another one is up; gives the number of the case that was shown."""
    before = wait_for_case(page)
    shown = on_screen(page)
    page.keyboard.press(key)
    gone(page, before)
    return shown


def start(tab: Tab, address: str) -> Page:
    """Open the page and wait for the first case."""
    tab.open(address)
    tab.page.wait_for_selector(SHOWN)
    return tab.page
