"""A rehearsal: what the life of a definition, from version to version and back, does to objects."""
