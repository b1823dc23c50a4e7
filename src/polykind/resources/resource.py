"""Served resources and their versions, with the interfaces of the codec and the strategy of a version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from polykind import errors
from polykind.apply.ownership import MAIN_RESET, Reset
from polykind.cache.resource_cache import ResourceCache
from polykind.codec import negotiation, partial_metadata
from polykind.contract import InterruptCheck, JsonObject
from polykind.errors import FieldError
from polykind.resources.representer import Representer
from polykind.selectors import field_selectors

if TYPE_CHECKING:
    from polykind.apply.strategic_merge_patch import Strategy as MergeStrategy
    from polykind.apply.typemodel import TypeModel
    from polykind.cache.watch_channel import WatchChannel
    from polykind.metrics.series import RequestSeries
    from polykind.metrics.usage import VersionUsage
    from polykind.operations.operation import Operation

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PropagationPolicy = Literal["Background", "Foreground", "Orphan"]
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""The finalizers of objects that are deleted with the policies Foreground and Orphan."""

Finish = Callable[[bool], Awaitable[None]]
"""A function that completes the effects of a write if its argument is True, and undoes them if it is False."""

_CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_BUILTIN_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


class FirstStatus(Protocol):
    """The first change of a new object by a controller: the object with its status."""

    value: bytes
    """The encoded object with its status."""

    async def put(self, key: str, value: bytes) -> int:
        """Write the new object and the object with its status in one transaction. Return the first revision."""


