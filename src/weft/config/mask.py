"""Hiding what must not be shown on a screen or in a log."""

from __future__ import annotations

import re

HIDDEN = "***"

# Greedy up to the last @: a password that was not percent-encoded may itself hold one.
# The second form is for texts that are no URL but may still hold a password.
_USER_PASSWORD = re.compile(r"^([^:/]*://[^:/@?]*:|[^:]*:(?!//)).*@", re.DOTALL)
_PASSWORD_PARAMETER = re.compile(r"(\w*(?:password|passwd|secret|token)\w*\s*=\s*)(?:'[^']*'|[^&\s]*)", re.IGNORECASE)


def hide_all(text: str) -> str:
    return HIDDEN if text else text


def hide_password(url: str) -> str:
    """Hide `user:PASSWORD@` and `password=PASSWORD`; the rest stays readable."""
    without_user_password = _USER_PASSWORD.sub(rf"\1{HIDDEN}@", url)
    return _PASSWORD_PARAMETER.sub(rf"\1{HIDDEN}", without_user_password)
