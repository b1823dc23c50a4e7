"""Built-in resources: the resource and the strategy of a declared kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import ClassVar, TypeVar, overload

from polykind import errors, names
from polykind.apis.machinery.apply_types import apply_model
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.lazy_imports import import_by_path
from polykind.apis.machinery.version_conversion import StoredKind
from polykind.apply.fieldset import Fields
from polykind.apply.ownership import MAIN_RESET, SPEC_RESET, Reset
from polykind.apply.typemodel import TypeModel
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.contract import InterruptCheck, JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin_codec import BuiltinCodec, BuiltinRepresenter
from polykind.resources.registry import DeclaredResource, Registry
from polykind.resources.representer import Representer
from polykind.resources.resource import ObjectCodec, Resource, ServedVersion, Strategy, Validation
from polykind.resources.schema_digests import builtin_digests
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal
from polykind.selectors import field_selectors

_SCALE_PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
"""The paths of the replicas in all built-in workloads."""


_UNSUPPORTED_FIELDS = {
    "Job": field_selectors.unsupported_field_of_jobs,
    "ResourceSlice": field_selectors.unsupported_field_of_resource_slices,
}
"""The functions that return the error message for a field selector, for kinds with messages of their own."""


def _unknown_field_label(kind: Kind) -> Callable[[str], str]:
    """Return the function that returns the error message for a field selector on an unknown field."""
    if kind.selectable is None:
        return field_selectors.unknown_field
    return _UNSUPPORTED_FIELDS.get(kind.kind, field_selectors.unsupported_field)


class BuiltinResource(Resource):
    """The resource of a built-in kind.

    If `cache` is None, objects are not stored, and the server supports only create requests, as for
    SubjectAccessReviews.
    """

    is_builtin = True

    def __init__(self, cache: WatchCache | None, kind: Kind, stored_kind: StoredKind | None = None) -> None:
        """`stored_kind` has the other versions of the kind, or is None if there are no other versions."""
        self.stored_kind = stored_kind or StoredKind([kind])
        super().__init__(
            cache.resource_at(kind.storage_prefix) if cache is not None else ResourceCache(""),
            group=kind.group,
            plural=kind.plural,
            singular=kind.singular,
            kind=kind.kind,
            list_kind=f"{kind.kind}List",
            namespaced=kind.namespaced,
            storage=self.stored_kind.stored.version,
        )
        self.cache.schema_digests = partial(builtin_digests, self.stored_kind)

    def versions_with(self, subresource: str) -> list[tuple[str, str]]:
        # The same objects in another group have no subresources.
        others = () if subresource else self.stored_kind.kinds.values()
        found = super().versions_with(subresource)
        return found + [(kind.group, kind.version) for kind in others if kind.group != self.group]

    def serve(
        self,
        kind: Kind,
        strategy: BuiltinStrategy,
        *,
        codec: ObjectCodec | None = None,
        representer: Representer | None = None,
    ) -> ServedVersion:
        """Serve the resource at the version of `kind`. Return the served version."""
        subresources = {subresource.name: frozenset(subresource.verbs) for subresource in kind.subresources}
        version = self.versions[kind.version] = ServedVersion(
            self,
            kind.version,
            codec or BuiltinCodec(kind, strategy.default),
            strategy,
            representer or strategy.representer_class(self, kind, strategy.default, self.stored_kind),
            is_builtin=True,
            has_status="status" in subresources,
            verbs=frozenset(kind.verbs),
            subresources=subresources,
            scale=_SCALE_PATHS if "scale" in subresources else None,
            deprecation=kind.deprecation,
            selectable=(".metadata.namespace",) if kind.selectable is None else kind.selectable,
            unknown_field_label=_unknown_field_label(kind),
            object_type=f"*{kind.internal_type}",
            list_type=f"*{kind.internal_type}List",
        )
        return version

    def reset(self, version: ServedVersion, subresource: str) -> Reset:
        return self._resets.get(subresource, {})

    @cached_property
    def _resets(self) -> Mapping[str, Reset]:
        """The fields that clients cannot set through an endpoint: by subresource, then by apiVersion."""
        strategies = {v.api_version: v.strategy for v in self.versions.values()}
        fields = {v: s.reset_fields for v, s in strategies.items() if isinstance(s, BuiltinStrategy)}
        subresources = {subresource for resets in fields.values() for subresource in resets}
        return {sub: {v: resets[sub] for v, resets in fields.items() if sub in resets} for sub in subresources}

    @cached_property
    def models(self) -> Mapping[str, TypeModel]:
        others = {api_version: apply_model(kind) for api_version, kind in self.stored_kind.kinds.items()}
        return {**others, **super().models}

    def read(self, cached: CachedObject) -> JsonObject:
        """Decode a stored object and set its defaults. Raise BadRequestError if the object cannot be decoded."""
        return self.storage_version().codec.decode(cached.decode(), report_unknown=False).obj

    def shown(self, cached: CachedObject) -> JsonObject:
        """Return a stored object as clients see it. Raise APIError if the object cannot be decoded."""
        representation = self.storage_version().representer.ready_at_once(cached)
        if representation is None:
            raise AssertionError("a built-in resource needs no conversion")
        obj: JsonObject = json_codec.decode(representation.data)
        return obj


class BuiltinStrategy(Strategy):
    """The rules of a built-in kind for writes. Subclasses override the rules that differ for their kind.

    Objects are JSON objects, decoded with the fields that the kind declares. The server calls `default` after every
    decode, also of objects that patches and mutating admission have produced.
    """

    max_objects = 25_000
    """Defaults make each object several times as large."""
    name_rule = staticmethod(names.subdomain_name)
    """A function that returns the reasons why a name is invalid. The second argument is True for a generateName."""
    checks_finalizer_names = True
    """True if a finalizer without a domain must be one of Kubernetes' own. A few kinds allow any qualified name."""
    counts_generation = False
    """True if metadata.generation starts at 1 and every change of the spec increments it."""
    reset_fields: ClassVar[Mapping[str, Fields]] = {"": MAIN_RESET, "status": SPEC_RESET}
    """The fields that writes to an endpoint cannot set. The key is the subresource, "" for the object itself."""
    resource_class: ClassVar[type[BuiltinResource]] = BuiltinResource
    """The class of the resource. Override it if a write has effects besides storing the object."""
    representer_class: ClassVar[type[BuiltinRepresenter]] = BuiltinRepresenter

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.namespaced = kind.namespaced
        self._has_status = any(subresource.name == "status" for subresource in kind.subresources)

    def default(self, obj: JsonObject) -> None:
        """Set the defaults of a decoded object, in place."""
        return

    def prepare_create(self, obj: JsonObject) -> None:
        if self._has_status:
            self._replace_status(obj, {})
        if self.counts_generation:
            obj["metadata"]["generation"] = 1

    def _replace_status(self, obj: JsonObject, source: JsonObject) -> None:
        """Replace the status by the status of `source`, or by the empty status if `source` has none."""
        if "status" in source:
            obj["status"] = source["status"]
            return
        obj.pop("status", None)
        field = next((field for field in self.kind.fields if field.name == "status"), None)
        if field is not None and field.always:
            obj["status"] = field.type.zero()

    def validate_create(
        self, obj: JsonObject, *, values_validated: bool = False, check: InterruptCheck | None = None
    ) -> Validation:
        return Validation(self.create_errors(obj))

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        if self._has_status:
            self._replace_status(new, old)
        if self.counts_generation and not deep_equal(new.get("spec"), old.get("spec")):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_update(
        self,
        new: JsonObject,
        old: JsonObject,
        *,
        values_validated: bool = False,
        check: InterruptCheck | None = None,
    ) -> Validation:
        return Validation(self.update_errors(new, old))

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Return an object with the metadata and status of `new` and all other fields of `old`."""
        kept = {name: value for name, value in old.items() if name not in ("metadata", "status")}
        changed = {name: value for name, value in new.items() if name in ("metadata", "status")}
        return {**kept, **changed}

    def validate_subresource(
        self, subresource: str, new: JsonObject, old: JsonObject, *, check: InterruptCheck | None = None
    ) -> Validation:
        return Validation(self.subresource_errors(subresource, new, old))

    def subresource_errors(self, subresource: str, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Return the errors of an update through `subresource`. Not called for scale."""
        if subresource == "status":
            return self.status_errors(new, old)
        raise NotImplementedError(subresource)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old)

    def subresource_warnings(self, subresource: str, new: JsonObject, old: JsonObject) -> list[str]:
        # A change of the scale is an update of the object's spec.
        return self.warnings(new, old) if subresource == "scale" else []

    def meta_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Validate the metadata of a new object or, if `old` is not None, of an updated object."""
        meta = new["metadata"]
        if old is not None:
            found = metadata_validation.validate_object_meta_update(meta, old["metadata"])
        else:
            found = metadata_validation.validate_object_meta(meta, namespaced=self.namespaced, name_rule=self.name_rule)
        return found + finalizer_errors(meta.get("finalizers")) if self.checks_finalizer_names else found


def load_strategy(kind: Kind) -> BuiltinStrategy:
    """Import and create the strategy that a kind declares."""
    if not kind.strategy:
        return BuiltinStrategy(kind)
    strategy: BuiltinStrategy = import_by_path(kind.strategy)(kind)
    return strategy


def build_resource(cache: WatchCache, kinds: Sequence[Kind], versions: Sequence[Kind]) -> BuiltinResource:
    """Return the resource of a kind.

    `kinds` are the served versions of the kind in one group. `versions` are all versions, also of other groups, whose
    objects are stored under the same prefix.
    """
    from polykind.resources.converted_strategy import ConvertedStrategy

    stored_kind = StoredKind(versions)
    strategies = {kind: load_strategy(kind) for kind in kinds}
    resource = strategies[kinds[0]].resource_class(cache if kinds[0].persistent else None, kinds[0], stored_kind)
    for kind, strategy in strategies.items():
        resource.serve(kind, strategy if kind is stored_kind.stored else ConvertedStrategy(strategy, stored_kind))
    return resource


def declare_builtins(
    registry: Registry, cache: WatchCache, kinds: Sequence[Kind], serves: Callable[[Kind], bool] = lambda _: True
) -> None:
    """Declare the resources of built-in kinds in the registry, which builds each resource at its first use.

    A kind for which `serves` is false has no endpoints, but components of the server can still use its resource.
    """
    by_prefix: dict[str, list[Kind]] = {}
    by_resource: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        by_prefix.setdefault(kind.storage_prefix, []).append(kind)
        by_resource.setdefault((kind.group, kind.plural), []).append(kind)
        if not serves(kind):
            registry.disable(kind.group, kind.version, kind.plural)
    for (group, plural), declared in by_resource.items():
        registry.declare(
            DeclaredResource(
                group,
                plural,
                declared[0].kind,
                tuple(kind.version for kind in declared),
                declared[0].namespaced,
                cache.prefix + declared[0].storage_prefix + "/" if declared[0].persistent else "",
                partial(build_resource, cache, declared, by_prefix[declared[0].storage_prefix]),
            )
        )


Found = TypeVar("Found", bound=BuiltinResource)


@overload
def find_builtin(registry: Registry, group: str, plural: str) -> BuiltinResource: ...
@overload
def find_builtin(registry: Registry, group: str, plural: str, resource_class: type[Found]) -> Found: ...
def find_builtin(
    registry: Registry, group: str, plural: str, resource_class: type[BuiltinResource] = BuiltinResource
) -> BuiltinResource:
    """Return a built-in resource, for a component that works with its objects. The resource must be declared."""
    resource = registry.resource(group, plural)
    if not isinstance(resource, resource_class):
        raise AssertionError(f"{plural} of group {group!r} must be declared with a {resource_class.__name__}")
    return resource


_KEPT_BY_STATUS_UPDATES = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")


def only_status_changed(new: JsonObject, old: JsonObject) -> JsonObject:
    """Return `new` with the spec, labels, annotations, finalizers and owners of `old`, as in most status strategies."""
    kept = {name: old["metadata"][name] for name in _KEPT_BY_STATUS_UPDATES if name in old["metadata"]}
    meta = {name: value for name, value in new["metadata"].items() if name not in _KEPT_BY_STATUS_UPDATES}
    return {**new, "metadata": {**meta, **kept}, "spec": old["spec"]}


_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def finalizer_errors(finalizers: list[str] | None, path: str = "metadata.finalizers[{}]") -> list[FieldError]:
    """Return an error for each finalizer that is neither a qualified name nor a standard finalizer."""
    reason = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        errors.invalid(path.format(at), name, reason)
        for at, name in enumerate(finalizers or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]
