"""Counters, the Prometheus page and usage per served version."""
