"""From bytes to pages: what is read from files and from the web becomes something the link index can load."""
