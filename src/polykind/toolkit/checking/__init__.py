"""Checks of a CRD change before it ships: breaking changes, and the effects on real objects."""
