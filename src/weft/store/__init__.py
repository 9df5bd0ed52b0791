"""Sorted cells by row; the higher sequence number wins."""
