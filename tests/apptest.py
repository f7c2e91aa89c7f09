"""Pages run without a browser: open one at an address, read what it says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent


def open_page(name: str, **params: str | list[str]) -> AppTest:
    """A page of the app, opened with query parameters."""
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    for k, v in params.items():
        app.query_params[k] = v
    # Parameters are read by the page that is opened with them, so the page comes first.
    app.switch_page(f"pages/{name}.py")
    return app.run()


def until(holds: Callable[[], bool], within: float = 120.0) -> None:
    """Wait for work beside the page. The time is far beyond what it takes, so that a busy machine fails no test."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"It did not come about within {within:.0f} s."
        time.sleep(0.05)


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
