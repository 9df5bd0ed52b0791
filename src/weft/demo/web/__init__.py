"""A synthetic web on loopback: made from a seed, served fast, judged by its own log."""
