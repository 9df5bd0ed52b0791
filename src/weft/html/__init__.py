"""From the bytes of an HTML page to its title, text, links and fingerprints."""

from weft.html.directives import robots_in_header
from weft.html.parse import parse_page
from weft.html.parsed_page import FoundLink, ParsedPage, Refresh, RobotsDirectives

__all__ = ["FoundLink", "ParsedPage", "Refresh", "RobotsDirectives", "parse_page", "robots_in_header"]
