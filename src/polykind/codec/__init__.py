"""Codecs: JSON, YAML and protobuf, content negotiation, Tables and partial metadata."""
