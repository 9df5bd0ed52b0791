"""What people can have weft do: the same for a command, the web app and Python."""
