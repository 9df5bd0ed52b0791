"""Where the conformance data of others lies; tests that need it are skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_PROJECT = Path(__file__).resolve().parents[2]


def suites_folder() -> Path:
    return Path(os.environ.get("WEFT_SUITES") or _PROJECT.parent / "shared" / "suites")


def suite_file(name: str) -> Path:
    """The file `name` of the suites; skips the test, or the module that asks while it is imported."""
    path = suites_folder() / name
    if not path.exists():
        pytest.skip(f"no conformance data at {path}; WEFT_SUITES names the folder", allow_module_level=True)
    return path
