"""Conversion of objects between the versions of their kind: without changes, by a webhook, or in process."""
