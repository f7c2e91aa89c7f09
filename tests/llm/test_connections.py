"""Which endpoint serves which role, and that a key is only ever read from the environment."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.errors import InputError
from core.llm import Connection, Price, Profile, connections, endpoint_for, endpoints_for
from core.llm.client import _new
from core.llm.connections import checked, connection_for, connection_of, forget, from_environment, learn, save, saved
from core.settings import Settings
from core.storage import open_store

KEY = "sk-very-secret-0123456789"
LLM = {"ODDYSSEY_LLM_BASE_URL": "http://localhost:8000/v1/", "ODDYSSEY_LLM_MODEL": "qwen", "ODDYSSEY_LLM_API_KEY": KEY}
HERE = Connection("llm", "http://localhost:8000/v1", "qwen")


@pytest.fixture
def store(workspace):
    opened = open_store(Settings.from_environment())
    yield opened
    opened.close()


def test_the_environment_describes_an_endpoint():
    e = endpoint_for("llm", None, LLM)
    assert (e.base_url, e.model, e.key, e.borrowed, e.name) == ("http://localhost:8000/v1", "qwen", KEY, "", "qwen")
    more = LLM | {"ODDYSSEY_LLM_LABEL": "Q", "ODDYSSEY_LLM_KIND": "azure", "ODDYSSEY_LLM_API_VERSION": "1", "ODDYSSEY_LLM_TIMEOUT": "7.5"}
    e = endpoint_for("llm", None, more)
    assert (e.name, e.kind, e.api_version, e.profile.timeout) == ("Q", "azure", "1", 7.5)


def test_without_an_address_there_is_no_endpoint():
    assert endpoint_for("llm", None, {}) is None
    assert endpoint_for("llm", None, {"ODDYSSEY_LLM_MODEL": "qwen", "ODDYSSEY_LLM_BASE_URL": " "}) is None
    assert endpoints_for(None, {}) == {}


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"ODDYSSEY_LLM_MODEL": ""}, "model"),
        ({"ODDYSSEY_LLM_BASE_URL": "localhost:8000"}, "base_url"),
        ({"ODDYSSEY_LLM_KIND": "other"}, "kind"),
        ({"ODDYSSEY_LLM_TIMEOUT": "0"}, "profile.timeout"),
        ({"ODDYSSEY_LLM_TIMEOUT": "soon"}, "profile.timeout"),
    ],
)
def test_an_environment_that_cannot_be_used_says_so(change, column):
    with pytest.raises(InputError, match="ODDYSSEY_LLM_") as e:
        endpoint_for("llm", None, LLM | change)
    assert [p.column for p in e.value.problems] == [column]
    assert KEY not in str(e.value)


def test_a_role_without_an_endpoint_borrows_one_and_says_so():
    every = {k.replace("LLM", r): v for r in ("LLM", "VLM") for k, v in LLM.items()}
    found = endpoints_for(None, every)
    assert {r: e.borrowed for r, e in found.items()} == {"llm": "", "vlm": "", "judge": "llm", "tagger": "vlm"}
    own = every | {k.replace("LLM", "JUDGE"): v for k, v in LLM.items()} | {"ODDYSSEY_JUDGE_MODEL": "other"}
    judge = endpoint_for("judge", None, own)
    assert (judge.model, judge.borrowed) == ("other", "")


def test_the_environment_comes_before_what_is_saved(store):
    save(store, replace(HERE, model="saved"))
    assert endpoint_for("llm", store, {}).model == "saved"
    assert endpoint_for("llm", store, LLM).model == "qwen"
    assert [connection_for("llm", store, env)[1] for env in ({}, LLM)] == ["saved", "environment"]
    forget(store, "llm")
    assert (endpoint_for("llm", store, {}), connection_for("llm", store, {})) == (None, (None, ""))


def test_a_saved_connection_comes_back_as_it_was(store):
    made = replace(
        HERE, label="Q", key_variable="MY_API_KEY", price=Price(1.0, 2.0, 0.04, "EUR"), profile=Profile(mode="plan", extra_body={"a": [1]})
    )
    assert saved("llm", store) is None
    assert save(store, made) == saved("llm", store) == connection_of(made.as_dict()) == made


def test_the_key_is_read_from_the_environment_and_never_saved(store):
    save(store, replace(HERE, key_variable="MY_API_KEY"))
    assert endpoint_for("llm", store, {"MY_API_KEY": f"{KEY}\n"}).key == KEY
    assert endpoint_for("llm", store, {}).key == ""
    assert KEY not in json.dumps(store.preferences.all())


@pytest.mark.parametrize("variable", [KEY, "DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "my_api_key", "PATH"])
def test_only_variables_of_api_keys_can_be_named_and_what_may_be_a_key_is_not_repeated(variable):
    with pytest.raises(InputError) as e:
        checked(replace(HERE, key_variable=variable))
    assert [p.column for p in e.value.problems] == ["key_variable"]
    assert KEY not in str(e.value)


@pytest.mark.parametrize(
    ("address", "tidy"),
    [
        (" http://localhost:8000/v1/ ", "http://localhost:8000/v1"),
        ("https://host/v1/chat/completions", "https://host/v1"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://a:8000/v1/, http://b:8000/v1", "http://a:8000/v1,http://b:8000/v1"),
    ],
)
def test_addresses_are_tidied(address, tidy):
    assert checked(replace(HERE, base_url=address)).base_url == tidy


@pytest.mark.parametrize(
    "address",
    [
        "",
        "host",
        "ftp://host/v1",
        "http://",
        "http://host:port/v1",
        "http://[::1/v1",
        "http://a/v1, b",
        f"https://user:{KEY}@host/v1",
        f"https://host/v1?key={KEY}",
        f"https://host/v1#{KEY}",
    ],
)
def test_addresses_that_cannot_be_used_or_hold_a_secret_are_refused_without_repeating_it(address):
    with pytest.raises(InputError) as e:
        checked(replace(HERE, base_url=address))
    assert [p.column for p in e.value.problems] == ["base_url"]
    assert KEY not in str(e.value)


def test_everything_that_is_wrong_is_told_at_once():
    with pytest.raises(InputError) as e:
        checked(Connection("llm", "", "", key_variable="x"))
    assert [p.column for p in e.value.problems] == ["base_url", "model", "key_variable"]
    with pytest.raises(InputError) as e:
        connection_of({"role": "nobody", "model": 7})
    assert [p.column for p in e.value.problems] == ["role", "base_url", "model"]


def test_what_is_learned_of_a_server_serves_every_connection_to_it(store):
    save(store, HERE)
    save(store, replace(HERE, role="judge", model="other"))
    learn(store, endpoint_for("llm", store, {}), Profile(temperature=False))
    assert not saved("llm", store).profile.temperature
    assert saved("judge", store).profile.temperature
    assert not endpoint_for("llm", store, LLM).profile.temperature
    assert endpoint_for("llm", store, LLM | {"ODDYSSEY_LLM_TIMEOUT": "5"}).profile == Profile(temperature=False, timeout=5.0)
    assert endpoint_for("llm", store, LLM | {"ODDYSSEY_LLM_MODEL": "new"}).profile == Profile()


def test_the_module_has_what_pages_use():
    assert connections.LENDERS == {"judge": "llm", "tagger": "vlm"}
    assert from_environment("images", {}) is None


@pytest.mark.parametrize("end", ["", "/", "/openai", "/openai/", "/openai/deployments/gpt", "/openai/deployments/gpt/chat/completions"])
@pytest.mark.parametrize(
    ("version", "url"),
    [
        ("2024-10-21", "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21"),
        ("", "https://x.openai.azure.com/openai/v1/chat/completions"),
    ],
)
def test_an_azure_address_may_be_copied_from_anywhere(end, version, url):
    given = {"kind": "azure", "base_url": f"https://x.openai.azure.com{end}", "model": "gpt", "api_version": version, "role": "llm"}
    from openai._models import FinalRequestOptions

    client = _new(connection_of(given).endpoint({}))
    options = FinalRequestOptions.construct(method="post", url="/chat/completions", json_data={"model": "gpt", "messages": []})
    assert str(client._build_request(options).url) == url


@pytest.mark.parametrize("end", ["/openai/v1", "/openai/v1/", "/openai/v1/chat/completions"])
def test_the_newer_azure_address_stays(end):
    given = {"kind": "azure", "base_url": f"https://x.openai.azure.com{end}", "model": "gpt", "role": "llm"}
    assert str(_new(connection_of(given).endpoint({})).base_url) == "https://x.openai.azure.com/openai/v1/"
