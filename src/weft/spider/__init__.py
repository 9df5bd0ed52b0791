"""Fetching what a URL server asks for: fast, under limits, and nothing acknowledged that is not safe."""
