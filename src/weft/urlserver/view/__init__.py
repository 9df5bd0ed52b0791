"""What people see of a running URL server: its queues drawn, a host explained, questions answered over its socket."""
