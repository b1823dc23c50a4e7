"""audit.k8s.io: the audit policy."""
