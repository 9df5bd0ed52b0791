"""A page handler: appends a line of JSON for every page to the file that PAGE_LOG names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.index.handlers import HandledPage


def handle(page: HandledPage) -> None:
    line = {"url": page.url, "title": page.title, "words": len(page.text.split()), "links": len(page.links)}
    with Path(os.environ.get("PAGE_LOG", "pages.log")).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
