"""Pictures of the web app for the documents: `make screenshots`.

python tests/tools/screenshots.py HOME DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import sync_playwright

from support.browser import chromium, launch_flags
from support.web_app import running_app


def pictures(home: Path) -> dict[str, tuple[str, int, str]]:
    """Name: address, width, colours."""
    import weft

    with weft.open(home) as index:
        page = index.top(limit=2).items[1].url
        domain = index.domains("references", limit=3).items[-1].domain
        words = (index.page(page).title or "weft").split()[0]
    return {
        "start": ("/", 1200, "light"),
        "search": (f"/search?q={quote(words)}", 1200, "light"),
        "domain": (f"/domain/{domain}", 1200, "light"),
        "page": (f"/page?url={quote(page, safe='')}", 1200, "light"),
        "changes": ("/changes", 1200, "light"),
        "crawl": ("/crawl", 1200, "dark"),
        "phone": (f"/domain/{domain}", 390, "dark"),
    }


def main() -> None:
    home, directory = Path(sys.argv[1]), Path(sys.argv[2])
    program, reason = chromium()
    if program is None:
        sys.exit(reason)
    directory.mkdir(parents=True, exist_ok=True)
    with running_app(home) as app, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(launch_flags()))
        for name, (address, width, colours) in pictures(home).items():
            dark = colours == "dark"
            context = browser.new_context(
                viewport={"width": width, "height": 860}, color_scheme="dark" if dark else "light"
            )
            page = context.new_page()
            page.goto(app.origin + address)
            page.wait_for_timeout(500)
            page.screenshot(path=directory / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
