"""Texts that must be read or printed exactly as Go's standard library does; each module is named after Go's package."""
