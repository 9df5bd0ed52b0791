"""robots.txt by RFC 9309: what a site lets us fetch, decided at a cost that no file can blow up."""
