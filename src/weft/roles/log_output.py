"""Where the log of a role goes."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from logging.handlers import RotatingFileHandler

from weft.model.shown_text import shown_text

_LOG_BYTES = 10 << 20
_LOG_FILES = 4


class _OneLine(logging.Formatter):
    """Events quote what servers sent: each is one line without control characters. Tracebacks keep their lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        return shown_text(super().formatMessage(record))


class _LogFile(RotatingFileHandler):
    """On a full disk events are lost: nobody is better off with a traceback for each."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def begin_logging() -> None:
    """Events to standard error, one line each; WEFT_DEBUG shows the small ones too."""
    level = logging.DEBUG if os.environ.get("WEFT_DEBUG") else logging.INFO
    handler = _handler()
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _handler() -> logging.Handler:
    """Standard error, or the file that WEFT_LOG names, which never grows beyond its bounds."""
    file = os.environ.get("WEFT_LOG")
    if file:
        with suppress(OSError):
            return _LogFile(file, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
    return logging.StreamHandler(sys.stderr)
