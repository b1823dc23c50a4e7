"""Tests of the built-in admission plugins."""
