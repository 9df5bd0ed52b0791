"""Files out of gzip and zstd, a piece at a time."""
