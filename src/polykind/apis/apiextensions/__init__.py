"""apiextensions."""
