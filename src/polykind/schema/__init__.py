"""Structural schemas: pruning, defaulting, validation, and the syntax of object names and metadata."""

from polykind.schema.compiled_schema import CompiledSchema

__all__ = ["CompiledSchema"]
