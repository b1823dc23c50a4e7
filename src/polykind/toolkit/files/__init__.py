"""Manifests in files and Git trees: reading, offline conversion, and writing with minimal changes."""
