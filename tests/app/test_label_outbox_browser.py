"""The outbox of the annotation page by itself in a real browser: what it sends after a reload, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.browser

WEB = ROOT / "pages" / "shared" / "annotator" / "web"
PRESS = """async () => {
    const { Session } = await import("/session.js");
    const data = { annotator: "a", set: "s", round: "labelling" };
    const item = { id: "t1", seq: 1, position: 1, open: true };
    const session = new Session(data, () => {});
    session.items.set("t1", item);
    session.done = 1;
    const real = Date.now;
    let now = real();
    Date.now = () => (now -= 3_600_000);  // the clock is set back by an hour between presses
    session.label(item, "Y", {});
    session.undo();
    session.label(item, "N", {});
    session.add(item, "comment", { payload: { text: "dark" } });
    Date.now = real;
    return new Session(data, () => {}).outbox.map((e) => [e.kind, e.label ?? "", e.seq]);
}"""


def test_a_reload_sends_presses_in_their_order_whatever_the_clock_does(browser) -> None:
    page = browser.new_context().new_page()

    def give(route) -> None:
        name = Path(route.request.url).name
        text = (WEB / name).read_text(encoding="utf-8") if name.endswith(".js") else "<!doctype html>"
        route.fulfill(body=text, content_type="text/javascript" if name.endswith(".js") else "text/html")

    page.route("**/*", give)
    page.goto("http://localhost/")
    assert page.evaluate(PRESS) == [["label", "Y", 1], ["undo", "", 2], ["label", "N", 3], ["comment", "", 4]]
    page.context.close()
