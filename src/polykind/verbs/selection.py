"""The objects that a list, a watch or a deletecollection selects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.value_index import UNKNOWN, IndexQuery, Unknown
from polykind.codec import json_codec
from polykind.operations.operation import Operation
from polykind.operations.options import ListOptions
from polykind.resources.resource import ServedVersion
from polykind.selectors import selectable_fields
from polykind.selectors.field_selectors import FieldRequirement
from polykind.selectors.label_selectors import Requirement

_LONG_QUERY = 2048
"""The length of a query string above which its selectors are parsed and matched in a worker thread."""

_MAX_QUERIES = 16
"""The number of requirements of a selector for which indexes are used."""
_MAX_VALUES = 200
"""The number of values of a requirement for which an index is asked for each value."""
_SELECTIVE = ("=", "==", "in", "!")
"""The operators of label selectors that an index answers with a lookup."""


def has_long_query(op: Operation) -> bool:
    """True if the selectors of the request may take long to parse and to match."""
    return len(op.parameters) > _LONG_QUERY


async def read_selection(op: Operation, *, watch: bool = False) -> tuple[ListOptions, RequestSelection]:
    """Return the options and the selection of a list, a watch or a deletecollection."""

    def read() -> tuple[ListOptions, RequestSelection]:
        options = ListOptions.from_query(op.query, watch=watch)
        return options, RequestSelection(op, options)

    return await op.lane.run_long_if(has_long_query(op), read)


class RequestSelection:
    """A request's selection: the namespace and name of its path, a label selector and a field selector."""

    __slots__ = (
        "_cache",
        "_fields",
        "_labels",
        "_namespaced",
        "_paths",
        "_queries",
        "everything",
        "expensive",
        "key",
        "name",
        "namespace",
    )

    def __init__(self, op: Operation, options: ListOptions) -> None:
        version = op.version
        allowed = {"metadata.name", *map(selectable_fields.selector_name, version.selectable)}
        if op.resource.namespaced:
            allowed.add("metadata.namespace")
        self._labels = options.label_selector
        self._fields = options.field_selector
        self._fields.check_fields(allowed, version.unknown_field_label)
        self._paths = (".metadata.name", ".metadata.namespace", *version.selectable)
        self._cache = op.resource.cache
        self._namespaced = op.resource.namespaced
        self.namespace = op.namespace
        self.name: str | None = op.name or self._fields.name
        if self.namespace is None and self._namespaced and self._fields.namespace is not None:
            self.namespace = self._fields.namespace
        requirements = self._fields.requirements
        pinned = {requirement.field for requirement in requirements if requirement.equal}
        only_pins = all(r.equal for r in requirements) and pinned <= {"metadata.name", "metadata.namespace"}
        contradictory = len(pinned) < len(requirements) or (self.namespace, self.name) != (
            self._fields.namespace if "metadata.namespace" in pinned else self.namespace,
            self._fields.name if "metadata.name" in pinned else self.name,
        )
        self.everything = self._labels.empty and only_pins and not contradictory
        """True if every object with the selected namespace and name matches the selectors."""
        if error := op.invalid_key_error(self.name):
            raise error
        self._queries = [] if self.everything else self._build_queries(version)
        self.expensive = has_long_query(op)
        self.key: Hashable = (self.namespace, self.name, str(self._labels), str(self._fields))

    @property
    def has_selector(self) -> bool:
        """True if there is a label or field selector. kube-apiserver then omits remainingItemCount."""
        return not (self._labels.empty and self._fields.empty)

    @property
    def single(self) -> bool:
        """True if at most one key of the store can match."""
        return self.name is not None and (self.namespace is not None or not self._namespaced)

    def matches(self, representation: Representation) -> bool:
        """True if the label selector and the field selector match the object."""
        if not self._labels.matches(representation.labels):
            return False
        if self._fields.empty:
            return True
        return self._fields.matches(_field_texts(representation, self._paths).get)

    def match_each(self, representations: Sequence[Representation]) -> list[bool]:
        """Return for each object if the selectors match it."""
        if not self._fields.empty:
            return list(map(self.matches, representations))
        accepts = self._labels.matches
        return [accepts(representation.labels) for representation in representations]

    def may_match(self, cached: CachedObject) -> bool:
        """False if the object's namespace or name differs from the selected one."""
        return (self.name is None or cached.name == self.name) and (
            self.namespace is None or cached.namespace == self.namespace
        )

    async def prepare_indexes(self) -> None:
        """Build or update the indexes that `candidates` uses."""
        if self._queries and not self.single:
            await self._cache.prepare_indexes(self._queries)

    def remaining(self, last: CachedObject) -> int:
        """Return the number of cached objects after `last` with the selected namespace, whether or not they match."""
        return 0 if self.single else self._cache.remaining(self.namespace, last.key)

    def candidates(self, after: str = "") -> list[CachedObject]:
        """Return the cached objects that can match and whose keys follow `after`."""
        if self.name is not None and self.single:
            key = f"{self.namespace}/{self.name}" if self._namespaced else self.name
            cached = self._cache.get(key) if key > after else None
            return [cached] if cached is not None else []
        if self.name is not None and self.namespace is None:
            return self._cache.named(self.name, after)
        if self._queries and (found := self._cache.find(self._queries, self.namespace, after)) is not None:
            return found
        return self._cache.snapshot(self.namespace, after)

    def watch_query(self) -> IndexQuery | None:
        """Return a description of a value that all selected objects have, such as their namespace, or None."""
        if self.name is not None and self.single:
            key = f"{self.namespace}/{self.name}" if self._namespaced else self.name
            return IndexQuery("key", _key_of, key.__eq__, (key,))
        for query in self._queries:
            if query.values is not None:
                return query
        if self.name is not None:
            return IndexQuery("name", _name_of, self.name.__eq__, (self.name,))
        if self.namespace is not None:
            return IndexQuery("namespace", _namespace_of, self.namespace.__eq__, (self.namespace,))
        return None

    def _build_queries(self, version: ServedVersion) -> list[IndexQuery]:
        """Return the queries to the indexes of the resource, the most selective ones first.

        A long selector uses indexes for some of its requirements only.
        """
        indexed = (r for r in self._fields.requirements if r.field not in ("metadata.name", "metadata.namespace"))
        fields = sorted(indexed, key=lambda requirement: not requirement.equal)[:_MAX_QUERIES]
        labels = sorted(self._labels.requirements, key=lambda requirement: requirement.operator not in _SELECTIVE)
        queries = [_field_query(version, requirement, self._paths) for requirement in fields]
        queries += [_label_query(version, requirement) for requirement in labels[:_MAX_QUERIES]]
        return sorted(queries, key=lambda query: query.values is None)


