"""Settings of the connections to models: where each answers, under which name its results count, what it costs, what it can do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import streamlit as st

from core.errors import InputError, OddysseyError
from core.llm import ROLES, Mode, Price, Profile, Role
from core.llm.connections import Connection
from pages.shared import connections, shell
from pages.shared.connections import NAMES, USES
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


@st.dialog("Connections", width="large")
def show(first: Role = "llm") -> None:
    """All roles, one at a time."""
    role: Role = st.segmented_control(
        "Used as", ROLES, default=first, required=True, key="connection_role", format_func=NAMES.__getitem__, label_visibility="collapsed"
    )
    shell.note(USES[role])
    try:
        found = connections.lookup(role)
    except OddysseyError as e:
        shell.error_card(e)
        return
    shell.html(_state(role, found))
    if found.fixed:
        shell.note("It is set in the environment of the app, which comes before anything that is saved here.")
        _test(found.connection)
        return
    draft = _fields(role, found.connection)
    with st.container(horizontal=True, gap="small"):
        save = st.button("Save", type="primary", key=f"connection-save-{role}")
        test = st.button("Test connection", key=f"connection-test-{role}")
        remove = found.saved and st.button("Remove", type="tertiary", key=f"connection-remove-{role}")
    with shell.errors_as_card(changed="Nothing was saved."):
        if remove:
            connections.remove(role)
            st.rerun(scope="fragment")
        if save:
            connections.save(draft)
            st.toast(f"{NAMES[role]} saved.")
            st.rerun()
        if test:
            _test(draft, at_once=True)


def _state(role: Role, found: connections.Found) -> Text:
    """What the role uses now."""
    e = found.endpoint
    if e is None:
        return fill("{c}", c=chip("not connected", "wait"))
    marks = [
        chip(
            "from the environment" if found.fixed else f"falls back to {NAMES[found.falls_back].lower()}" if found.falls_back else "saved",
            "info",
        )
    ]
    marks.append(chip("key is set", "done") if e.key else chip("no key", "outline"))
    return fill("{marks} {model} at {url}", marks=join(marks, " "), model=code(e.model), url=code(e.base_url))


def _fields(role: Role, now: Connection | None) -> Connection:
    """The form; returns what it says."""
    c = now or Connection(role=role, base_url="", model="")
    key = lambda name: f"connection-{role}-{name}"  # noqa: E731
    a, b = st.columns(2, gap="medium")
    with a:
        url = st.text_input("Base URL", c.base_url, key=key("url"), placeholder="http://localhost:8000/v1")
        known = connections.models_seen(role)
        model = (
            st.selectbox("Model", list(dict.fromkeys([*([c.model] if c.model else []), *known])), key=key("model"), accept_new_options=True)
            if known
            else st.text_input("Model", c.model, key=key("model"), help="Its name on the wire.")
        )
        label = st.text_input("Counts as model", c.label, key=key("label"), placeholder=model or "", help="Name under which results count.")
    with b:
        kind = st.segmented_control(
            "Kind of server", list(_KINDS), default=c.kind, required=True, key=key("kind"), format_func=_KINDS.__getitem__
        )
        version = st.text_input("API version", c.api_version, key=key("version")) if kind == "azure" else c.api_version
        variable = st.text_input(
            "Variable with the key",
            c.key_variable,
            key=key("variable"),
            placeholder="none, for a server without a key",
            help="Name of an environment variable or of an entry in Streamlit's secrets. The key itself is never typed or shown here.",
        )
        if variable:
            there = connections.has_key(variable)
            shell.html(chip("the key is there", "done") if there else chip("no such variable is set", "wait"))
    price = _price(key, c.price, images=role == "images")
    profile = _profile(key, c.profile)
    return replace(c, base_url=url.strip(), model=(model or "").strip(), label=label.strip(), kind=kind, api_version=version.strip(),
                   key_variable=variable.strip(), price=price, profile=profile)  # fmt: skip


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


def _test(c: Connection | None, at_once: bool = False) -> None:
    """Try the endpoint and tell what it can do."""
    if c is None or not (at_once or st.button("Test connection", key=f"connection-try-{c.role}")):
        return
    with shell.errors_as_card(changed="Nothing was saved."):
        with st.spinner("Asking the server what it can do."):
            probe = connections.probe(c)
        shell.html(fill("{c}", c=chip("answers", "done") if probe.ok else chip("does not answer as needed", "risk")))
        shell.html(join(fill("{f}", f=f) for f in probe.findings))
        if probe.models:
            shell.note(fill("It names {n} models: {first}", n=len(probe.models), first=", ".join(probe.models[:8])))
