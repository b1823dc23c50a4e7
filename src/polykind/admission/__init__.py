"""Admission: who else is asked before something is written. Webhooks may change it, webhooks and policies refuse it."""
