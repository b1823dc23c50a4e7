"""A resource that is served (Kind), and how it is served at one of its versions (Version)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any

from polykind import errors
from polykind.apply.tracking import MAIN_RESET, STATUS_RESET, Reset
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ResourceCache
from polykind.codec import json_codec, negotiation, partial_metadata
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.singleflight import Singleflight
from polykind.selectors import field_selectors

if TYPE_CHECKING:
    from polykind.apply.typemodel import TypeModel
    from polykind.cache.watch import WatchChannel
    from polykind.codec.table import TableFormat
    from polykind.metrics.metrics import RequestSeries
    from polykind.metrics.usage import VersionUsage

_TURN = 0.01
"""How many seconds of work are done before others get their turn."""
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


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
    ) -> None:
        self.cache = cache
        self.group = group
        self.plural = plural
        self.singular = singular
        self.kind = kind
        self.list_kind = list_kind
        self.namespaced = namespaced
        self.versions: dict[str, ServedVersion] = {}
        self.storage = ""
        """The version that objects are written at."""
        self.creatable = True
        """False while the definition is being deleted."""
        self.since = 0
        """No watch begins before this revision: the resource was not served then as it is now."""
        self.immortal: frozenset[str] = frozenset()
        """Names that may not be deleted."""
        self.channels: dict[Hashable, WatchChannel] = {}
        self.qualified = errors.qualified_resource(plural, group)

    def key(self, namespace: str, name: str) -> str:
        """The key below the cache's prefix."""
        return f"{namespace}/{name}" if self.namespaced else name

    @cached_property
    def models(self) -> Mapping[str, TypeModel]:
        """The types of each version, by apiVersion: a manager may own fields at one that is not served any more."""
        return {v.api_version: v.model for v in self._declared}

    status_reset = STATUS_RESET
    """The fields that a write of the status cannot set."""

    @cached_property
    def status_resets(self) -> Reset:
        """By apiVersion, the fields that a write of the status cannot set."""
        return {v.api_version: self.status_reset for v in self.versions.values()}

    @cached_property
    def replicas_paths(self) -> Mapping[str, str | None]:
        """By apiVersion, where each version has its replicas; None: it has no scale."""
        return {v.api_version: v.scale["specReplicasPath"] if v.scale else None for v in self._declared}

    @property
    def _declared(self) -> Iterable[ServedVersion]:
        """The versions, served or not."""
        return self.versions.values()

    def reset(self, version: ServedVersion, subresource: str) -> Reset:
        """By apiVersion, the fields that a write through an endpoint cannot set, and so cannot own."""
        if subresource == "status":
            return self.status_resets
        return {version.api_version: MAIN_RESET} if version.has_status and not subresource else {}

    def end_watches(self) -> None:
        for channel in list(self.channels.values()):
            channel.end()

    def not_found(self, name: str) -> errors.NotFoundError:
        return errors.NotFoundError(self.plural, self.group, name)

    marks_deletion = True
    """Whether the beginning of a deletion counts as a new generation, with a grace period of none."""
    minds_policy = True
    """Whether the beginning of a deletion already minds what is to become of dependents."""
    unorphaned = "Background"
    """The policy that is meant where a deletion begins with nothing but the wish for no orphans."""
    deletes_many = True
    """Whether a collection may be deleted."""
    created_by_update = False
    """Whether an update of what is not there creates it."""
    returns_deleted = False
    """Whether the reply to a delete is the object even when it is gone."""

    def prepare_delete(self, obj: JsonObject) -> bool:
        """Change an object for its graceful deletion; True if it stays until someone finishes it."""
        return False

    def storage_version(self) -> ServedVersion:
        """The version to work with when nobody asks for one: that of the store, if it is served."""
        return self.versions.get(self.storage) or next(iter(self.versions.values()))

    def lingers(self, obj: JsonObject) -> bool:
        """Whether something but finalizers keeps an object that is being deleted."""
        return False


