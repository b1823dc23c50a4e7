"""Conversions declared as functions or field rules."""
