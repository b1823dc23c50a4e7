"""Converters with seeded bugs, and correct converters, for small CRDs that are modelled on well-known ones."""
