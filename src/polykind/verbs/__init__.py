"""The verbs: one module each, the walk of a request from its options to its answer."""
