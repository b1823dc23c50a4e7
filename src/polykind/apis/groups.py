"""The built-in kinds that the server serves, by group and version."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polykind.apis.machinery.kinds import Kind
    from polykind.apis.machinery.structs import GroupVersion

_PACKAGES = (
    "core",
    "apiregistration",
    "apps",
    "events",
    "authentication",
    "authorization",
    "autoscaling",
    "batch",
    "certificates",
    "networking",
    "policy",
    "rbac",
    "storage",
    "admissionregistration",
    "apiextensions",
    "scheduling",
    "coordination",
    "node",
    "discovery",
    "resource",
    "flowcontrol",
    "storagemigration",
)
"""The packages of `polykind.apis` whose `types` modules have a tuple KINDS, in the order of discovery."""


@cache
def kinds_by_group_version() -> dict[GroupVersion, tuple[Kind, ...]]:
    """Return all served kinds by group version, sorted by plural name. Import the modules that declare the kinds."""
    found: dict[GroupVersion, list[Kind]] = {}
    for package in _PACKAGES:
        for kind in import_module(f"polykind.apis.{package}.types").KINDS:
            found.setdefault(kind.group_version, []).append(kind)
    return {version: tuple(sorted(kinds, key=lambda kind: kind.plural)) for version, kinds in found.items()}


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return all built-in kinds at all versions."""
    return tuple(kind for kinds in kinds_by_group_version().values() for kind in kinds)


@cache
def _decodable_kinds() -> dict[tuple[str, str, str], Kind]:
    """Return the first declaration of each kind, by group, version and name."""
    found: dict[tuple[str, str, str], Kind] = {}
    for kind in all_kinds():
        for version in kind.known_versions:
            found.setdefault((kind.group, version, kind.kind), kind)
    return found


@cache
def _served_kinds() -> dict[tuple[str, str], Kind]:
    """Return the served kinds by apiVersion and name."""
    found: dict[tuple[str, str], Kind] = {}
    for group_version, kinds in kinds_by_group_version().items():
        for kind in kinds:
            found.setdefault((group_version.api_version, kind.kind), kind)
    return found


def find_decodable_kind(api_version: str, name: str) -> Kind | None:
    """Return a declaration that decodes protobuf messages of a kind at an apiVersion. Return None if there is none.

    The server need not serve the apiVersion: messages of a kind have the same fields at all versions.
    """
    group, _, version = api_version.rpartition("/")
    return _decodable_kinds().get((group, version, name))


def find_kind(api_version: str, name: str) -> Kind | None:
    """Return the kind that is served at an apiVersion. Return None if no such kind is served."""
    return _served_kinds().get((api_version, name))


def find_subresource_kind(api_version: str, name: str) -> Kind | None:
    """Return the kind of the objects of a subresource, such as Scale or Eviction.

    Return None if the kind is unknown.
    """
    from polykind.apis.authentication.types import TOKEN_REQUEST
    from polykind.apis.autoscaling.types import SCALE
    from polykind.apis.policy.types import EVICTION

    for kind in (TOKEN_REQUEST, SCALE, EVICTION):
        if (kind.group_version.api_version, kind.kind) == (api_version, name):
            return kind
    return find_kind(api_version, name)
