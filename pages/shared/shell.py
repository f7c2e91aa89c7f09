"""The frame of every page: one computed sentence, one line of provenance, at most one primary action.

A page starts like this and needs no HTML of its own:

    shell.begin("pages/gaps.py")
    with shell.errors_as_card():
        clicked = shell.header("Ranked gaps", fill("Test {slice} next.", slice=mark(name)), provenance, [Action("save", "Save")])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError, OddysseyError
from pages.shared.markup import Text, chip, fill, join
from pages.shared.problems import as_csv, as_lines

ENTRY = "streamlit_app.py"
STYLE = Path(__file__).with_name("style.css")
SYNTHETIC = "Synthetic demo data"
_ENTERED, _TARGET = "shell.entered", "shell.target"
_LINES = 20


@dataclass(frozen=True)
class Action:
    """A button in the header.

    Attributes:
        key: Widget key, and what `header` returns when it was clicked.
        label: A verb and its object.
        kind: At most one action of a page is "primary".
        page: Page to go to on a click, such as "pages/seed.py".
        disabled: Whether it can be clicked; say why in `help`.
        help: Tooltip.
        download: Data to download, or what makes it on a click; then `file_name` and `mime` are needed.
        file_name: Name of the downloaded file.
        mime: Its type.
    """

    key: str
    label: str
    kind: Literal["primary", "secondary", "tertiary"] = "secondary"
    page: str = ""
    disabled: bool = False
    help: str | None = None
    download: str | bytes | Callable[[], str | bytes] | None = None
    file_name: str = ""
    mime: str = "text/csv"


def begin(page: str) -> None:
    """Make sure that the entry point ran before this page; every page calls it first.

    A fresh server that is opened at /gaps?x=1 runs that page alone, without the entry point. Then the page and its query
    parameters are kept, the entry point runs, and `forward` comes back here with both.
    """
    if not st.session_state.get(_ENTERED):
        st.session_state[_TARGET] = (page, {k: st.query_params.get_all(k) for k in st.query_params})
        st.switch_page(ENTRY)


def forward() -> None:
    """Called by the entry point once the navigation is known: go to the page that `begin` interrupted, if any."""
    st.session_state[_ENTERED] = True
    page, params = st.session_state.pop(_TARGET, ("", {}))
    if page:
        st.switch_page(page, query_params=params)


def use_style() -> None:
    """Load the style sheet; the entry point calls it once a run."""
    st.html(STYLE)
    st.html(f"<style>:root {{ color-scheme: {'dark' if dark() else 'light'}; }}</style>")


def dark() -> bool:
    """Whether the reader's theme is dark, for charts, which take no CSS."""
    return st.context.theme.type == "dark"


def html(markup: Markup) -> None:
    """Show finished markup. Plain strings are refused, so that nothing unescaped gets here."""
    if not isinstance(markup, Markup):
        raise TypeError("shell.html takes Markup; build it with pages.shared.markup.")
    st.html(str(markup))


def header(name: str, sentence: Text, provenance: Text = "", actions: Sequence[Action] = (), synthetic: bool = False) -> str:
    """The head of a page.

    Args:
        name: Name of the page.
        sentence: The finding, computed; `mark` colours the number or slice that matters.
        provenance: n, interval, digest and exclusions behind the sentence.
        actions: Buttons at the right, the primary one last.
        synthetic: Whether any number of the page comes from made-up data, which is then said beside the name.

    Returns:
        Key of the action that was just clicked, "" if none was.
    """
    tag = Markup('<span class="od-synthetic">{}</span>').format(SYNTHETIC) if synthetic else ""
    text = Markup('<div class="od-eyebrow">{}{}</div><h1 class="od-head">{}</h1>').format(name, tag, sentence)
    if provenance:
        text += Markup('<p class="od-prov">{}</p>').format(provenance)
    if not actions:
        html(text)
        return ""
    left, right = st.columns([0.74, 0.26] if len(actions) < 3 else [0.62, 0.38], vertical_alignment="top", gap="medium")
    with left:
        html(text)
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small", key="od-actions"):
        clicked = [a for a in actions if _button(a)]
    if clicked and clicked[0].page:
        st.switch_page(clicked[0].page)
    return clicked[0].key if clicked else ""


