"""Small pieces of HTML in which every text is escaped; `Markup` marks what already is.

Build sentences with `fill("{n} slices of {name}", n=12, name=strong(name))`, never by pasting values into HTML.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from markupsafe import Markup, escape

Text = str | Markup
"""Plain text, which is escaped when shown, or finished markup."""

Tone = Literal["plain", "risk", "info", "done", "wait", "outline"]


def fill(template: str, /, **values: object) -> Markup:
    """A sentence with its blanks filled, template and values escaped (values that are `Markup` stay as they are)."""
    return escape(template).format(**values)


def join(parts: Iterable[Text], between: Text = "") -> Markup:
    """Parts side by side, each escaped."""
    return escape(between).join(parts)


def mark(text: object) -> Markup:
    """The number or slice that matters in a headline, in vermillion."""
    return Markup("<b>{}</b>").format(text)


strong = mark
"""The same element; outside a headline it is bold in the colour of the text."""


def code(text: object) -> Markup:
    """A digest or an identifier."""
    return Markup("<code>{}</code>").format(text)


def chip(text: object, tone: Tone = "plain") -> Markup:
    """A short state in a pill."""
    return Markup('<span class="od-chip {}">{}</span>').format(tone, text)


def tags(values: Iterable[str], rare: Collection[str] = (), extended: Collection[str] = ()) -> Markup:
    """The values of a slice side by side; rare ones tinted, those outside the ODD outlined."""

    def kind(value: str) -> str:
        return " rare" if value in rare else " extended" if value in extended else ""

    return join(Markup('<span class="od-tag{}">{}</span>').format(kind(v), v) for v in values)


def label(text: str) -> str:
    """A text of somebody else as the label of a widget, which Streamlit would read as Markdown: links, images, colours."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def count(n: int, one: str, several: str = "") -> str:
    """A number with its noun, such as "1 sample" or "1,200 samples"."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def minus(x: float, form: str = ".2f") -> str:
    """A number with the sign that is one, and none before a zero."""
    text = format(x, form)
    return (text if any(c in "123456789" for c in text) else text.lstrip("+-")).replace("-", "−")


def percent(value: float | None, digits: int = 0) -> str:
    """A share, "–" where there is none."""
    return "–" if value is None else f"{value:.{digits}%}"


def bar(share: float, tone: Tone = "info") -> Markup:
    """A horizontal bar filled to `share`, cut to 0..1."""
    width = f"{min(max(share, 0.0), 1.0):.2%}"
    return Markup('<span class="od-bar"><i class="{}" style="width:{}"></i></span>').format(tone, width)


def table(columns: Sequence[Text], rows: Iterable[Sequence[object]], right: Collection[int] = (), chosen: int | None = None) -> Markup:
    """A plain table for few rows; long ones belong into st.dataframe.

    Args:
        columns: Headings.
        rows: Cells as text or markup, one sequence a row.
        right: Positions of the columns of numbers, aligned to the right.
        chosen: Row to tint.

    Raises:
        ValueError: A row has more or fewer cells than there are columns.
    """

    def line(cells: Sequence[object], element: str) -> Markup:
        if len(cells) != len(columns):
            raise ValueError(f"A row of {len(cells)} cells does not fit {len(columns)} columns.")
        kinds = ("num" if k in right else "" for k in range(len(cells)))
        return join(Markup("<{0} class='{1}'>{2}</{0}>").format(element, kind, cell) for kind, cell in zip(kinds, cells, strict=True))

    body = join(Markup("<tr class='{}'>{}</tr>").format("on" if i == chosen else "", line(r, "td")) for i, r in enumerate(rows))
    head = Markup("<thead><tr>{}</tr></thead>").format(line(columns, "th"))
    return Markup('<div class="od-scroll"><table class="od-table">{}<tbody>{}</tbody></table></div>').format(head, body)


def arithmetic(lines: Sequence[tuple[Text, Text, Text]]) -> Markup:
    """A computation line by line, as (name, how, result); the last result is the one that counts."""
    cells = [
        Markup("<em>{}</em><span>{}</span><span class='num'>{}</span>").format(name, how, mark(result) if i == len(lines) - 1 else result)
        for i, (name, how, result) in enumerate(lines)
    ]
    return Markup('<div class="od-scroll"><div class="od-eq">{}</div></div>').format(join(cells))


def support_legend(low: object, high: object, outlined: str = "") -> Markup:
    """Key of a heat map of support: cividis on a log scale, hatched where there are no samples, outlined where told."""
    scale = Markup('<span>Samples, log scale</span><span>{}</span><i class="ramp"></i><span>{}</span>').format(low, high)
    items = [scale, Markup('<i class="hatch"></i><span>No samples</span>')]
    if outlined:
        items.append(Markup('<i class="outline"></i><span>{}</span>').format(outlined))
    return Markup('<div class="od-legend">{}</div>').format(join(Markup("<div>{}</div>").format(i) for i in items))
