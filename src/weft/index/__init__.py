"""The one writer of an embedded store: what goes into the index goes through here."""
