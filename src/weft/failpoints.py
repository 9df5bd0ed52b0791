"""Named places where a test can stop, fail or delay a running weft.

`WEFT_FAIL=name:n:action[,…]` acts at the n-th passing of the point `name` and never again. Actions: `kill` (SIGKILL to
this process, as a power cut would), `stop` (SIGSTOP: it stands still until somebody sends SIGCONT), `error`
(InjectedError), `enospc` (the operating system's "disk full"), `sleep` (five seconds, or `sleep=SECONDS`). Unset, a
passing costs one look at an empty dict.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from dataclasses import dataclass

from weft.errors import UsageError, WeftError

EXPECTED = "expected name:n:kill|stop|error|enospc|sleep[=seconds], n counting from 1"
_ACTIONS = {"kill", "stop", "error", "enospc", "sleep"}


class InjectedError(WeftError):
    """What a failpoint with the action `error` raises."""


@dataclass(slots=True)
class _Plan:
    passings_left: int
    action: str
    seconds: float


_armed: dict[str, _Plan] = {}


def arm(text: str) -> None:
    """Replace all plans by those in `text` (the form of WEFT_FAIL; empty text disarms)."""
    plans = [_parse(entry) for entry in text.split(",") if entry]
    _armed.clear()
    _armed.update(plans)


def point(name: str) -> None:
    """Pass the failpoint `name`."""
    if _armed:
        _pass(name)


def _parse(entry: str) -> tuple[str, _Plan]:
    name, _, rest = entry.partition(":")
    count, _, action = rest.partition(":")
    action, _, seconds = action.partition("=")
    if not name or not count.isdecimal() or int(count) < 1 or action not in _ACTIONS:
        raise UsageError(f"WEFT_FAIL: {entry!r} is not a failpoint; {EXPECTED}")
    try:
        return name, _Plan(int(count), action, float(seconds or 5))
    except ValueError:
        raise UsageError(f"WEFT_FAIL: {entry!r} has no number of seconds; {EXPECTED}") from None


def _pass(name: str) -> None:
    plan = _armed.get(name)
    if plan is None:
        return
    plan.passings_left -= 1
    if plan.passings_left == 0:
        _act(name, plan)


def _act(name: str, plan: _Plan) -> None:
    if plan.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif plan.action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif plan.action == "error":
        raise InjectedError(f"failpoint {name} was armed to fail here")
    elif plan.action == "enospc":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
    else:
        time.sleep(plan.seconds)
