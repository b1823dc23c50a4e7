"""Benchmarks: every figure is a ratio to a ceiling that was measured in the same run."""
