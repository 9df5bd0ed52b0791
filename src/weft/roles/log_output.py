"""Where the log of a role goes."""

from __future__ import annotations

import logging
import os
import sys
from logging.handlers import RotatingFileHandler

_LOG_BYTES = 10 << 20
_LOG_FILES = 4


def begin_logging() -> None:
    """Events to standard error, one line each; WEFT_DEBUG shows the small ones too."""
    level = logging.DEBUG if os.environ.get("WEFT_DEBUG") else logging.INFO
    logging.basicConfig(
        level=level, handlers=[_handler()], format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )


def _handler() -> logging.Handler:
    """Standard error, or the file that WEFT_LOG names, which never grows beyond its bounds."""
    file = os.environ.get("WEFT_LOG")
    if file:
        return RotatingFileHandler(file, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES)
    return logging.StreamHandler(sys.stderr)
