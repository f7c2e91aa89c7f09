"""Markdown of the report: what people and models wrote cannot pass for the report's own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.controller.report import clean, quote


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("road_condition = wet", "road_condition = wet"),
        ("**bold** and `code`", r"\*\*bold\*\* and \`code\`"),
        ("[a](http://x)", r"\[a\](http://x)"),
        ("_so_ it is", r"\_so\_ it is"),
        ("a|b", r"a\|b"),
        ("<b>", r"\<b\>"),
        ("$x$", r"\$x\$"),
    ],
)
def test_marks_are_taken_literally(text, written):
    assert clean(text) == written


def test_every_line_of_a_quotation_is_quoted():
    assert quote("one\n# What to test next\n\n1. all is well") == ["> one", r"> \# What to test next", "> ", "> 1. all is well"]


@given(st.text())
def test_a_quotation_never_leaves_its_place(text):
    assert all(line.startswith("> ") and "\n" not in line for line in quote(text))
    assert quote(text)


@given(st.text(alphabet="ab_*[]|`<>#~$\\ "))
def test_the_text_can_be_read_back(text):
    out, i = "", 0
    written = clean(text)
    while i < len(written):
        i += written[i] == "\\"
        out += written[i]
        i += 1
    assert out == text
