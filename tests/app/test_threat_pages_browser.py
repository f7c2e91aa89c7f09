"""The pages of trajectory threats in a real browser, with cases and labels: nothing sticks out, nothing fails, charts are drawn."""

from __future__ import annotations

import pytest

from core.labels.guidance import read_guidance
from core.settings import Settings
from core.storage import open_store
from tests.threat_sets import threat_set

pytestmark = pytest.mark.browser

ADDRESSES = [
    *("cases", "cases?all_cameras=true&case=1", "cases?view=Metrics", "cases?view=Sets+and+import"),
    *("review", "review?view=Agreement", "review?view=Progress", "review?view=Times", "review?view=Export"),
    *("threats", "threats?view=By+threat", "threats?view=By+metric", "threats?view=Overlap"),
]
MAIN = ("cases", "review", "review?view=Progress", "threats")
CHARTS = {"cases": 2, "review": 2, "review?view=Agreement": 2, "review?view=Times": 1, "threats": 1, "threats?view=By+threat": 1,
          "threats?view=By+metric": 1, "threats?view=Overlap": 4}  # fmt: skip
"""Charts that a view draws; one that its specification breaks would leave none."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A server whose workspace holds cases that three people labelled."""
    from tests.conftest import start_server, stop_server

    running = start_server(tmp_path_factory.mktemp("threats"))
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(running.home)}))
    threat_set(store)
    yield running, store
    store.close()
    stop_server(running)


@pytest.mark.parametrize(("address", "width", "theme"), [*((a, 900, "dark") for a in ADDRESSES), *((a, 1440, "light") for a in MAIN)])
def test_every_view_fits_and_draws(filled, open_tab, address, width, theme):
    running, _ = filled
    tab = open_tab(width=width, theme=theme)
    page = tab.open(f"{running.url}/{address}")
    if wanted := CHARTS.get(address):
        page.wait_for_function(
            f"""() => document.querySelectorAll('[data-testid="stVegaLiteChart"] :is(canvas, svg.marks)').length >= {wanted}"""
        )
    tab.check()


@pytest.mark.parametrize(("width", "theme"), [(900, "light")])
def test_the_guidance_is_read_example_by_example(filled, open_tab, width, theme):
    running, store = filled
    who = store.labels.register(f"Reader {width}", 0, False)
    set_id = store.cases.list()[-1].id
    tab = open_tab(width=width, theme=theme)
    page = tab.open(f"{running.url}/label?set={set_id}&who={who.id}")
    n = len(read_guidance().examples)
    for k in range(1, n):
        page.get_by_role("button", name="Next", exact=True).click()
        page.get_by_text(f"example {k + 1} of {n}").wait_for()
        tab.settle()  # an image that is asked for after it was replaced would be a 404
        page.wait_for_function("() => [...document.querySelectorAll('[data-testid=stImage] img')].every(i => i.complete)")
    tab.check()
    page.get_by_role("button", name="I have read this").click()
    page.get_by_text("Start training").wait_for()
    tab.settle()
    tab.check()
    assert store.preferences.get(f"labels.guidance.{who.id}") == read_guidance().tag


def test_a_person_registers_and_a_reload_goes_on_with_them(filled, tab):
    running, store = filled
    page = tab.open(f"{running.url}/label")
    page.get_by_role("textbox", name="Your name").fill("Grace")
    page.get_by_role("spinbutton").fill("0")
    page.get_by_role("button", name="Register", exact=True).click()
    page.wait_for_url("**who=*")
    page.get_by_text("worked examples").first.wait_for()
    grace = next(a for a in store.labels.annotators() if a.name == "Grace")
    page.reload()
    tab.settle()
    assert grace.id in page.locator(".od-prov").inner_text()
    assert "Grace" not in page.locator("[data-testid='stMain']").inner_text()
    tab.check()
