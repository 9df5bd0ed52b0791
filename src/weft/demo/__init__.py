"""What `weft demo` shows."""
