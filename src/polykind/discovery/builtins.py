"""Discovery entries of the built-in kinds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from polykind.apis.groups import kinds_by_group_version
from polykind.apis.machinery.kinds import Kind
from polykind.discovery.resource_entries import GroupVersionEntry, ResourceEntry, SubresourceEntry


def builtins(serves: Callable[[Kind], bool] = lambda _: True) -> tuple[GroupVersionEntry, ...]:
    """Return the entries of the built-in group versions. Include only kinds for which `serves` returns true."""
    return tuple(
        GroupVersionEntry(
            version.group,
            version.version,
            version.group_priority,
            version.version_priority,
            tuple(_resource_entry(kind) for kind in kinds if serves(kind)),
        )
        for version, kinds in kinds_by_group_version().items()
        if any(map(serves, kinds))
    )


def _resource_entry(kind: Kind) -> ResourceEntry:
    return ResourceEntry(
        name=kind.plural,
        singular=kind.singular,
        kind=kind.kind,
        namespaced=kind.namespaced,
        verbs=kind.verbs,
        short_names=kind.short_names,
        categories=kind.categories,
        storage_hash=kind.storage_hash,
        subresources=tuple(
            SubresourceEntry(sub.name, sub.kind or kind.kind, sub.verbs, sub.group, sub.version)
            for sub in kind.subresources
        ),
    )


@cache
def default_builtins() -> tuple[GroupVersionEntry, ...]:
    """Return the entries of the built-in group versions that kube-apiserver still has."""
    return builtins(lambda kind: kind.group_version.api_version != "apiextensions.k8s.io/v1beta1")
