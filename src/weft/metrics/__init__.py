"""What weft knows of itself, as metrics for Prometheus."""