def _button(a: Action) -> bool:
    if a.download is None:
        return st.button(a.label, type=a.kind, key=a.key, disabled=a.disabled, help=a.help)
    return st.download_button(
        a.label, a.download, a.file_name, a.mime, type=a.kind, key=a.key, disabled=a.disabled, help=a.help, on_click="ignore"
    )


def section(title: Text, sub: Text = "") -> None:
    """Heading of a block, with what it is measured in or how to read it."""
    html(Markup('<h2 class="od-h">{} <span>{}</span></h2>').format(title, sub))


def note(text: Text) -> None:
    """A line of explanation in small type."""
    html(Markup('<p class="od-note">{}</p>').format(text))


@dataclass(frozen=True)
class Tile:
    """A number with what it is, and the n and interval that it rests on; `of` stands small beside it."""

    label: str
    value: Text
    basis: Text
    of: Text = ""


def tiles(items: Sequence[Tile]) -> None:
    """Key figures side by side."""
    one = Markup('<div class="od-tile"><div class="l">{}</div><div class="v">{} <small>{}</small></div><div class="s">{}</div></div>')
    html(Markup('<div class="od-tiles">{}</div>').format(join(one.format(t.label, t.value, t.of, t.basis) for t in items)))


@dataclass(frozen=True)
class Step:
    """One step of the way from a table to a test; `now` tints the next one to take."""

    label: str
    value: Text
    basis: Text
    now: bool = False


def steps(items: Sequence[Step], back: Text = "") -> None:
    """The steps as a strip of arrows; `back` says what returns from the last one to the first."""
    one = Markup('<div class="od-step {}"><div class="a">{} {} {}</div><div class="b">{}</div><div class="c">{}</div></div>')
    cells = (
        one.format("now" if s.now else "", i, s.label, chip("next step", "info") if s.now else "", s.value, s.basis)
        for i, s in enumerate(items, 1)
    )
    arrow = Markup('<div class="od-back"><span>{}</span></div>').format(back) if back else ""
    html(Markup('<div class="od-steps">{}</div>{}').format(join(cells), arrow))


def card(title: Text = "", sub: Text = "", key: str | None = None) -> DeltaGenerator:
    """A bordered container with a heading: `with shell.card("Why this one", "rank 1 of 3,528"): ...`."""
    box = st.container(border=True, key=key)
    if title:
        with box:
            section(title, sub)
    return box


def empty(text: Text) -> None:
    """The place where results will stand, and what they will tell. The header above says what is needed."""
    html(Markup('<div class="od-empty"><p class="od-note">{}</p></div>').format(text))


def error_card(error: OddysseyError, changed: str = "Nothing was changed.") -> None:
    """What is wrong, where, what was got and allowed, and the fix; long lists of problems can be downloaded whole."""
    problems = error.problems if isinstance(error, InputError) else ()
    lines = as_lines(problems)
    shown = [Markup("<li>{}</li>").format(line) for line in lines[:_LINES]]
    if len(lines) > _LINES:
        more = fill("and {n} more kinds of problem, all in the file below.", n=len(lines) - _LINES)
        shown.append(Markup("<li>{}</li>").format(more))
    body = Markup('<p class="t">{}</p>').format(error.args[0] if error.args else type(error).__name__)
    if shown:
        body += Markup("<ul>{}</ul>").format(join(shown))
    html(Markup('<div class="od-error" role="alert">{}<p class="od-note">{}</p></div>').format(body, changed))
    if len(problems) > 1:
        st.download_button(f"Download all {len(problems):,} problems", as_csv(problems), "problems.csv", "text/csv", on_click="ignore")


@contextmanager
def errors_as_card(name: str = "", sentence: Text = "", changed: str = "Nothing was changed.") -> Iterator[None]:
    """Show an `OddysseyError` raised inside as a card and end the run; any other exception is a bug and passes through.

    Args:
        name: Name of the page, where its header does not stand yet; then the card gets one.
        sentence: What did not happen, such as "The ranking did not run."
        changed: What was changed before it failed.
    """
    try:
        yield
    except OddysseyError as e:
        if name:
            header(name, sentence)
        error_card(e, changed)
        st.stop()


def workspace_card(title: Text, lines: Sequence[Text]) -> None:
    """What is open in the workspace, at the foot of the sidebar."""
    text = Markup("<br>").join(lines)
    with st.sidebar:
        html(Markup('<div class="od-workspace"><b>{}</b><br>{}</div>').format(title, text))
