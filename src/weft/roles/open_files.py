"""How many files, and so connections, a process may open; whether it can open another one now."""

from __future__ import annotations

import errno
import logging
import os
import resource
import socket
from typing import Final

log = logging.getLogger(__name__)

OTHERS: Final = 256
"""Files that a role has open besides its connections to others: archive, control plane, logs, its own port."""
_RUN_OUT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def raise_file_limit(wanted: int) -> int:
    """Let this process open as many files as it may, at least `wanted` if it can; returns how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(soft, wanted) if hard == resource.RLIM_INFINITY or hard >= wanted else hard
    if soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def require_files(wanted: int, setting: str) -> None:
    """Raise the limit, or say what may go wrong."""
    limit = raise_file_limit(wanted + OTHERS)
    if limit < wanted + OTHERS:
        log.warning("this process may open only %d files; %s needs %d (ulimit -n)", limit, setting, wanted + OTHERS)


def has_run_out(error: OSError) -> bool:
    """Whether a socket could not be opened because this machine has none left for us."""
    return error.errno in _RUN_OUT


def socket_problem() -> str:
    """Why no connection can be opened now; nothing if one can."""
    try:
        with socket.socket() as one:
            # libcurl's binding needs a copy of each.
            os.close(os.dup(one.fileno()))
    except OSError as error:
        return f"no more connections can be opened: {error.strerror}"
    return ""
