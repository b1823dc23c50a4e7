"""The evolution of CRDs: differences between schemas, changes that break users, and effects on stored objects.

Values in, values out: the toolkit's commands and the API server use the same checks.
"""
