"""The gallery component: crops of a slice by the page, judged by keys, and the whole image of one of them.

What goes down is one page of crops, as small files that the browser fetches when they come into view; what comes up is an outbox of
judgements that are not known to be stored, the page that is asked for, and the image that is to be laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared import annotator

WEB = Path(__file__).with_name("web")
GALLERY, FILES = "gallery", "crops"


def gallery(data: Mapping[str, Any], key: str, on_outbox: Callable[[], None]) -> None:
    """Show the component.

    Args:
        data: What `pages.shared.slices.page_of_crops.data_down` makes.
        key: Widget key; `state_of(key)` gives what came up.
        on_outbox: Called when the outbox changed, before anything is drawn.
    """
    annotator.publish(annotator.ANNOTATOR, annotator.WEB)  # shares its small pieces
    annotator.publish(GALLERY, WEB)
    _component()(
        key=key, data=dict(data), on_outbox_change=on_outbox, on_page_change=lambda: None, on_frame_change=lambda: None, height="content"
    )


def state_of(key: str, name: str) -> Any:
    """What came up last under a name: "outbox", "page" or "frame"; None before anything did."""
    value = st.session_state.get(key)
    return value.get(name) if isinstance(value, Mapping) else None


@cache
def _component() -> Callable[..., Any]:
    css = (WEB / "gallery.css").read_text(encoding="utf-8")
    return st.components.v2.component(f"{annotator.PACKAGE}.{GALLERY}", html='<div class="od-gallery"></div>', css=css, js="main.js")