class ServedVersion(ABC):
    """A resource at one version: what its payloads mean, what they must obey, and how stored objects are shown."""

    patch_types: tuple[str, ...] = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    has_status = False
    scale: JsonObject | None = None
    deprecation = ""
    model: TypeModel
    table: TableFormat
    media: tuple[str, ...] = negotiation.CUSTOM_MEDIA
    """What objects may be read and written in."""
    selectable: tuple[str, ...] = ()
    """JSON paths, with the leading dot, that field selectors may name."""
    has_finalize = False
    """Whether finalizers of the spec have an endpoint of their own."""
    unconditional = False
    """Whether an update may come without a resourceVersion."""

    def __init__(self, kind: Resource, version: str) -> None:
        self.resource = kind
        self.cache = kind.cache
        self.version = version
        self.api_version = f"{kind.group}/{version}" if kind.group else version
        self.schema_generation = self.cache.schema_generation
        """The state of the definition that this was made of."""
        self.series: dict[Hashable, RequestSeries] = {}
        """Where requests are counted; kept here because they are looked up at each."""
        self.uses: VersionUsage | None = None
        """Who asks for it, once somebody has, if it is one that may go."""
        self._flights = Singleflight(self._convert)

    grants = False
    """Whether objects give rights, which only those who have them may give."""
    reads_params = False
    """Whether objects have others read, which only those may want who may read them."""
    typed = False
    """Whether bodies are decoded into a type, so that they need not say what they are of."""
    object_type = partial_metadata.CUSTOM_OBJECT
    list_type = partial_metadata.CUSTOM_LIST
    """How refusals name the types of an object and of a list."""

    def has(self, subresource: str) -> bool:
        """Whether it has a subresource that is written to; "" stands for the object itself, which it always has."""
        if subresource == "scale":
            return self.scale is not None
        return self.has_status if subresource == "status" else True

    def check_kind(self, kind: str, api_version: str) -> None:
        """Refuse a body of a kind that is not known at all."""
        return

    def method_not_allowed(self, verb: str) -> errors.APIError:
        return errors.MethodNotAllowedError(self.resource.plural, self.resource.group, verb)

    def unsupported_patch(self) -> errors.APIError | None:
        """What a patch of another type is answered with, if not with the list of those that are taken."""
        return None

    def refuse_field(self, label: str) -> str:
        """How a field selector on an unknown field is refused."""
        return field_selectors.unsupported_field(label)

    async def after_write(self, name: str, dry_run: bool) -> None:
        """What must be settled before a write is answered."""
        return

    async def at_version(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """An object of this version at another apiVersion; None where there is no such version.

        Raises APIError where that is no reason to go on without it.
        """
        return None

    async def equivalent(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """An object of this resource, of whichever version, as others are told of it at another apiVersion."""
        return await self.at_version(obj, api_version)

    def told(self, obj: JsonObject) -> JsonObject:
        """An object that is yet to be judged, as others are told of it."""
        return obj

    # ------------------------------------------------------------------ what payloads mean and must obey

    def ordered(self, obj: JsonObject) -> JsonObject:
        """An object that was read, its keys as the reference writes them."""
        return obj

    def sealed(self, value: JsonObject) -> list[str]:
        """The paths in a request's object that have readers of their own, which do not mind repeated keys."""
        return []

    def misfit(self, value: JsonObject) -> str:
        """Why no object can be made of what a strategic merge patch has made; nothing if that cannot be told."""
        return ""

    @abstractmethod
    def decode(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        """A request's object, coerced, pruned and defaulted; and the paths of what was unknown, if asked for."""

    def default(self, merged: JsonObject) -> JsonObject:
        """What an apply has merged: it is complete but for defaults."""
        return self.decode(merged, False)[0]

    def settle(self, obj: JsonObject) -> None:
        """Make what was made here, by an apply or a scale, fit for the store, in place, once it has been judged."""
        return

    @abstractmethod
    def prepare_create(self, obj: JsonObject) -> None: ...

    @abstractmethod
    def validate_create(self, obj: JsonObject) -> list[FieldError]: ...

    @abstractmethod
    def prepare_update(self, new: JsonObject, old: JsonObject) -> None: ...

    @abstractmethod
    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]: ...

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Put back what the endpoint of the status cannot change; only where `has_status` says that there is one."""
        raise NotImplementedError

    def validate_status(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        raise NotImplementedError

    def prepare_finalize(self, new: JsonObject, old: JsonObject) -> None:
        """Put back what the endpoint of finalizers cannot change; only where `has_finalize` says that there is one."""
        raise NotImplementedError

    def validate_finalize(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        raise NotImplementedError

    def pardoned(self) -> list[str]:
        """Which broken rules the last judgement let pass as unchanged: told even if it refused the object."""
        return []

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return []

    # ------------------------------------------------------------------ storing

    @abstractmethod
    async def to_storage(self, obj: JsonObject) -> JsonObject:
        """The object at the storage version, ready to be encoded."""

    whole = False
    """Whether nothing with a fraction is added to objects on their way to the store."""

    def clean(self) -> bool:
        """Whether what to_storage returned needs nothing done to it when it is read at the storage version."""
        return False

    # ------------------------------------------------------------------ showing

    @abstractmethod
    def show(self, entry: CachedObject) -> Representation | None:
        """Make the form of an entry if that takes no waiting."""

    async def convert_many(self, entries: Sequence[CachedObject]) -> list[Representation]:
        """Make the forms of entries that `show` could not make."""
        raise NotImplementedError

    keep = True
    """Whether forms that took a conversion are kept."""
    unavailable: Callable[[], errors.APIError] | None = None
    """What everything at this version is answered with; None if it can be served."""
    converts = False
    """Whether reading or writing at this version may take a call to a converter."""
    hits = misses = 0
    """Forms had from what was kept, and those that took a conversion, since they were last counted."""

    def ready(self, entry: CachedObject) -> Representation | None:
        if entry.schema_generation != self.cache.schema_generation:
            entry.invalidate(self.cache.schema_generation)
        if entry.normalized and entry.version == self.version:
            return entry
        form = entry.representation(self.version)
        if form is not None:
            self.hits += 1
            return form
        form = self.show(entry)
        if form is entry:
            entry.normalized = True
        elif form is not None:
            entry.add_representation(self.version, form)
        return form

    async def view(self, entry: CachedObject) -> Representation:
        form = self.ready(entry)
        return form if form is not None else (await self.view_many([entry]))[0]

    async def view_many(self, entries: Sequence[CachedObject]) -> list[Representation]:
        """The forms of many entries; what must be converted goes in batches, shared with whoever asks meanwhile."""
        forms: list[Representation | None] = []
        turn = monotonic()
        for index, entry in enumerate(entries):
            forms.append(self.ready(entry))
            # A form that is at hand takes no time, one that must be made may take half a millisecond.
            if index % 16 == 15 and monotonic() - turn > _TURN:
                await asyncio.sleep(0)
                turn = monotonic()
        missing = [entry for entry, form in zip(entries, forms, strict=True) if form is None]
        made = iter(await self._flights.forms(missing)) if missing else iter(())
        return [form or next(made) for form in forms]

    async def _convert(self, entries: Sequence[CachedObject]) -> list[Representation]:
        """Convert a batch, and keep the results with their entries."""
        epoch = self.cache.schema_generation
        self.misses += len(entries)
        forms = await self.convert_many(entries)
        for entry, form in zip(entries, forms, strict=True):
            if self.keep and epoch == self.cache.schema_generation == entry.schema_generation:
                entry.add_representation(self.version, form)
        return forms

    def restamp(self, form: Representation, revision: int) -> bytes:
        """The form's bytes with another resourceVersion: what a DELETED event shows."""
        obj: Any = json_codec.decode(form.data)
        obj["metadata"]["resourceVersion"] = str(revision)
        return json_codec.encode(obj)

    # ------------------------------------------------------------------ shapes

    def message(self, obj: JsonObject) -> bytes:
        """An object as protobuf, without an envelope; only where `media` says that there are messages."""
        raise NotImplementedError

    def from_message(self, data: bytes) -> JsonObject:
        """The fields of such a message. Raises ProtobufError."""
        raise NotImplementedError

    def list_metadata(self, revision: int, continuation: str, remaining: int) -> JsonObject:
        metadata: JsonObject = {"continue": continuation, "resourceVersion": str(revision)}
        if remaining:
            metadata["remainingItemCount"] = remaining
        return metadata

    def as_item(self, obj: JsonObject) -> JsonObject:
        """An object as a list shows it."""
        return obj

    def list_parts(self, items: list[bytes], metadata: JsonObject) -> list[bytes]:
        """A list's JSON in parts: joined they are the whole document."""
        head = b'{"apiVersion":"%b","items":[' % self.api_version.encode()
        tail = b'],"kind":"%b","metadata":%b}\n' % (self.resource.list_kind.encode(), json_codec.encode(metadata))
        parts = [head]
        for start in range(0, len(items), 64):
            chunk = b",".join(items[start : start + 64])
            parts.append(b"," + chunk if start else chunk)
        parts.append(tail)
        return parts
