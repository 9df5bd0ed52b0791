"""All site patterns."""

from __future__ import annotations

from typing import Final

from weft.demo.web.patterns.lists import LISTS
from weft.demo.web.patterns.sessions import SESSIONS
from weft.demo.web.patterns.texts import TEXTS
from weft.demo.web.patterns.views import VIEWS

PATTERNS: Final = [*SESSIONS, *LISTS, *VIEWS, *TEXTS]
BY_HOST: Final = {pattern.host: pattern for pattern in PATTERNS}
