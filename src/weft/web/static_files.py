"""The files of ours that pages use: a style sheet, a script, an icon."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from weft.web.json_answers import answer
from weft.web.problems import RequestRefused

_PLACE: Final = Path(__file__).parent / "static"
_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_GOOD: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


class StaticFiles:
    """Read once: nothing outside this list can be asked for."""

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in sorted(_PLACE.iterdir()) if path.suffix in _KINDS}

    async def answer(self, request: Request) -> Response:
        name = request.path_params["name"]
        content = self._files.get(name)
        if content is None:
            raise RequestRefused(404, f"there is no file {name[:100]!r}")
        headers = _FOR_GOOD if "v" in request.query_params else {}
        return answer(request, content, _KINDS[Path(name).suffix], headers)
