"""Pages for people, each with its twin in the API."""
