"""Processes that may be killed: they do what hostile input must not do to the process that writes the store."""
