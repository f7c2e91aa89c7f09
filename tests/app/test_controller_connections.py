"""The settings of connections: what is saved never holds a key, and a test tells what the server can do."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.llm import Connection, Price, connections
from core.settings import Settings
from core.storage import Store, open_store
from pages.shared import connections_form, limits
from tests.apptest import html, text
from tests.stub_llm import StubServer, call

SECRET = "sk-very-secret"


@pytest.fixture
def store() -> Store:
    opened = open_store(Settings.from_environment())
    operators.load_demo(opened)
    return opened


def page() -> None:
    """The content of the dialog on a page of its own: AppTest draws whole pages, and a dialog is gone with the next run."""
    import streamlit as st

    from pages.shared import connections_form

    connections_form._draw_again = st.rerun
    st.session_state.setdefault("connection.role", "llm")
    connections_form.settings()


@pytest.fixture(autouse=True)
def draw_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections_form, "_draw_again", connections_form._draw_again)  # put back after `page` changed it


def opened() -> AppTest:
    return AppTest.from_function(page, default_timeout=60).run()


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click()
    app.run()
    assert not app.exception
    return app


def fill(app: AppTest, role: str = "llm", **values: str) -> None:
    for name, value in values.items():
        app.text_input(key=f"connection.{role}.0.{name}").set_value(value)
    app.run()


def test_every_role_says_what_it_is_for_and_that_none_is_connected(store):
    app = opened()
    assert "not connected" in text(app)
    for role, words in (("vlm", "Its results count under its name"), ("judge", "Judges open answers"), ("images", "stay unfilled")):
        app.segmented_control(key="connection.role").set_value(role).run()
        assert words in text(app)
        assert not app.exception


def test_what_is_wrong_is_said_all_at_once_and_nothing_is_saved(store):
    app = opened()
    fill(app, url="ftp://here", variable="sk-abcdef")
    press(app, "Save")
    said = text(app)
    assert "The connection cannot be used." in said
    for part in ("base_url", "model", "key_variable"):
        assert part in said
    assert "sk-abcdef" not in html(app)
    assert connections.saved("llm", store) is None


def test_a_saved_connection_holds_the_name_of_the_variable_and_never_the_key(store, monkeypatch):
    monkeypatch.setenv("TEAM_API_KEY", SECRET)
    connections.save(
        store, Connection("vlm", "http://127.0.0.1:9/v1", "m1-7b", label="M1", key_variable="TEAM_API_KEY", price=Price(1.0, 2.0))
    )
    app = opened()
    app.segmented_control(key="connection.role").set_value("vlm").run()
    said = text(app)
    assert "saved" in said
    assert "key is set" in said
    assert "m1-7b" in said
    fill(app, "vlm", label="M1, November")
    press(app, "Save")
    found = connections.saved("vlm", store)
    assert (found.label, found.key_variable, found.price) == ("M1, November", "TEAM_API_KEY", Price(1.0, 2.0))
    kept = json.dumps(store.preferences.all())
    for place in (kept, html(app), (Settings.from_environment().home / "oddyssey.db").read_bytes().decode("latin-1")):
        assert SECRET not in place


def test_a_connection_of_the_environment_is_shown_but_not_changed_here(store, monkeypatch):
    monkeypatch.setenv("ODDYSSEY_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ODDYSSEY_LLM_MODEL", "planner-3b")
    monkeypatch.setenv("ODDYSSEY_LLM_API_KEY", SECRET)
    app = opened()
    assert "from the environment" in text(app)
    assert not any(b.label == "Save" for b in app.button)
    assert SECRET not in html(app)
    app.segmented_control(key="connection.role").set_value("judge").run()
    assert "borrowed from controller" in text(app)


def test_a_test_tells_what_the_server_can_do_and_the_form_takes_it_over(store):
    with StubServer(
        lambda r: call("set_time", {"time": "night"}) if r.body.get("tools") else '{"time": "night"}', models=("a", "b")
    ) as stub:
        connections.save(store, Connection("llm", stub.url, "b"))
        app = opened()
        press(app, "Test connection")
        said = text(app)
        assert "serves its purpose" in said
        assert "The server lists 2 models." in said
        assert "Tool calls work." in said
        assert "What was learned stands in the form now; save it to keep it." in said
        before = connections.saved("llm", store).profile
        press(app, "Save")
        assert connections.saved("llm", store).profile.mode == "tools"
        assert before.mode == "tools"


def test_a_server_that_does_not_answer_is_a_finding(store):
    connections.save(store, Connection("llm", "http://127.0.0.1:9/v1", "b"))
    app = press(opened(), "Test connection")
    assert "does not serve its purpose" in text(app)


def test_a_removed_connection_is_gone(store):
    connections.save(store, Connection("llm", "http://127.0.0.1:9/v1", "b"))
    app = press(opened(), "Remove")
    assert connections.saved("llm", store) is None
    assert "not connected" in text(app)


def test_limits_are_kept_and_a_few_calls_at_a_time_begin_with_no_more(store):
    assert limits.kept() == limits.Limits()
    store.preferences.set("evaluation.limits", {"most": 2, "max_calls": 200})
    now = limits.kept()
    assert (now.start, now.most, now.max_calls) == (2, 2, 200)
    assert limits.in_words(now, "EUR") == "It pauses after 200 calls."
