"""What was fetched, as it was fetched: WARC files, their index, and reading a record back by its position."""
