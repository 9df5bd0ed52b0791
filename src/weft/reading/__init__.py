"""From an HTTP response to what the index takes in: one path for crawl, import and `weft verify --archive`."""
