"""The engine of a cluster: Apache Cassandra, or any store with CQL in which the higher timestamp of a cell wins."""
