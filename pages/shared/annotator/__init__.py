"""The annotation component: six cameras, the scene from above, and the keys, in one piece of the browser's own code.

What goes down is where the next cases lie; what comes up is the outbox, a state and not a trigger, so that no rapid press is lost:
it holds every event that is not known to be stored, and it is sent again until it is. Cases and images come over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

VERSION = "1"
"""Of the page on which people label; every label carries it."""
WEB = Path(__file__).with_name("web")
PACKAGE, ANNOTATOR, FILES = "oddyssey", "annotator", "cases"


@dataclass(frozen=True)
class Asked:
    """What the component asks for.

    Attributes:
        guidance: To open the guidance.
        over: To end the round: nothing is left, and everything is stored.
    """

    guidance: bool
    over: bool


def annotate(data: Mapping[str, Any], key: str, on_outbox: Callable[[], None]) -> Asked:
    """Show the component; gives what it asked for just now.

    Args:
        data: What `pages.shared.label_loop.data_down` makes.
        key: Widget key; `outbox_of(key)` gives what came up.
        on_outbox: Called when the outbox changed, before anything is drawn.
    """
    publish(ANNOTATOR, WEB)
    result = _component()(
        key=key, data=dict(data), on_outbox_change=on_outbox, on_guidance_change=lambda: None, on_over_change=lambda: None
    )
    return Asked(bool(result.get("guidance")), bool(result.get("over")))


def outbox_of(key: str) -> Mapping[str, Any]:
    """The outbox as it came up last: {"n": its number, "events": [...]}; both missing before the first press."""
    value = st.session_state.get(key)
    found = value.get("outbox") if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def publish(name: str, folder: Path) -> str:
    """Let the browser read the files of a folder, wherever it lies; gives the address, relative to that of the app.

    Streamlit gives out the files of a component from its folder. Its media files would do as well, but lie in memory, and those of
    a run that was interrupted by the next press are gone for a moment.
    """
    manager, full = get_bidi_component_manager(), f"{PACKAGE}.{name}"
    if manager.get_component_asset_root(full) != folder.resolve():
        manager.register_from_manifest(ComponentManifest(PACKAGE, VERSION, [ComponentConfig(name, ".")]), folder)
    return f"_stcore/bidi-components/{full}/"


@cache
def _component() -> Callable[..., Any]:
    css = (WEB / "annotator.css").read_text(encoding="utf-8")
    return st.components.v2.component(f"{PACKAGE}.{ANNOTATOR}", html='<div class="od-label"></div>', css=css, js="main.js")
