"""The Campaign view in a real browser: plan, save, reload, set a status, download; widths and themes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from importlib.util import find_spec

import pytest

from core import operators
from core.acquisition import Request
from core.scoring import ScoringParameters
from core.settings import Settings
from core.storage import open_store
from tests.conftest import start_server, stop_server

pytestmark = pytest.mark.browser
QUOTAS = "&quota=environment%3Dhighway%3A%3C%3D10&quota=weather_visibility%3Dsnowy%3A%3E%3D2000&cost=time%3Dnight%3A2"


@pytest.fixture
def server(tmp_path_factory):
    """A server of each test's own, since every test saves something."""
    running = start_server(tmp_path_factory.mktemp("server"))
    yield running
    stop_server(running)


@pytest.fixture
def store(server):
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(server.home)}))
    operators.load_demo(opened)
    yield opened
    opened.close()


def press(tab, name: str) -> None:
    button = tab.page.get_by_role("button", name=name, exact=True)
    button.and_(tab.page.locator("[data-testid]")).click()  # the arrow of a select box is called "Open" as well
    tab.page.wait_for_timeout(400)
    tab.settle()


def test_a_campaign_is_planned_saved_found_again_and_its_status_set(server, store, open_tab):
    tab = open_tab()
    page = tab.open(f"{server.url}/ranked_gaps?table={operators.load_demo(store)[0].id}")
    page.get_by_test_id("stButtonGroup").get_by_text("Campaign", exact=True).click()
    page.wait_for_url("**view=Campaign**")
    tab.settle()
    assert tab.headline().startswith("Test 40 slices with 3,720 samples")
    page.get_by_label("Slices at most").fill("12")
    page.keyboard.press("Enter")
    page.wait_for_url("**budget_slices=12**")
    tab.settle()
    assert tab.headline().startswith("Test 12 slices with 1,116 samples")
    press(tab, "Save campaign")
    page.get_by_label("Name", exact=True).fill("Winter nights")
    press(tab, "Save")
    page.wait_for_url("**campaign=**")
    assert tab.headline() == "Winter nights: 0 of 12 slices evaluated, 0 more acquired, 12 still planned."

    page.reload()
    tab.settle()
    assert tab.headline().startswith("Winter nights: 0 of 12 slices evaluated")
    other = open_tab()  # another person, who opens the planning view
    other.open(f"{server.url}/ranked_gaps?view=Campaign&budget_slices=12")
    assert other.page.locator(".st-key-campaign_form").is_visible()
    assert "12 planned" in other.page.locator("[class*='st-key-od-campaign-']").inner_text()

    box = page.locator("[data-testid='stDataFrame']").first.bounding_box()
    for row in (0, 2):
        page.mouse.click(box["x"] + 15, box["y"] + 37 + 33 * (row + 0.5))
        page.wait_for_timeout(500)
        tab.settle()
    page.get_by_text("2 slices selected").wait_for()
    page.get_by_label("Note", exact=True).fill("truck 7")
    press(tab, "Acquired")
    page.get_by_text("2 slices acquired").wait_for()
    assert tab.headline() == "Winter nights: 0 of 12 slices evaluated, 2 more acquired, 10 still planned."
    (x,) = store.campaigns.list()
    assert [(s.planned.rank, s.note) for s in store.campaigns.load(x.id).slices if s.status == "acquired"] == [
        (1, "truck 7"),
        (3, "truck 7"),
    ]

    press(other, "Open")
    assert other.headline() == tab.headline()
    press(tab, "Back to planning")
    assert "campaign=" not in page.url
    assert "12" in page.get_by_text("Other campaigns of this ODD have them.").locator("xpath=ancestor::tr").inner_text()
    tab.check()
    other.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plan_and_saved_campaign_fit_every_window(server, store, open_tab, theme):
    table = operators.load_demo(store)[0]
    result = operators.rank(store.tables.load(table.id), ScoringParameters(), Settings.from_environment(), top=100)
    x = operators.save_campaign(store, "x" * 120, operators.plan_campaign(result, Request(5)), table)
    for width in (1440, 900):
        tab = open_tab(width=width, theme=theme)
        for address in (QUOTAS, f"&campaign={x.id}", "&scope=out"):
            tab.open(f"{server.url}/ranked_gaps?view=Campaign&table={table.id}{address}")
            tab.page.wait_for_timeout(500)
            tab.check()


def test_the_downloads_hold_the_plan_that_is_shown(server, store, tab, tmp_path):
    page = tab.open(f"{server.url}/ranked_gaps?view=Campaign&budget_slices=5")
    press(tab, "Download")
    assert page.get_by_text("What OpenSCENARIO does not say").is_visible()
    labels = ["CSV", "JSON, with the manifest"] + (["OpenSCENARIO XML"] if find_spec("scenariogeneration") else [])
    files = {}
    for label in labels:
        with page.expect_download() as download:
            page.get_by_role("button", name=label, exact=True).click()
        files[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[label])
    rows = list(csv.DictReader(files["CSV"].read_text(encoding="utf-8").splitlines()))
    document = json.loads(files["JSON, with the manifest"].read_text(encoding="utf-8"))
    assert [r["slice_id"] for r in rows] == [str(i["slice_id"]) for i in document["items"]]
    assert document["manifest"]["campaign"]["request"]["budget"] == 5
    if "OpenSCENARIO XML" in files:
        with zipfile.ZipFile(io.BytesIO(files["OpenSCENARIO XML"].read_bytes())) as z:
            assert sum(n.endswith(".xosc") for n in z.namelist()) == len(rows) == 5
    tab.check()
