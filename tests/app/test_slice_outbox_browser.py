"""The outbox of the gallery by itself in a real browser: what it sends after a reload, in which order, and what is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.browser

WEB = ROOT / "pages" / "shared" / "slices" / "web"
PRESS = """async () => {
    const { Outbox } = await import("/outbox.js");
    const box = new Outbox("s", () => {});
    const real = Date.now;
    let now = real();
    Date.now = () => (now -= 3_600_000);  // the clock is set back by an hour between presses
    for (const verdict of ["accept", "withdraw", "reject"]) box.add({ hypothesis: "h", unit: "u", verdict, who: "ann", payload: {} });
    box.add({ hypothesis: "h", unit: "v", verdict: "unsure", who: "ann", payload: {} });
    Date.now = real;
    const again = new Outbox("s", () => {});
    const order = again.events.map((e) => e.verdict);
    const waits = [again.verdict("h", "u", "ann"), again.verdict("h", "u", "bea"), again.verdict("g", "u", "ann")];
    const uids = again.events.map((e) => e.uid);
    const refused = again.update({ acked: uids.slice(0, 3), conflicts: [{ uid: uids[3], text: "no" }] }).map((r) => r.text);
    const count = (set) => new Outbox(set, () => {}).events.length;
    return { order, waits, refused, left: count("s"), other: count("t") };
}"""


def test_a_reload_sends_judgements_in_their_order_and_only_until_they_are_stored(browser) -> None:
    page = browser.new_context().new_page()

    def give(route) -> None:
        name = Path(route.request.url).name
        text = (WEB / name).read_text(encoding="utf-8") if name.endswith(".js") else "<!doctype html>"
        route.fulfill(body=text, content_type="text/javascript" if name.endswith(".js") else "text/html")

    page.route("**/*", give)
    page.goto("http://localhost/")
    found = page.evaluate(PRESS)
    assert found["order"] == ["accept", "withdraw", "reject", "unsure"]
    assert found["waits"] == ["reject", None, None]
    assert (found["refused"], found["left"], found["other"]) == (["no"], 0, 0)
    page.context.close()
