"""Settings of the connections to models: where each answers, under which name its results count, what it costs, what it can do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import streamlit as st
from markupsafe import Markup

from core.errors import InputError, OddysseyError
from core.llm import ROLES, Connection, Mode, Price, Probe, Profile, Role
from pages.shared import connections, shell
from pages.shared.connections import NAMES, USES, Found
from pages.shared.markup import Text, chip, code, fill, join

_KINDS = {"openai": "OpenAI-compatible", "azure": "Azure deployment"}
_MODES: dict[Mode, str] = {"tools": "tool calls", "plan": "one JSON answer", "none": "not at all"}
_FORMATS = {"json_schema": "JSON schema", "json_object": "any JSON object", "none": "none"}
_VISION = {None: "not tried", True: "yes", False: "no"}
_SWITCHES = {
    "strict": "Tools may say strict",
    "temperature": "Takes a temperature",
    "seed": "Takes a seed",
    "parallel_tool_calls": "Takes parallel_tool_calls",
    "tool_choice": "Takes tool_choice",
    "system": "Takes a system message",
    "stream_usage": "Tells usage in a stream",
    "image_format": "Takes a format of images",
}


_ROLE, _DRAFT, _PROBE, _ROUND = "connection.role", "connection.draft", "connection.probe", "connection.round"


def show(first: Role = "llm") -> None:
    """Open the settings, at the connection of a role."""
    for key in [k for k in st.session_state if str(k).startswith("connection.")]:
        del st.session_state[key]
    st.session_state[_ROLE] = first
    _dialog()


@st.dialog("Connections", width="large")
def _dialog() -> None:
    settings()


def settings() -> None:
    """All roles, one at a time."""
    role: Role = st.segmented_control(
        "Used as", ROLES, required=True, key=_ROLE, format_func=NAMES.__getitem__, label_visibility="collapsed"
    )
    shell.note(USES[role])
    try:
        found = connections.lookup(role)
    except OddysseyError as e:
        shell.error_card(e)
        return
    shell.html(_state(found))
    if found.fixed and found.connection is not None:
        shell.note("It is set in the environment of the app, which comes before anything that is saved here.")
    with shell.errors_as_card(changed="Nothing was saved."):
        draft = found.connection if found.fixed and found.connection else _fields(role, found.connection)
        with st.container(horizontal=True, gap="small"):
            save = not found.fixed and st.button("Save", type="primary", key=f"connection-save-{role}")
            test = st.button("Test connection", key=f"connection-test-{role}")
            saved = found.connection is not None and not found.fixed
            remove = saved and st.button("Remove", type="tertiary", key=f"connection-remove-{role}")
        if remove:
            connections.forget(role)
            _begin_anew(role, None)
        if save:
            connections.save(draft)
            st.rerun()
        if test:
            with st.spinner("Asking the server what it can do.", show_time=True):
                probe = connections.test(draft, found.fixed)
            st.session_state[f"{_PROBE}.{role}"] = probe
            _begin_anew(role, replace(draft, profile=probe.profile))
    _findings(role, found.fixed)


def _begin_anew(role: Role, draft: Connection | None) -> None:
    """Draw the form again with other content."""
    st.session_state[f"{_DRAFT}.{role}"] = draft
    st.session_state[f"{_ROUND}.{role}"] = st.session_state.get(f"{_ROUND}.{role}", 0) + 1
    _draw_again()


def _draw_again() -> None:
    st.rerun(scope="fragment")


def _findings(role: Role, fixed: bool) -> None:
    """What the last test found."""
    probe: Probe | None = st.session_state.get(f"{_PROBE}.{role}")
    if probe is None:
        return
    with st.container(border=True, key="findings"):
        shell.section("Test", chip("serves its purpose", "done") if probe.ok else chip("does not serve its purpose", "risk"))
        shell.html(join(Markup('<p class="od-note">{}</p>').format(f) for f in probe.findings))
        if probe.models:
            first = ", ".join(probe.models[:8]) + (", …" if len(probe.models) > 8 else "")
            shell.note(fill("Models: {first}", first=first))
        shell.note("What was learned is kept." if fixed else "What was learned stands in the form now; save it to keep it.")


def _state(found: Found) -> Text:
    """What the role uses now."""
    e = found.endpoint
    if e is None:
        return chip("not connected", "wait")
    where = f"borrowed from {NAMES[e.borrowed].lower()}" if e.borrowed else "from the environment" if found.fixed else "saved"
    key = chip("key is set", "done") if e.key else chip("no key", "outline")
    counts = fill(", counts as {name}", name=code(e.name)) if e.name != e.model else ""
    line = fill(
        "{where} {key} {model} at {url}{counts}",
        where=chip(where, "info"),
        key=key,
        model=code(e.model),
        url=code(e.base_url),
        counts=counts,
    )
    return Markup('<p class="od-note">{}</p>').format(line)


def _fields(role: Role, now: Connection | None) -> Connection:
    """The form; returns what it says."""
    c: Connection = st.session_state.get(f"{_DRAFT}.{role}") or now or Connection(role=role, base_url="", model="")
    turn = st.session_state.get(f"{_ROUND}.{role}", 0)
    key = lambda name: f"connection.{role}.{turn}.{name}"  # noqa: E731
    probe: Probe | None = st.session_state.get(f"{_PROBE}.{role}")
    known = list(dict.fromkeys([*([c.model] if c.model else []), *(probe.models if probe else ())]))
    a, b = st.columns(2, gap="medium")
    with a:
        url = st.text_input("Base URL", c.base_url, key=key("url"), placeholder="http://localhost:8000/v1")
        model = st.selectbox(
            "Model", known, 0 if known else None, key=key("model"), accept_new_options=True, placeholder="Its name on the wire"
        )
        label = st.text_input("Counts as model", c.label, key=key("label"), placeholder=model or "", help="Its results count under it.")
    with b:
        kinds = list(_KINDS)
        kind = st.segmented_control("Server", kinds, default=c.kind, required=True, key=key("kind"), format_func=_KINDS.__getitem__)
        version = st.text_input("API version", c.api_version, key=key("version")) if kind == "azure" else c.api_version
        variable = st.text_input(
            "Variable with the key",
            c.key_variable,
            key=key("variable"),
            placeholder="none, for a server without a key",
            help="Name of an environment variable, or of an entry in Streamlit's secrets, that ends in _API_KEY. "
            "The key itself is never typed or shown here, and never kept.",
        )
        if variable.strip():
            there = connections.has_key(variable.strip())
            shell.html(chip("the key is there", "done") if there else chip("no such variable is set", "wait"))
    return replace(
        c,
        base_url=url,
        model=model or "",
        label=label,
        kind=kind,
        api_version=version,
        key_variable=variable,
        price=_price(key, c.price, images=role == "images"),
        profile=_profile(key, c.profile),
    )


def _price(key: Any, now: Price | None, images: bool) -> Price | None:
    """What it costs; nothing is assumed."""
    if not st.checkbox(
        "I know the prices", now is not None, key=key("priced"), help="Without prices, no cost is told and none can be capped."
    ):
        return None
    p = now or Price()
    with st.container(horizontal=True, gap="small"):
        prompt = st.number_input("Per million tokens in", 0.0, None, p.input, 0.1, format="%g", key=key("input"), width=150)
        output = st.number_input("Per million tokens out", 0.0, None, p.output, 0.1, format="%g", key=key("output"), width=150)
        image = st.number_input("Per image", 0.0, None, p.image, 0.01, format="%g", key=key("image"), width=120) if images else p.image
        currency = st.text_input("Currency", p.currency, key=key("currency"), width=90, max_chars=8)
    return Price(prompt, output, image, currency.strip())


def _profile(key: Any, p: Profile) -> Profile:
    """How the server speaks; the test learns it, and a person may know better."""
    with st.expander("How the server speaks"):
        a, b = st.columns(2, gap="medium")
        modes, formats, visions = list(get_args(Mode)), list(_FORMATS), list(_VISION)
        with a:
            mode = st.selectbox("Gives a plan by", modes, modes.index(p.mode), format_func=_MODES.__getitem__, key=key("mode"))
            limits = ["max_tokens", "max_completion_tokens"]
            limit = st.selectbox("Name of the token limit", limits, limits.index(p.limit_field), key=key("limit"))
            form = st.selectbox(
                "Form of an answer", formats, formats.index(p.response_format), format_func=_FORMATS.__getitem__, key=key("format")
            )
            vision = st.selectbox("Takes images", visions, visions.index(p.vision), format_func=_VISION.__getitem__, key=key("vision"))
            timeout = st.number_input("Seconds for one call", 1.0, 3600.0, p.timeout, 10.0, format="%g", key=key("timeout"))
        with b:
            switches = {k: st.checkbox(label, getattr(p, k), key=key(k)) for k, label in _SWITCHES.items() if hasattr(p, k)}
        extra = st.text_area("Sent along unchanged, as JSON", json.dumps(dict(p.extra_body)), key=key("extra"), height=70)
    try:
        body = json.loads(extra or "{}")
        if not isinstance(body, dict):
            raise ValueError("no object")
    except ValueError as e:
        raise InputError('"Sent along unchanged" must be a JSON object such as {"top_k": 20}.') from e
    return replace(p, mode=mode, limit_field=limit, response_format=form, vision=vision, timeout=timeout, extra_body=body, **switches)