_key_of = attrgetter("key")
_name_of = attrgetter("name")
_namespace_of = attrgetter("namespace")


def _field_texts(representation: Representation, paths: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of the selectable fields. They are kept with the representation."""
    if representation.fields is None:
        value = json_codec.decode(representation.data)
        is_object = isinstance(value, dict)
        representation.fields = selectable_fields.selectable_field_texts(value, paths) if is_object else {}
    return representation.fields


def _field_query(version: ServedVersion, requirement: FieldRequirement, paths: tuple[str, ...]) -> IndexQuery:
    representer, (field, equal, value) = version.representer, requirement

    def value_of(cached: CachedObject) -> str | Unknown:
        try:
            representation = representer.ready(cached)
        except errors.APIError:
            return UNKNOWN
        return UNKNOWN if representation is None else _field_texts(representation, paths).get(field) or ""

    return IndexQuery(
        ("field", version.version, version.schema_generation, representer.value_period, field),
        value_of,
        lambda text: (text == value) is equal,
        (value,) if equal else None,
    )


def _label_query(version: ServedVersion, requirement: Requirement) -> IndexQuery:
    key, matches, representer = requirement.key, requirement.matcher(), version.representer

    def value_of(cached: CachedObject) -> str | None:
        return cached.label(key)

    def converted_value_of(cached: CachedObject) -> str | Unknown | None:
        # A converter may change labels.
        representation = representer.known(cached)
        return UNKNOWN if representation is None else representation.label(key)

    values: tuple[str | None, ...] | None = None
    if requirement.operator in ("=", "==", "in"):
        values = requirement.values if len(requirement.values) <= _MAX_VALUES else None
    elif requirement.operator == "!":
        values = (None,)
    return IndexQuery(
        ("label", version.version, version.schema_generation, representer.value_period, key)
        if version.converts
        else ("label", key),
        converted_value_of if version.converts else value_of,
        lambda value: matches({key: value} if value is not None else {}),
        values,
        None if version.converts else key,
    )
