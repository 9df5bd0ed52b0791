"""A real Cassandra for developers and tests: fetched with Maven, run on loopback addresses, stopped without leftovers.

Only the standard library is used, so that `make cassandra` needs no environment.
"""
