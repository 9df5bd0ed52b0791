"""The web app: pages for people, an API for programs. Its own process, which only reads the index."""
