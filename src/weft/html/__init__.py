"""From the bytes of an HTML page to its title, text, links and fingerprints."""

from weft.html.page import parse_page
from weft.html.robots import robots_in_header
from weft.html.values import FoundLink, ParsedPage, Refresh, Robots

__all__ = ["FoundLink", "ParsedPage", "Refresh", "Robots", "parse_page", "robots_in_header"]
