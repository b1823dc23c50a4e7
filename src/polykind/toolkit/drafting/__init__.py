"""Differences between two versions of a CRD, and drafts of the rules that convert between them."""
