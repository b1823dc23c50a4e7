"""Audit events: the policy, the events of a request, and the backends that record them."""
