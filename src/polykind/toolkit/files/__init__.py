"""Manifests in files and Git trees: read, converted, and written with what did not change left as it stood."""
