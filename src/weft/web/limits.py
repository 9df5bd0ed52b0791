"""How much the web app takes on at a time, and how long it waits for anybody."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLimits:
    head_bytes: int = 64 << 10
    """Of a request, with its path and its headers."""
    head_seconds: float = 10.0
    """From the first byte of a request to the end of its head; from the connection to its first request."""
    body_seconds: float = 20.0
    """From the end of the head to the end of the body."""
    taking_seconds: float = 30.0
    """How long somebody may take nothing of an answer that waits for them."""
    keep_alive: int = 30
    """Seconds that a connection without a request stays open."""
    connections: int = 1024
    threads: int = 8
    """For questions that are light. More would only wait for each other: most of an answer is Python."""
    heavy_threads: int = 3
    """For those that may read much of the index: so many share the processor with the light ones."""
    waiting: int = 128
    """Requests for which no thread is free yet, of each kind; of one client half as many."""
    answer_seconds: float = 15.0
    """How long an answer may take in all."""
    last_answers: int = 3
    """Seconds for answers under way when the app stops."""
