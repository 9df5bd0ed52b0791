"""When may whom be asked: per-host queues, politeness towards hosts and addresses, robots.txt."""
