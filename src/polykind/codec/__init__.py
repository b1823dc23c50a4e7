"""Bytes to values and back: JSON, YAML, protobuf envelopes, content negotiation, Tables, partial metadata."""
