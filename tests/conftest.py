"""What tests share: a workspace of their own, the app without a browser, and the app in a real one."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response
    from streamlit.testing.v1 import AppTest

    from tests.stub_llm import StubServer

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MODEL_SETTING = r"ODDYSSEY_(LLM|VLM|JUDGE|TAGGER|IMAGES)_"
STARTED = 60
"""Seconds that a server may take to answer on a busy machine."""


def foreign_settings() -> set[str]:
    """Settings of the developer's own that no test may see: other databases, the demo, and models behind real servers."""
    return {k for k in os.environ if k in ("DATABASE_URL", "ODDYSSEY_DEMO", "ODDYSSEY_ENCODER") or re.match(MODEL_SETTING, k)}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace, so that no test sees or touches the developer's own."""
    home = tmp_path / "workspace"
    monkeypatch.setenv("ODDYSSEY_HOME", str(home))
    for name in foreign_settings():
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def stub_llm() -> Iterator[StubServer]:
    """A stub of an OpenAI-compatible server without a script; give it one: `stub_llm.script = ["hello"]`."""
    from tests.stub_llm import StubServer

    with StubServer() as stub:
        yield stub


@pytest.fixture
def app(workspace: Path) -> AppTest:
    """The app before its first run: `app.run()`, then `app.switch_page("pages/gaps.py").run()`."""
    from streamlit.testing.v1 import AppTest

    return AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)


@dataclass
class Server:
    """A running app.

    Attributes:
        url: Its address, without a slash at the end.
        home: Its workspace.
    """

    url: str
    home: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def log(self) -> str:
        """What the server printed so far."""
        return (self.home.parent / "server.log").read_text()


def start_server(folder: Path, **environment: str) -> Server:
    """Start the app on a free port, with a new workspace inside `folder`, and wait until it answers."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    home = folder / "workspace"
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.port", str(port), "--server.address", "127.0.0.1"]
    unset = foreign_settings()
    env = {k: v for k, v in os.environ.items() if k not in unset} | {"ODDYSSEY_HOME": str(home)} | environment
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    server = Server(f"http://127.0.0.1:{port}", home, process)
    end = time.monotonic() + STARTED
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5):
                return server
        except OSError:
            time.sleep(0.1)
    stop_server(server)
    raise RuntimeError(f"The app did not start:\n{server.log}")


def stop_server(server: Server) -> None:
    """End a server that `start_server` began."""
    server.process.terminate()
    try:
        server.process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave its workspace as they found it, or do not mind what others left."""
    running = start_server(tmp_path_factory.mktemp("server"))
    yield running
    stop_server(running)


@pytest.fixture
def fresh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start servers of a test's own, with an empty workspace each and environment variables by name."""
    running: list[Server] = []

    def start(**environment: str) -> Server:
        running.append(start_server(tmp_path_factory.mktemp("server"), **environment))
        return running[-1]

    yield start
    for each in running:
        stop_server(each)


def chromium_path() -> str | None:
    """The browser that CHROMIUM names, else the system's, else None."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium: the one that CHROMIUM names, else the system's. Skipped without one, except in CI, where that is a failure."""
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    if path is None:
        reason = "No Chromium was found; install the package chromium, or name one in the variable CHROMIUM."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield chromium
        chromium.close()


@dataclass
class Tab:
    """A page in the browser, with every error that it logged.

    Attributes:
        page: Playwright's page.
        errors: Console errors, uncaught exceptions, failed requests, and requests that left this machine.
    """

    page: Page
    errors: list[str] = field(default_factory=list)

    def note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):  # named by note_response
            self.errors.append(f"console: {message.text}")

    def note_response(self, response: Response) -> None:
        # Opened at /page, Streamlit's client looks for the server below /page first, and takes the 404 for an answer.
        probe = response.url.endswith(("/_stcore/health", "/_stcore/host-config"))
        if response.status >= 400 and not probe:
            self.errors.append(f"{response.status}: {response.url}")

    def note_request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:")):
            self.errors.append(f"outside: {request.url}")

    def open(self, url: str) -> Page:
        """Go to an address and wait until the app's header stands and no script runs."""
        self.page.goto(url)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the page has its header and the run is over."""
        from playwright.sync_api import expect

        self.page.wait_for_selector(".od-head", timeout=STARTED * 1000)
        self.page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']", timeout=STARTED * 1000)
        self.page.wait_for_timeout(300)
        # On a busy machine what the last run drew stays a while beside what this one drew.
        expect(self.page.locator(".od-head")).to_have_count(1, timeout=STARTED * 1000)  # also inside a component

    def headline(self) -> str:
        """The sentence of the page, once there is only one."""
        self.settle()
        return self.page.locator(".od-head").inner_text()

    def overflowing(self) -> list[str]:
        """Elements that stick out of the window at the right, unless a parent scrolls them; and texts that are cut off unsaid."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="stMain"] *, [data-testid="stSidebar"] *')].filter(e => {
                const box = e.getBoundingClientRect();
                if (!box.width || !box.height || box.right <= innerWidth + 1) return false;
                for (let p = e.parentElement; p && p.dataset.testid !== 'stMain'; p = p.parentElement)
                    if (/auto|scroll|hidden/.test(getComputedStyle(p).overflowX)) return false;
                return true;
            }).map(e => `${e.tagName}.${e.className} ${(e.textContent || '').slice(0, 60)}`)"""
        )

    def check(self) -> None:
        """Assert what holds for every page: nothing raised, nothing logged as an error, nothing sticks out."""
        assert self.page.locator("[data-testid='stException']").all_inner_texts() == []
        assert self.errors == []
        assert self.overflowing() == []
        scroll, width = self.page.evaluate("() => [document.scrollingElement.scrollWidth, innerWidth]")
        assert scroll <= width


def watch(tab: Tab) -> Tab:
    """Collect the tab's errors from now on."""
    tab.page.on("console", tab.note_console)
    tab.page.on("pageerror", lambda e: tab.errors.append(f"uncaught: {e}"))
    tab.page.on("response", tab.note_response)
    tab.page.on("request", tab.note_request)
    return tab


@pytest.fixture
def open_tab(browser: Browser) -> Iterator[Callable[..., Tab]]:
    """Open tabs: `open_tab(width=900, theme="dark")`. Each has a context of its own and is closed after the test."""
    contexts = []

    def open_one(width: int = 1440, height: int = 900, theme: str = "light") -> Tab:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme))
        return watch(Tab(contexts[-1].new_page()))

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture
def tab(open_tab: Callable[..., Tab]) -> Tab:
    """A light tab, 1440 px wide."""
    return open_tab()
