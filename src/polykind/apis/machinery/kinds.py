"""Built-in kinds: the declaration of a served resource, and what discovery and tables derive from it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from polykind.apis.machinery.lazy_imports import import_by_path
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.meta.types import OBJECT_META, TYPE_META
from polykind.codec.table import CREATED_AT, Column, TableFormat

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_METADATA = Field("metadata", 1, OBJECT_META, "Standard object's metadata.", default={})
_REQUIRED_METADATA = replace(_METADATA, required=True)


_STORAGE_PREFIXES = {
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("", "services"): "services/specs",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "apiextensions.k8s.io/customresourcedefinitions",
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
    ("networking.k8s.io", "ingresses"): "ingress",
}
"""The prefixes of storage keys that differ from the plural, by group and plural."""


class Subresource(NamedTuple):
    """A subresource in discovery. `kind`, `group` and `version` are set if they differ from the resource's."""

    name: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    kind: str = ""
    group: str = ""
    version: str = ""


class Kind(Struct):
    """A kind at one version, served as a resource.

    The declaration adds apiVersion, kind and metadata to its fields. Kinds with many fields declare them in a separate
    module. `fields_in` names it (`package.module:NAME`), and the first use of the fields imports it. In the same way
    `columns` can name a tuple of columns or a TableFormat.
    """

    def __init__(
        self,
        group_version: GroupVersion,
        name: str,
        doc: str,
        *fields: Field,
        fields_in: str = "",
        plural: str = "",
        namespaced: bool = False,
        short_names: tuple[str, ...] = (),
        categories: tuple[str, ...] = (),
        verbs: tuple[str, ...] = _VERBS,
        without_verbs: tuple[str, ...] = (),
        subresources: tuple[Subresource, ...] = (),
        columns: Sequence[Column] | str = (CREATED_AT,),
        name_format: str = "name",
        selectable: tuple[str, ...] | None = None,
        deprecation: str = "",
        known_versions: tuple[str, ...] = (),
        stored_group: str | None = None,
        stored_version: str = "",
        storage_prefix: str = "",
        strategy: str = "",
        conversion: str = "",
        opaque: bool = False,
        delete_returns_object: bool = False,
        metadata_required: bool = False,
    ) -> None:
        super().__init__(
            f"{group_version.version}.{name}",
            lambda: (
                *TYPE_META,
                _REQUIRED_METADATA if metadata_required else _METADATA,
                *fields,
                *(import_by_path(fields_in) if fields_in else ()),
            ),
            kind=name,
            version=group_version.version,
            model=f"{group_version.models}.{name}",
            doc=doc,
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
        """The JSON paths that field selectors support besides metadata.name. If None, they support only
        metadata.namespace.

        A DerivedField stands for a field whose text in selectors is not simply that of the JSON value.
        """
        self.deprecation = deprecation
        """The warning that clients get with every response."""
        self.known_versions = known_versions or (self.version,)
        """The versions of this kind that kube-apiserver can decode, even if this server does not serve them."""
        self.opaque = opaque
        """True if OpenAPI does not publish the fields."""
        self.delete_returns_object = delete_returns_object
        """True if OpenAPI says that a delete returns the deleted object instead of a Status."""
        self._columns, self._name_format = columns, name_format
        self.stored_group = self.group if stored_group is None else stored_group
        self.stored_version = stored_version or self.version
        """`stored_group` and `stored_version` are the API version at which kube-apiserver stores objects of this kind.
        """
        self.storage_prefix = storage_prefix or _STORAGE_PREFIXES.get((self.group, self.plural), self.plural)
        """The part of storage keys that names the resource, such as `services/specs`. It is the same as Kubernetes'."""
        self.conversion = conversion
        """The VersionConversion to the stored version as `module:NAME`; "" if only the apiVersion differs."""
        self.strategy = strategy
        """The strategy as `module:Class`, imported at the first use of the resource; "" for a plain BuiltinStrategy."""

    @property
    def persistent(self) -> bool:
        """True if objects of this kind are stored. False for reviews such as SubjectAccessReview."""
        return "get" in self.verbs

    @property
    def internal_type(self) -> str:
        """The name of kube-apiserver's internal Go type, as error texts show it: `core.Event` for both Event kinds."""
        return f"{self.stored_group.partition('.')[0] or 'core'}.{self.kind}"

    @property
    def storage_hash(self) -> str:
        """The storageVersionHash of discovery, which names the version at which kube-apiserver stores this kind."""
        if not {"create", "get"} <= set(self.verbs):
            return ""
        stored_as = f"{self.stored_group}/{self.stored_version}/{self.kind}"
        return base64.b64encode(hashlib.sha256(stored_as.encode()).digest()[:8]).decode()

    @cached_property
    def table(self) -> TableFormat:
        """The columns of `kubectl get`."""
        columns = import_by_path(self._columns) if isinstance(self._columns, str) else self._columns
        if isinstance(columns, TableFormat):
            return columns
        return TableFormat.of_columns(columns, name_format=self._name_format)
