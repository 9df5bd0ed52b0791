"""weft keeps a live, searchable index of a piece of the web."""

__version__ = "0.1.0"