class Resource:
    """One resource of one group, with all its versions."""

    def __init__(
        self,
        cache: ResourceCache,
        *,
        group: str,
        plural: str,
        singular: str,
        kind: str,
        list_kind: str,
        namespaced: bool,
        storage: str = "",
    ) -> None:
        self.cache = cache
        self.group = group
        self.plural = plural
        self.singular = singular
        self.kind = kind
        self.list_kind = list_kind
        self.namespaced = namespaced
        self.versions: dict[str, ServedVersion] = {}
        self.storage = storage
        """The version that objects are stored at."""
        self.creatable = True
        """True if clients can create objects. False while the CRD is being deleted."""
        self.watchable_since = 0
        """The oldest revision that a watch may start from. Before this revision, the resource had other versions or
        another schema.
        """
        self.channels: dict[Hashable, WatchChannel] = {}
        """The open watch channels, by version, selector and encoding."""
        self.qualified = errors.qualified_resource(plural, group)

    is_builtin = False

    def key(self, namespace: str, name: str) -> str:
        """Return an object's key in the store, without the prefix of the resource."""
        return f"{namespace}/{name}" if self.namespaced else name

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    def versions_with(self, subresource: str) -> list[tuple[str, str]]:
        """Return the group and version of all versions with a subresource, also of groups with the same objects."""
        return [(self.group, name) for name, version in self.versions.items() if version.has(subresource)]

    @cached_property
    def models(self) -> Mapping[str, TypeModel]:
        """The field types of all versions by apiVersion, including versions that are not served."""
        return {v.api_version: v.codec.model for v in self._declared}

    @cached_property
    def replicas_paths(self) -> Mapping[str, str | None]:
        """The specReplicasPath of the scale subresource by apiVersion, or None for a version without scale."""
        return {v.api_version: v.scale["specReplicasPath"] if v.scale else None for v in self._declared}

    @property
    def _declared(self) -> Iterable[ServedVersion]:
        """All versions that are declared, whether they are served or not."""
        return self.versions.values()

    def reset(self, version: ServedVersion, subresource: str) -> Reset:
        """Return, by apiVersion, the fields that clients cannot set, and so cannot own, through an endpoint."""
        if subresource == "status":
            return self.status_resets
        return {version.api_version: MAIN_RESET} if version.has_status and not subresource else {}

    @cached_property
    def status_resets(self) -> Reset:
        """The fields that a status update cannot set, by apiVersion."""
        raise NotImplementedError

    def watch_channel(self, key: Hashable, create: Callable[[Callable[[], object]], WatchChannel]) -> WatchChannel:
        """Return the channel of a key. `create` takes a function to call when the last watcher has left."""
        channel = self.channels.get(key)
        if channel is None:
            channel = self.channels[key] = create(partial(self.channels.pop, key, None))
        return channel

    def drop_conversions(self) -> None:
        """Drop all cached conversions, because a client wants them to be computed again."""

    def end_watches(self) -> None:
        for channel in list(self.channels.values()):
            channel.finish()

    def not_found(self, name: str) -> errors.NotFoundError:
        return errors.NotFoundError(self.plural, self.group, name)

    def storage_version(self) -> ServedVersion:
        """Return the version for requests of the server itself: the storage version if it is served, else another."""
        return self.versions.get(self.storage) or next(iter(self.versions.values()))

    async def after_write(self, name: str) -> None:
        """Do what must be done before the server responds to a successful write of the object `name`."""
        return

    has_first_status = False
    """True if the resource overrides `first_status`. Verbs call this method only then."""

    async def first_status(self, obj: JsonObject, value: bytes) -> FirstStatus | None:
        """Return the first status of a new object, if the store can write it together with the object.

        `obj` is the object at the storage version, and `value` its encoding. Return None if a controller has to write
        the status after the object.
        """
        return None

    # ------------------------------------------------------------------ deletion

    protected_names: frozenset[str] = frozenset()
    """Names of objects that cannot be deleted."""
    collection_ignores_protection = False
    """True if a deletecollection also deletes the objects in `protected_names`, as kube-apiserver does for some."""
    protection_reason = ""
    """The error message for a delete of an object in `protected_names`."""
    deletion_bumps_generation = True
    """True if the start of a graceful deletion increments the generation and sets a grace period of 0."""
    deletion_applies_policy = True
    """True if the start of a graceful deletion adds the finalizers of the propagation policy."""
    non_orphan_policy = "Background"
    """The propagation policy for orphanDependents=false if the object is not terminating yet."""

    def prepare_delete(self, obj: JsonObject) -> bool:
        """Mark an object as terminating, in place. Return True if a controller must finish its deletion."""
        return False

    def has_spec_finalizers(self, obj: JsonObject) -> bool:
        """True if finalizers outside the metadata keep an object that is being deleted."""
        return False

    # ------------------------------------------------------------------ effects of writes

    previews_changes = False
    """True if a dry run of an update warns about what the change breaks, as for CRDs."""
    has_effects = False
    """True if the resource overrides `begin_create`, `begin_update` or `after_delete`. Verbs call these methods only
    then.
    """

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        """Prepare the effects of a create, such as an address allocation, and set their results in the object.

        The verb calls this method when the object has its name and uid, before the strategy prepares and validates it.
        The verb calls the returned function once: with True if the object was stored, and with False if the effects
        must be undone. A dry run must have no effects, but it must set the same fields.
        """
        return None

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        """Prepare the effects of an update. The verb calls this method and its result as for a create."""
        return None

    async def after_delete(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> None:
        """Undo the effects of a create, such as an address allocation, after the object was removed."""
        return


class ServedVersion:
    """A resource at one version: its capabilities, its codec, its strategy and its representer."""

    def __init__(
        self,
        resource: Resource,
        version: str,
        codec: ObjectCodec,
        strategy: Strategy,
        representer: Representer,
        *,
        is_builtin: bool = False,
        has_status: bool = False,
        verbs: frozenset[str] = frozenset(),
        subresources: Mapping[str, frozenset[str]] | None = None,
        scale: JsonObject | None = None,
        deprecation: str = "",
        selectable: tuple[str, ...] = (),
        unknown_field_label: Callable[[str], str] = field_selectors.unsupported_field,
        object_type: str = partial_metadata.CUSTOM_OBJECT,
        list_type: str = partial_metadata.CUSTOM_LIST,
        converts: bool = False,
        unavailable: Callable[[], errors.APIError] | None = None,
    ) -> None:
        self.resource = resource
        self.cache = resource.cache
        self.version = version
        self.api_version = resource.api_version(version)
        self.codec = codec
        self.strategy = strategy
        self.representer = representer
        self.is_builtin = is_builtin
        self.patch_types = _BUILTIN_PATCHES if is_builtin else _CUSTOM_PATCHES
        self.media = negotiation.BUILTIN_MEDIA if is_builtin else negotiation.CUSTOM_MEDIA
        """The media types in which clients may read and write objects."""
        self.has_status = has_status
        self.verbs = verbs
        """The verbs of a built-in resource, by their names in discovery."""
        self.subresources = subresources or {}
        """The verbs of each subresource of a built-in resource."""
        self.scale = scale
        self.deprecation = deprecation
        """The warning for every request at this version, or "" if the version is not deprecated."""
        self.selectable = selectable
        """JSON paths, with the leading dot, that field selectors may name."""
        self.unknown_field_label = unknown_field_label
        """A function that returns the error message for a field selector on an unknown field."""
        self.object_type = object_type
        self.list_type = list_type
        """`object_type` and `list_type` are the Go types that kube-apiserver's error messages name."""
        self.converts = converts
        """True if reads and writes at this version may call a converter."""
        self.unavailable = unavailable
        """A function that returns the error for every request at this version, or None if the version can be served."""
        self.schema_generation = self.cache.schema_generation
        """The CRD's schema generation that this version was built for."""
        self.request_series: dict[Hashable, tuple[RequestSeries, VersionUsage | None]] = {}
        """The request monitor's counters for this version. They are stored here for fast lookup."""

    def has(self, subresource: str) -> bool:
        """True if the version has the subresource `scale` or `status`. True for "", the object itself."""
        if subresource == "scale":
            return self.scale is not None
        return self.has_status if subresource == "status" else True

    def method_not_allowed(self, verb: str) -> errors.APIError:
        if self.is_builtin:
            return errors.method_not_allowed()
        return errors.MethodNotAllowedError(self.resource.plural, self.resource.group, verb)

    def unsupported_patch(self) -> errors.APIError | None:
        """Return the error for a patch of an unknown type. Return None for the usual error, which lists the known
        types.
        """
        if not self.is_builtin:
            return None
        error = errors.UnsupportedMediaTypeError("415: Unsupported Media Type")
        error.include_details = error.from_router = True
        return error


class Decoded(NamedTuple):
    """The result of decoding an object."""

    obj: JsonObject
    unknown_fields: list[str]
    """Paths of fields that the schema does not describe. Empty unless the caller requests these paths."""
    validated: bool = False
    """True if decoding has already validated all values against the schema."""


class ObjectCodec(ABC):
    """Decodes, defaults and encodes the objects of one resource at one version."""

    @property
    @abstractmethod
    def model(self) -> TypeModel:
        """The field types that server-side apply works with."""

    @property
    def steps_per_value(self) -> int:
        """The number of steps that decoding and validation may need for one value. Large numbers move the work to a
        thread.
        """
        return 1

    @cached_property
    def small_bytes(self) -> int:
        """The size up to which a body is handled on the event loop, whatever it contains."""
        return min(1024, 20_000 // max(self.steps_per_value, 1))

    def check_default_size(self, data: bytes, obj: JsonObject) -> None:
        """Raise UnknownReasonError if defaults would make an object, whose JSON is `data`, too large to be stored."""
        return

    @property
    def merge_strategy(self) -> MergeStrategy:
        """The strategy by which strategic merge patches merge objects. Only built-in resources accept such patches."""
        raise NotImplementedError

    @abstractmethod
    def decode(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        """Coerce, prune and default the object of a request. Raise BadRequestError if it cannot be decoded."""

    def default(self, obj: JsonObject) -> Decoded:
        """Set the defaults of an object that server-side apply or a mutating webhook has produced.

        If the result is `validated`, pruning would change nothing either.
        """
        return self.decode(obj, report_unknown=False)

    def normalize(self, obj: JsonObject) -> None:
        """Prune and default, in place, a valid object that apply, scale or a mutating webhook has produced."""
        return

    def ordered(self, obj: JsonObject) -> JsonObject:
        """Return the object with its keys in the order in which kube-apiserver writes them."""
        return obj

    def check_kind(self, kind: str, api_version: str) -> None:
        """Raise DecodeError if the kind or apiVersion of a request body is not registered in the type's scheme."""
        return

    def own_decoder_paths(self, value: JsonObject) -> list[str]:
        """Return the paths of fields whose type has its own decoder. Such a decoder accepts duplicate keys."""
        return []

    def conversion_error(self, value: JsonObject) -> str:
        """Return the reason why Go's unstructured converter rejects the value, or "" if the converter accepts it."""
        return ""

    def decode_converted(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        """Decode an object that kube-apiserver converts from unstructured content, without decoding text."""
        return self.decode(value, report_unknown=report_unknown)

    def to_message(self, obj: JsonObject) -> bytes:
        """Encode an object as a protobuf message without envelope."""
        raise NotImplementedError

    def from_message(self, data: bytes) -> JsonObject:
        """Decode a protobuf message without envelope. Raise ProtobufError if it is malformed."""
        raise NotImplementedError


class Validation(NamedTuple):
    """The result of validating an object."""

    errors: list[FieldError]
    ratcheted: Sequence[str] = ()
    """Warnings about broken CEL rules that are tolerated because the update does not touch their fields."""


class Strategy(ABC):
    """Prepares and validates the objects of one resource at one version. A strategy holds no data of requests."""

    unconditional_update = False
    """True if an update may omit the resourceVersion."""
    appends_suffix = True
    """True if the name of an object with generateName ends with a random suffix."""
    grants = False
    """True if objects grant permissions. The RBAC escalation check requires that the writer holds these permissions."""
    max_objects = 200_000
    """The number of JSON objects that the body of a write may contain."""
    expensive = False
    """True if objects of a few kilobytes may take long to validate. `is_expensive` tells which of them may."""
    reads_params = False
    """True if objects refer to params. The writer must have permission to read the params."""
    creates_on_update = False
    """True if a PUT creates an object that does not exist."""
    returns_deleted_object = False
    """True if the response to a delete is the removed object instead of a Status."""
    default_propagation_policy: PropagationPolicy | None = "Background"
    """The propagation policy of a delete request without a policy. If None, deletes ignore propagation policies."""
    error_group: str | None = None
    """The group of the kind in errors about invalid objects, or None for the group of the resource."""
    deletes_gracefully = False
    """True if `grace_period` returns a number of seconds, so that another program removes a deleted object."""
    default_policy_warning = ""
    """The warning for a delete request without a propagation policy."""

    def is_expensive(self, data: bytes) -> bool:
        """True if the object with this JSON may take long to validate. Called only if `expensive` is true."""
        return True

    @property
    def evaluates_rules(self) -> bool:
        """True if validation evaluates CEL rules, which can take long for small objects."""
        return False

    @abstractmethod
    def prepare_create(self, obj: JsonObject) -> None:
        """Reset, in place, the fields that a create cannot set."""

    @abstractmethod
    def validate_create(
        self, obj: JsonObject, *, values_validated: bool = False, check: InterruptCheck | None = None
    ) -> Validation:
        """Validate a new object. `values_validated` is true if decoding has already validated the object's values.

        The evaluation of CEL rules calls `check`, which may raise EvaluationInterruptedError.
        """

    @abstractmethod
    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        """Reset, in place, the fields that an update cannot set."""

    @abstractmethod
    def validate_update(
        self,
        new: JsonObject,
        old: JsonObject,
        *,
        values_validated: bool = False,
        check: InterruptCheck | None = None,
    ) -> Validation:
        """Validate an updated object. The parameters are those of `validate_create`."""

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Return `new` with only the changes that clients may make through the status endpoint."""
        raise NotImplementedError

    def validate_status(self, new: JsonObject, old: JsonObject, *, check: InterruptCheck | None = None) -> Validation:
        raise NotImplementedError

    def prepare_subresource(self, subresource: str, new: JsonObject, old: JsonObject) -> JsonObject:
        """Return `new` with only the changes that clients may make through `subresource`. Not called for scale."""
        if subresource == "status":
            return self.prepare_status(new, old)
        raise NotImplementedError(subresource)

    def validate_subresource(
        self, subresource: str, new: JsonObject, old: JsonObject, *, check: InterruptCheck | None = None
    ) -> Validation:
        """Validate an update through `subresource`. Not called for scale."""
        if subresource == "status":
            return self.validate_status(new, old, check=check)
        raise NotImplementedError(subresource)

    def complete_bookmark(self, obj: JsonObject) -> None:
        """Set, in place, the fields that kube-apiserver sets in the otherwise empty object of a bookmark."""
        return

    def grace_period(self, obj: JsonObject, requested: int | None) -> int | None:
        """Return the seconds that a deleted object stays until its node removes it, or None to remove it at once."""
        return None

    def canonicalize(self, obj: JsonObject) -> None:
        """Change a validated object, in place, to the form in which it is stored."""
        return

    restores_unwritable = False
    """True if a conversion may lose details. Then `restore_unwritable` runs before an update is stored."""

    def restore_unwritable(self, new: JsonObject, old: JsonObject, subresource: str) -> JsonObject:
        """Return `new` with the fields of `old` that the endpoint cannot write. Both are at the storage version."""
        raise NotImplementedError

    def for_admission(self, obj: JsonObject) -> JsonObject:
        """Return the representation of an object that mutating webhooks and policies receive before validation."""
        return obj

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        """Return the warnings that a successful create (`old` is None) or update sends to the client."""
        return []

    def subresource_warnings(self, subresource: str, new: JsonObject, old: JsonObject) -> list[str]:
        """Return the warnings that a successful update through a subresource sends to the client."""
        return self.warnings(new, old)
