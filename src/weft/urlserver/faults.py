"""Whose fault is it: outcomes that count against the whole host."""

from __future__ import annotations

from weft.mgmt.values import Outcome

_BUSY = frozenset({429, 502, 503, 504})
_HOST_ERRORS = frozenset({"network", "timeout", "tls"})


def is_hosts_fault(outcome: Outcome) -> bool:
    """Tell whether the host should be left alone for a while."""
    return outcome.error in _HOST_ERRORS or outcome.status in _BUSY or outcome.retry_after > 0
