"""What the control plane decides without a database: the same for every engine."""
