"""Admission: mutating and validating webhooks and policies."""
