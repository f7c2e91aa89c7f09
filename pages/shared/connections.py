"""Connections to models as the pages need them: where they come from, and what a test found. Keys are never shown or kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.digest import sha256_json
from core.llm import Connection, Endpoint, Probe, Role, endpoint_for, endpoints_for
from core.llm import connections as core_connections
from core.llm.connections import connection_for
from core.operators.connection_check import check_connection
from pages.shared import jobs, state

NAMES: dict[Role, str] = {
    "llm": "Controller",
    "vlm": "Model under test",
    "judge": "Judge",
    "tagger": "Tagger",
    "images": "Image maker",
}
USES: dict[Role, str] = {
    "llm": "Plans what a question asks for. Without one, the offline controller plans.",
    "vlm": "Answers the questions about the samples. Its results count under its name.",
    "judge": "Judges open answers, and choices that cannot be read from the answer alone. Without one, the controller's model is asked.",
    "tagger": "Says which values of the ODD an image shows. Without one, the model under test is asked.",
    "images": "Makes images of slices of which no footage was found. Without one, such slices stay unfilled.",
}


@dataclass(frozen=True)
class Found:
    """What serves a role.

    Attributes:
        connection: Of the role itself, None if it has none.
        fixed: Whether it is set in the environment, where this page cannot change it.
        endpoint: What is used, that of another role where the role has none; None if there is none.
    """

    connection: Connection | None
    fixed: bool
    endpoint: Endpoint | None


def environment() -> Mapping[str, str]:
    """The process environment over the secrets of Streamlit, so that a key may lie in either."""
    return {**_secrets(), **os.environ}


def _secrets() -> dict[str, str]:
    if not st.secrets.load_if_toml_exists():
        return {}
    return {str(k): v for k, v in st.secrets.items() if isinstance(v, str)}


def lookup(role: Role) -> Found:
    """What serves a role.

    Raises:
        InputError: The environment names something that cannot be used.
    """
    connection, source = connection_for(role, state.store(), environment())
    return Found(connection, source == "environment", endpoint(role))


def endpoint(role: Role) -> Endpoint | None:
    """The endpoint of a role, with what it falls back to; None if there is none."""
    return endpoint_for(role, state.store(), environment())


def endpoints() -> dict[Role, Endpoint]:
    """All endpoints that there are, by role."""
    return endpoints_for(state.store(), environment())


def has_key(variable: str) -> bool:
    """Whether a variable is set; what it holds is not looked at further."""
    return bool(environment().get(variable, "").strip())


def save(connection: Connection) -> None:
    """Save a connection for its role.

    Raises:
        InputError: It cannot be used.
    """
    core_connections.save(state.store(), connection)


def forget(role: Role) -> None:
    """Remove what was saved for a role."""
    core_connections.forget(state.store(), role)


def test(connection: Connection, fixed: bool) -> Probe:
    """Ask a server what it can do, off the script thread; a connection of the environment keeps what was learned at once.

    Raises:
        InputError: It cannot be used.
    """
    checked = core_connections.checked(connection)
    target = checked.endpoint(environment())
    store = state.store()
    job = jobs.begin(("probe", store.db.name, sha256_json(checked.as_dict())), lambda job: check_connection(store, target, checked.role))
    job.finished.wait()
    if job.error is not None:
        raise job.error
    found: Probe = job.result
    if fixed:
        core_connections.learn(state.store(), target, found.profile)
    return found
