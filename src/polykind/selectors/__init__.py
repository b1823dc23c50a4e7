"""Selectors: which objects a list, a watch or a deletion of many means."""
