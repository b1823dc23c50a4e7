"""Structural schemas applied to values: prune, drop nulls, default, validate; the rules of metadata and of names."""

from polykind.schema.machine import Schema, compile

__all__ = ["Schema", "compile"]
