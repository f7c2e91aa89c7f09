"""Links in the text of a page that lead to another page of the app; a plain click stays in the session, others open a new tab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import streamlit as st

from pages.shared.markup import Markup, Text
from pages.shared.navigation import ENTRIES


def link(text: Text, page: str, params: Mapping[str, str]) -> Markup:
    """A link to a page, such as "pages/slice.py", with query parameters; `follow` must stand on the same page."""
    address = f"{Path(page).stem}?{urlencode(dict(params))}" if params else Path(page).stem
    return Markup('<a class="od-go" href="{}" target="_self">{}</a>').format(address, text)


def follow(key: str = "od-links") -> None:
    """Go where a link of this page was just clicked to lead; a row of a table with the class "od-row" counts as its first link."""
    with st.container(key=f"{key}-place"):
        result = _component()(key=key, on_go_change=lambda: None, height="content")
    page, params = target(str(result.get("go") or ""))
    if page:
        st.switch_page(page, query_params=params)


def target(address: str) -> tuple[str, dict[str, str]]:
    """The page and the query parameters of an address; both empty for one that is none of the app's."""
    parts = urlsplit(address)
    found = next((e.path for e in ENTRIES if parts.path == e.address and not parts.netloc), "")
    return found, dict(parse_qsl(parts.query)) if found else {}


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component("oddyssey_links", js=Path(__file__).with_name("links.js").read_text(encoding="utf-8"))
