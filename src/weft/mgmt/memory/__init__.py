"""The control plane in dicts: the twin that tests run against."""

from weft.mgmt.memory.mgmt import MemoryMgmt

__all__ = ["MemoryMgmt"]
