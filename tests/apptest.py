"""Pages run without a browser: open one at an address, read what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.waiting import until

ROOT = Path(__file__).resolve().parent.parent


def open_page(name: str, **params: str | list[str]) -> AppTest:
    """A page of the app, opened with query parameters."""
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    for k, v in params.items():
        app.query_params[k] = v
    # Parameters are read by the page that is opened with them, so the page comes first.
    app.switch_page(f"pages/{name}.py")
    return app.run()


def run_until(app: AppTest, holds: Callable[[], bool]) -> AppTest:
    """Run a page again and again until something holds on it, or it fails."""
    until(lambda: bool(app.exception) or holds() or (app.run() and False))
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    """Everything that the page writes as markup."""
    return " ".join(str(x.proto.body) for x in app.get("html"))


def text(app: AppTest) -> str:
    """The same as a reader sees it: without tags, single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html(app)).split())
