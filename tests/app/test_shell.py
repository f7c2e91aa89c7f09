from __future__ import annotations

import csv
import io

import pytest
from markupsafe import Markup

from core.errors import Problem
from pages.shared import markup, problems, shell
from pages.shared.navigation import ENTRIES, sections

HOSTILE = '<img src=x onerror="alert(1)">&'


def test_every_piece_of_markup_escapes_what_it_is_given():
    pieces = [
        markup.fill("{x} < 1", x=HOSTILE),
        markup.join([HOSTILE, HOSTILE], HOSTILE),
        markup.mark(HOSTILE),
        markup.code(HOSTILE),
        markup.chip(HOSTILE),
        markup.tags([HOSTILE], rare={HOSTILE}),
        markup.table([HOSTILE], [[HOSTILE]]),
        markup.arithmetic([(HOSTILE, HOSTILE, HOSTILE)]),
        markup.support_legend(HOSTILE, HOSTILE, HOSTILE),
    ]
    for piece in pieces:
        assert "<img" not in piece
        assert "&lt;img src=x onerror=&#34;alert(1)&#34;&gt;&amp;" in piece
        assert isinstance(piece, Markup)


def test_a_label_takes_markdown_literally():
    hostile = "![x](http://example.invalid/x.png) :red[b] $x$ <b>"
    text = markup.label(hostile)
    assert "".join(c for c in text if c != "\\") == hostile
    assert all(text[i - 1] == "\\" for i, c in enumerate(text) if c in "![]():$<>/")


def test_markup_inside_markup_is_kept():
    assert markup.fill("a & {b}", b=markup.mark("<c>")) == "a &amp; <b>&lt;c&gt;</b>"


def test_the_shell_refuses_a_plain_string():
    with pytest.raises(TypeError, match="Markup"):
        shell.html("<b>bold</b>")


@pytest.mark.parametrize(("share", "width"), [(-1, "0.00%"), (0.256, "25.60%"), (7, "100.00%")])
def test_a_bar_stays_in_its_frame(share, width):
    assert f"width:{width}" in markup.bar(share)


def test_a_table_tints_the_chosen_row_and_aligns_numbers():
    text = markup.table(["slice", "n"], [["a", 1], ["b", 2]], right={1}, chosen=1)
    assert text.count("class='on'") == 1
    assert text.index("class='on'") > text.index("<td class=''>a</td>")
    assert text.count("class='num'") == 3


def test_a_table_with_a_missing_cell_is_an_error():
    with pytest.raises(ValueError, match="2 columns"):
        markup.table(["a", "b"], [["1", "2"], ["3"]])


def test_equal_problems_become_one_line_with_their_rows():
    slush = [Problem(r, "road", "slush", "dry, wet", "wet") for r in (14, 15, 1200, 1300, 1400)]
    lines = problems.as_lines([*slush, Problem(None, "dims", "", "a list.")])
    assert lines == [
        "Rows 14, 15, 1,200 and 2 more, column &#34;road&#34;: got <b>slush</b>; allowed: dry, wet. Did you mean <b>wet</b>?",
        "&#34;dims&#34;: got <b>(empty)</b>; allowed: a list.",
    ]


def test_the_file_of_problems_holds_every_one():
    given = [Problem(r, "road", 'a,"b"\nc', "dry", kind="unknown") for r in range(1, 40)]
    rows = list(csv.DictReader(io.StringIO(problems.as_csv(given))))
    assert [int(r["row"]) for r in rows] == list(range(1, 40))
    assert {r["got"] for r in rows} == {'a,"b"\nc'}


def test_every_entry_of_the_navigation_is_a_page_with_an_address_of_its_own():
    assert sum(map(len, sections().values())) == len(ENTRIES) == len({e.address for e in ENTRIES})


def test_the_app_opens_on_an_empty_workspace(app, workspace):
    app.run()
    assert not app.exception
    assert "Nothing tested yet. Start with a table." in "".join(h.proto.body for h in app.get("html"))
    assert workspace.is_dir()


def test_a_workspace_that_cannot_be_opened_is_told_as_a_card(app, workspace, monkeypatch):
    workspace.parent.mkdir(exist_ok=True)
    workspace.write_text("a file where a folder should be")
    app.run()
    assert not app.exception
    text = "".join(h.proto.body for h in app.get("html"))
    assert "od-error" in text
    assert "ODDYSSEY_HOME" in text
    assert "The workspace cannot be opened" in text
    assert "Nothing tested yet" not in text


def broken_page():
    from core.errors import InputError, Problem
    from pages.shared import shell

    with shell.errors_as_card():
        raise InputError("30 rows are wrong.", [Problem(r, "score", f"{r}.5", "0 to 1") for r in range(1, 31)])


def test_a_long_list_of_problems_is_cut_with_its_count_and_can_be_downloaded():
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_function(broken_page).run()
    assert not app.exception
    text = app.get("html")[0].proto.body
    assert text.count("<li>") == 21
    assert "10 more kinds of problem" in text
    assert app.get("download_button")[0].proto.label == "Download all 30 problems"


def test_only_errors_for_the_user_become_cards():
    with pytest.raises(ZeroDivisionError), shell.errors_as_card():
        raise ZeroDivisionError
