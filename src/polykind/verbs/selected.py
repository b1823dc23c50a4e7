"""Which objects a list, a watch or a deletecollection is about."""

from __future__ import annotations

from collections.abc import Hashable

from polykind.cache.cached_object import CachedObject, Representation
from polykind.codec import json_codec
from polykind.http.options import ListOptions
from polykind.selectors import selectable_fields
from polykind.verbs.context import RequestContext


class Selected:
    """The path's namespace and name, a label selector and a field selector."""

    __slots__ = (
        "_cache",
        "_fields",
        "_labels",
        "_namespaced",
        "_path_namespace",
        "_paths",
        "everything",
        "key",
        "name",
        "namespace",
    )

    def __init__(self, call: RequestContext, options: ListOptions) -> None:
        version = call.version
        selectable = {selectable_fields.selector_name(p): p for p in version.selectable}
        self._labels = options.label_selector
        allowed = {"metadata.name", *selectable}
        if call.resource.namespaced:
            allowed.add("metadata.namespace")
        self._fields = options.field_selector
        self._fields.check_fields(allowed, version.unknown_field_label)
        self._paths = (".metadata.name", ".metadata.namespace", *version.selectable)
        self._cache = call.resource.cache
        self._namespaced = call.resource.namespaced
        self._path_namespace = call.namespace
        self.namespace = call.namespace
        self.name: str | None = call.name or self._fields.name
        if self.namespace is None and self._namespaced and self._fields.namespace is not None:
            self.namespace = self._fields.namespace
        pinned = {t.field for t in self._fields.requirements if t.equal}
        only_pins = all(t.equal for t in self._fields.requirements) and pinned <= {
            "metadata.name",
            "metadata.namespace",
        }
        contradictory = len(pinned) < len(self._fields.requirements) or (self.namespace, self.name) != (
            self._fields.namespace if "metadata.namespace" in pinned else self.namespace,
            self._fields.name if "metadata.name" in pinned else self.name,
        )
        self.everything = self._labels.empty and only_pins and not contradictory
        if stray := call.stray(self.name):
            raise stray
        self.key: Hashable = (self.namespace, self.name, str(self._labels), str(self._fields))

    @property
    def narrow(self) -> bool:
        """Whether anything but the path's namespace decides: then nobody counts what remains of a list."""
        return not (self._labels.empty and self._fields.empty)

    def matches(self, form: Representation) -> bool:
        if not self._labels.matches(form.labels):
            return False
        if self._fields.empty:
            return True
        if form.fields is None:
            value = json_codec.decode(form.data)
            form.fields = (
                selectable_fields.selectable_field_texts(value, self._paths) if isinstance(value, dict) else {}
            )
        return self._fields.matches(form.fields.get)

    @property
    def broad(self) -> bool:
        """Whether no single name, and no namespace but the path's, is asked for."""
        return self.name is None and self.namespace == self._path_namespace

    @property
    def single(self) -> bool:
        """Whether it is about one key of the store."""
        return self.name is not None and (self.namespace is not None or not self._namespaced)

    def entries(self, after: str = "") -> list[CachedObject]:
        """The entries that are worth a look, as they stand now."""
        if self.name is not None and self.single:
            key = f"{self.namespace}/{self.name}" if self._namespaced else self.name
            entry = self._cache.get(key) if key > after else None
            return [entry] if entry is not None else []
        return self._cache.snapshot(self.namespace, after)

    def may_match(self, entry: CachedObject) -> bool:
        """What can be ruled out without looking at the object."""
        return (self.name is None or entry.name == self.name) and (
            self.namespace is None or entry.namespace == self.namespace
        )
