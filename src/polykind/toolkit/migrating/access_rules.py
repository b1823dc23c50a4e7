"""The RBAC rules that commands on a cluster need, to print when a request is forbidden."""

from __future__ import annotations

from polykind.toolkit.migrating.crd_storage import CRDStorage


def migration_rules(name: str, storage: CRDStorage | None, *, writes: bool = True, via_resource: bool = False) -> str:
    """Return a ClusterRole with the least rights for a migration of the named CRD, or for a report about it.

    `writes` is false for a report. `via_resource` is true if a StorageVersionMigration does the work.
    """
    plural, _, group = name.partition(".")
    if storage is not None:
        plural, group = storage.plural, storage.group
    crd_verbs = '["get", "patch"]' if writes else '["get", "list"]'
    rules = [
        '- apiGroups: ["apiextensions.k8s.io"]',
        '  resources: ["customresourcedefinitions", "customresourcedefinitions/status"]'
        if writes
        else '  resources: ["customresourcedefinitions"]',
        *([f'  resourceNames: ["{name}"]'] if writes else []),
        f"  verbs: {crd_verbs}",
        f'- apiGroups: ["{group}"]',
        f'  resources: ["{plural}"]',
        '  verbs: ["get", "list", "patch"]' if writes else '  verbs: ["list"]',
    ]
    if via_resource:
        rules += [
            '- apiGroups: ["storagemigration.k8s.io"]',
            '  resources: ["storageversionmigrations"]',
            '  verbs: ["create", "get"]',
        ]
    head = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata:",
        f"  name: polykind-{'migrate' if writes else 'versions'}-{plural}",
        "rules:",
    ]
    return "\n".join([*head, *rules])
