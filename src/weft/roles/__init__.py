"""What every long-running process of weft is built on: calls, a lease, a listener, a log, a status, a stop."""
