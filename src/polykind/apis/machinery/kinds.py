"""Declarations of built-in kinds, and the data of discovery and tables that follow from a declaration."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from polykind.apis.machinery.structs import GroupVersion, Struct
from polykind.codec.table import CREATED_AT, Column, TableFormat

if TYPE_CHECKING:
    from polykind.apis.machinery.version_conversion import VersionConversion

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


_STORAGE_PREFIXES = {
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("", "services"): "services/specs",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "apiextensions.k8s.io/customresourcedefinitions",
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
    ("networking.k8s.io", "ingresses"): "ingress",
}
"""The prefixes of storage keys, by group and plural, if the prefix is not just the plural."""


Columns = Sequence[Column] | TableFormat
"""The columns of a kind, or its table with the conditions of rows."""


class Subresource(NamedTuple):
    """A subresource in discovery. `kind`, `group` and `version` are empty if they are the same as the resource's."""

    name: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    kind: str = ""
    group: str = ""
    version: str = ""


class Kind(Struct):
    """A kind at one version, served as a resource. The table of its group version declares its fields.

    `columns` and `conversion` can be functions, which import what they return when it is first used.
    """

    def __init__(
        self,
        group_version: GroupVersion,
        name: str,
        *,
        plural: str = "",
        namespaced: bool = False,
        short_names: tuple[str, ...] = (),
        categories: tuple[str, ...] = (),
        verbs: tuple[str, ...] = _VERBS,
        without_verbs: tuple[str, ...] = (),
        subresources: tuple[Subresource, ...] = (),
        columns: Columns | Callable[[Kind], Columns] = (CREATED_AT,),
        name_format: str = "name",
        selectable: tuple[str, ...] | None = None,
        deprecation: str = "",
        known_versions: tuple[str, ...] = (),
        stored_group: str | None = None,
        stored_version: str = "",
        storage_prefix: str = "",
        strategy: str = "",
        conversion: Callable[[], VersionConversion] | None = None,
        delete_returns_object: bool = False,
    ) -> None:
        super().__init__(
            f"{group_version.version}.{name}",
            lambda: group_version.types.declaration(name),
            kind=name,
            version=group_version.version,
        )
        self.group_version = group_version
        self.group = group_version.group
        self.plural = plural or f"{name.lower()}s"
        self.singular = name.lower()
        self.namespaced = namespaced
        self.short_names, self.categories = short_names, categories
        self.verbs = tuple(verb for verb in verbs if verb not in without_verbs)
        self.subresources = subresources
        self.selectable = selectable
        """The JSON paths that field selectors support in addition to metadata.name. None stands for metadata.namespace.

        A DerivedField is a field whose text in selectors differs from the text of the JSON value.
        """
        self.deprecation = deprecation
        """The warning that clients get with every response, or an empty string."""
        self.known_versions = known_versions or (self.version,)
        """The versions of this kind that kube-apiserver can decode, even if this server does not serve them."""
        self.delete_returns_object = delete_returns_object
        """True if OpenAPI says that a delete returns the deleted object instead of a Status."""
        self._columns, self._name_format = columns, name_format
        self.stored_group = self.group if stored_group is None else stored_group
        self.stored_version = stored_version or self.version
        """The version at which kube-apiserver stores objects of this kind. `stored_group` is its group."""
        self.storage_prefix = storage_prefix or _STORAGE_PREFIXES.get((self.group, self.plural), self.plural)
        """The part of storage keys that names the resource, such as `services/specs`. kube-apiserver has the same keys.
        """
        self.conversion = conversion
        """Returns the conversion to the stored version; None if only the apiVersion differs."""
        self.strategy = strategy
        """The strategy as `module:Class`, imported at the first use of the resource; "" for a plain BuiltinStrategy."""

    @property
    def persistent(self) -> bool:
        """True if objects of this kind are stored. False for reviews such as SubjectAccessReview."""
        return "get" in self.verbs

    @property
    def internal_type(self) -> str:
        """The internal Go type that kube-apiserver's error messages name, such as `core.Event` for both Event kinds."""
        return f"{self.stored_group.partition('.')[0] or 'core'}.{self.kind}"

    @property
    def storage_hash(self) -> str:
        """The storageVersionHash in discovery: a hash of the version at which kube-apiserver stores this kind."""
        if not {"create", "get"} <= set(self.verbs):
            return ""
        stored_as = f"{self.stored_group}/{self.stored_version}/{self.kind}"
        return base64.b64encode(hashlib.sha256(stored_as.encode()).digest()[:8]).decode()

    @cached_property
    def table(self) -> TableFormat:
        """The columns of `kubectl get`."""
        columns = self._columns(self) if callable(self._columns) else self._columns
        if isinstance(columns, TableFormat):
            return columns
        return TableFormat.of_columns(columns, name_format=self._name_format)
