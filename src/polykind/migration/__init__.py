"""Storage version migration: rewrites stored objects at the storage version of their CRD."""
