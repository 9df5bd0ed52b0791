"""Query parameters that do not matter: learned from what was fetched, and left out of what is fetched next."""
