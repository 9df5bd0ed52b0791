"""Where hosts live: names to IP addresses, and which addresses are not ours to ask."""
