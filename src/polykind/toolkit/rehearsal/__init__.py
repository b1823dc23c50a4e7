"""Rehearsals: the effect of a CRD's releases, forwards and backwards, on real objects."""
