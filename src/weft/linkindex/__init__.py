"""From pages to the query table: a link index that is exact after every page."""
