"""Proving that conversions lose nothing: objects generated from a definition's schemas, sent there and back."""
