"""Connections to models as the pages need them: where they come from, and whether their key is there. Keys are never shown or kept."""

from __future__ import annotations

import os
from collections.abc import Mapping

import streamlit as st

from core.llm import ROLES, Endpoint, Role
from core.llm import connections as core_connections
from pages.shared import state

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


def environment() -> Mapping[str, str]:
    """The process environment over the secrets of Streamlit, so that a key may lie in either."""
    return {**_secrets(), **os.environ}


def _secrets() -> dict[str, str]:
    if not st.secrets.load_if_toml_exists():
        return {}
    return {str(k): v for k, v in st.secrets.items() if isinstance(v, str)}


def endpoint(role: Role) -> Endpoint | None:
    """The endpoint of a role, with what it falls back to; None if there is none."""
    return core_connections.endpoint_for(role, state.store(), environment())


def endpoints() -> dict[Role, Endpoint]:
    """All endpoints that there are, by role."""
    return {role: e for role in ROLES if (e := endpoint(role)) is not None}
