"""Pictures of pages for people: `python tests/shoot.py FOLDER [ADDRESS ...]`, each in both themes at 1440 and 900 px.

Addresses are those of the app, such as "" (home), "seed" or "gaps?scope=both"; without any, every page of the navigation.
The app runs on an empty workspace of its own; with --url it is one that already runs, with --demo it starts with the demo.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, sync_playwright

from pages.shared.navigation import ENTRIES
from tests.conftest import CHROMIUM_ARGS, Tab, chromium_path, start_server, stop_server, watch


def shoot(browser: Browser, url: str, address: str, folder: Path) -> None:
    """Save four pictures of one address, each as tall as its content, and print what went wrong."""
    for theme in ("light", "dark"):
        for width in (1440, 900):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
            tab = watch(Tab(context.new_page()))
            tab.open(f"{url}/{address}")
            tab.page.wait_for_timeout(1200)  # charts draw after the run
            height = tab.page.evaluate("() => document.querySelector('.stMainBlockContainer').scrollHeight")
            tab.page.set_viewport_size({"width": width, "height": min(max(height + 40, 900), 4000)})
            tab.page.wait_for_timeout(600)
            file = folder / f"{re.sub(r'[^a-z0-9]+', '-', address.lower()).strip('-') or 'home'}-{theme}-{width}.png"
            tab.page.screenshot(path=file)
            print(file, *tab.errors, *tab.overflowing(), sep="\n  ")
            context.close()


def main() -> None:
    """Read the arguments and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("address", nargs="*", default=["" if i == 0 else e.address for i, e in enumerate(ENTRIES)])
    parser.add_argument("--url", help="a running app")
    parser.add_argument("--demo", action="store_true", help="start with the demo table")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as p:
        server = None if args.url else start_server(Path(temporary), **({"ODDYSSEY_DEMO": "1"} if args.demo else {}))
        browser = p.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        try:
            for address in args.address:
                shoot(browser, args.url or server.url, address, args.folder)
        finally:
            browser.close()
            if server:
                stop_server(server)


if __name__ == "__main__":
    main()
