"""The `weft` command: one file per group of commands; everything is wired here."""
