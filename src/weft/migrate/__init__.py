"""Moves an index to another engine."""
