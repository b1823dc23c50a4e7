"""The rules of built-in kinds for writes that need stored objects, permissions or allocations."""
