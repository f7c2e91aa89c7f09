"""From starting the server to a page that can be used, in a real browser. Target: under 4 s."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
REPEATS = 3
LIMIT = 60


def start_to_headline(page: object, home: str) -> tuple[float, float]:
    """Starts a server with an empty workspace; seconds until it answers, and until the page shows its headline."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.port", str(port), "--server.address", "127.0.0.1"]
    start = time.perf_counter()
    server = subprocess.Popen(
        [*command, "--server.headless", "true"],
        cwd=ROOT,
        env=os.environ | {"ODDYSSEY_HOME": home},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while time.perf_counter() - start < LIMIT:
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):  # noqa: S310 (our own server)
                    break
            except OSError:
                time.sleep(0.02)
        answers = time.perf_counter() - start
        page.goto(address)  # type: ignore[attr-defined]
        page.get_by_role("heading", level=1).first.wait_for(timeout=LIMIT * 1000)  # type: ignore[attr-defined]
        return answers, time.perf_counter() - start
    finally:
        server.terminate()
        server.wait(timeout=20)


def main() -> None:
    """Prints seconds of each start."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("App start: not measured, playwright is not installed (requirements-dev.txt).")
        return
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("App start: not measured, no Chromium was found.")
        return
    print("App start to the headline of the home page, browser already open (target: under 4 s):")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=ARGS)
        for k in range(REPEATS):
            with tempfile.TemporaryDirectory() as home:
                page = browser.new_page()
                answers, usable = start_to_headline(page, home)
                page.close()
            print(f"  start {k + 1}: server answers after {answers:.2f} s, page usable after {usable:.2f} s")
        browser.close()


if __name__ == "__main__":
    main()
