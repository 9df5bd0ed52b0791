"""A real browser: Debian's Chromium driven by playwright, and axe-core, which finds what keeps people out."""

from __future__ import annotations

import functools
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, sync_playwright

from support.outside_tools import Impossible, or_skip, run

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_AXE = "axe-core@4.14.0"
_APT = ("apt-get", "-o", "Acquire::http::Timeout=15", "-o", "Acquire::Retries=1")
# It looks for updates and much else that is not there; a test machine often runs as root.
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
WATCH = """
window.weftSeen = [];
addEventListener("securitypolicyviolation", (event) => weftSeen.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


# One for each module, not for all: while it is open, playwright has a loop running, and no test may start its own.
@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    program, reason = chromium()
    if program is None:
        pytest.skip(reason)
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def axe(request: pytest.FixtureRequest) -> str:
    """The script of axe-core."""
    place = or_skip(request, "axe", _AXE.encode(), _install_axe)
    return (place / "axe.min.js").read_text()


@functools.cache
def chromium() -> tuple[str | None, str]:
    try:
        return _found() or _fetched(), ""
    except Impossible as error:
        return None, f"needs Chromium (Debian: apt install chromium): {error}"


def _found() -> str | None:
    return next(filter(None, (os.environ.get("WEFT_CHROMIUM"), *map(shutil.which, _NAMES))), None)


def _fetched() -> str:
    if not shutil.which("apt-get") or os.geteuid():
        raise Impossible("it is not installed, and only root can install it")
    try:
        run(*_APT, "install", "-y", "--no-install-recommends", "chromium")
    except Impossible:
        run(*_APT, "update")
        run(*_APT, "install", "-y", "--no-install-recommends", "chromium")
    if found := _found():
        return found
    raise Impossible("the package has no program")


def _install_axe(place: Path) -> None:
    if shutil.which("npm") is None:
        raise Impossible("there is no npm")
    run("npm", "pack", "--silent", _AXE, cwd=place)
    with tarfile.open(next(place.glob("axe-core-*.tgz"))) as package:
        for name in ("axe.min.js", "LICENSE"):
            (place / name).write_bytes(package.extractfile(f"package/{name}").read())


def launch_flags() -> tuple[str, ...]:
    return _FLAGS


@contextmanager
def opened(browser: Browser, width: int = 1200, **options: Any) -> Iterator[Page]:
    """A window of its own, without cookies; `page.seen` are complaints of the browser about what is shown."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    if options.get("java_script_enabled", True):
        context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(20_000)
    try:
        yield page
    finally:
        context.close()


def complaints(page: Page) -> list[str]:
    """What the browser wrote to its console from now on; add what the page's own policy refused with `refused`."""
    seen: list[str] = []

    def written(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            seen.append(message.text)

    def asked(dialog: Dialog) -> None:
        seen.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("console", written)
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("dialog", asked)
    return seen


def refused(page: Page) -> list[str]:
    return list(page.evaluate("window.weftSeen"))


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def barriers(page: Page, axe: str) -> list[str]:
    """What axe-core finds, one line each."""
    # By evaluate, not as a script of the page: its policy allows none but ours.
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
