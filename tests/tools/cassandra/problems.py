"""Why there is no Cassandra."""

from __future__ import annotations


class NoCassandraError(Exception):
    """One sentence: what is wrong, and what was expected."""
