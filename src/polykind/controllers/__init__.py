"""Controllers and informers: CRDs, namespaces, garbage collection, RBAC and admission configuration."""
