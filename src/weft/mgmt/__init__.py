"""The control plane: who holds which work."""
