"""Bytes to values and back: HTTP, JSON, YAML, negotiation, options, tables. Knows no room behind it."""
