"""Host names to IP addresses, and which addresses weft must not connect to."""
