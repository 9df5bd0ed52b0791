"""Values and decisions without I/O."""
