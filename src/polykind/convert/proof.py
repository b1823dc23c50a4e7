"""Alias of `polykind.toolkit.proving.proofs`."""

from polykind.toolkit.proving.proofs import PROPERTIES, Trial, complaint, definition_in, kept, objects, proofs

__all__ = ["PROPERTIES", "Trial", "complaint", "definition_in", "kept", "objects", "proofs"]
