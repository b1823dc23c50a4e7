"""Parsing and printing of texts exactly as Go's standard library does. Each module is named after a Go package."""
