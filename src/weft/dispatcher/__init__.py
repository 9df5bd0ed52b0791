"""What to crawl next: which links are known, when each is due, and which a domain is crawled by next."""
