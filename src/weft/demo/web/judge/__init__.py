"""The judge of the log: which requests were rude."""
