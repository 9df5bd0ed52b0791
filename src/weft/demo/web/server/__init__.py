"""Sockets, the log, control calls, and a process of its own."""
