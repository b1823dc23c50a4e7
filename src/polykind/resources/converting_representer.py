"""Representations of custom objects whose CRD has a converter: conversions with an age, and those of an outage."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from polykind import errors
from polykind.cache.cached_object import CachedObject, ConvertedRepresentation, Representation, labels_of
from polykind.codec import json_codec
from polykind.contract import Converter, JsonObject
from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.conversion.last_conversions import LastConversion
from polykind.loop_calls import on_loop
from polykind.resources.conversion_cache import ConversionCache
from polykind.resources.custom_representer import CustomRepresenter
from polykind.resources.renewal import Renewal

if TYPE_CHECKING:
    from polykind.resources.custom import CustomResource

_AT_ONCE = 1000
"""The number of objects that are looked up without a look at the time in between."""
_COMPARED = 100
"""The maximum number of objects that are converted again to find out whether the webhook has changed."""


class ConvertingRepresenter(CustomRepresenter):
    """Returns custom objects at one version, using the CRD's converter."""

    def __init__(
        self,
        resource: CustomResource,
        version_entry: JsonObject,
        converter: Converter,
        conversions: ConversionCache,
        *,
        has_status: bool,
    ) -> None:
        super().__init__(resource, version_entry, has_status=has_status)
        self._converter = converter
        self._conversions = conversions
        self._renewal = Renewal(self._renew, conversions)

    # ------------------------------------------------------------------ age

    def known(self, cached: CachedObject) -> Representation | None:
        if cached.schema_generation != self.cache.schema_generation:
            cached.invalidate(self.cache.schema_generation)
        if cached.version == self.version:
            return cached if cached.normalized else cached.representation(self.version)
        representation = cached.representation(self.version)
        if not isinstance(representation, ConvertedRepresentation):
            return None
        oldest = self._conversions.oldest_fresh()
        return representation if self._may_show(cached, representation, oldest) else None

    def known_many(self, objects: Sequence[CachedObject]) -> list[Representation | None]:
        oldest, generation, version = self._conversions.oldest_fresh(), self.cache.schema_generation, self.version
        known: list[Representation | None] = []
        for cached in objects:
            representations = cached.representations
            representation = representations.get(version) if representations is not None else None
            if cached.schema_generation != generation or cached.version == version:
                representation = self.known(cached)
            elif not (
                isinstance(representation, ConvertedRepresentation) and self._may_show(cached, representation, oldest)
            ):
                representation = None
            known.append(representation)
        return known

    def _may_show(self, cached: CachedObject, representation: ConvertedRepresentation, oldest_fresh: float) -> bool:
        """True if a conversion is not too old. If it will soon be, convert the object again in the background."""
        if representation.converted_at < oldest_fresh:
            conversions = self._conversions
            if conversions.is_uncertain() or representation.converted_at < conversions.oldest_shown():
                return False
            self._renewal.add(cached.key)
        self.hits += 1
        return True

    @property
    def value_period(self) -> Hashable:
        return self._conversions.period()

    async def view_many(self, objects: Sequence[CachedObject]) -> list[Representation]:
        if self._conversions.is_uncertain():
            compared = self._shown(objects)
            if compared:
                step = max(1, len(compared) // _COMPARED)
                await self._conversions.check(lambda: self._compare(compared[::step][:_COMPARED]))
        if len(objects) <= _AT_ONCE and None not in (known := self.known_many(objects)):
            return [representation for representation in known if representation is not None]
        return await super().view_many(objects)

    def _shown(self, objects: Sequence[CachedObject]) -> list[tuple[CachedObject, ConvertedRepresentation]]:
        """Return the objects with a cached conversion that is not too old."""
        oldest, generation, found = self._conversions.oldest_shown(), self.cache.schema_generation, []
        for cached in objects:
            representation = cached.representation(self.version) if cached.schema_generation == generation else None
            if isinstance(representation, ConvertedRepresentation) and representation.converted_at >= oldest:
                found.append((cached, representation))
        return found

    async def _compare(self, shown: Sequence[tuple[CachedObject, ConvertedRepresentation]]) -> None:
        """Convert objects again. Drop all conversions if a result differs, because the webhook has changed."""
        before = self._conversions.period()
        try:
            converted = await self.convert_many([cached for cached, _ in shown])
        except errors.APIError as error:
            if isinstance(error, ConversionFailedError) and error.is_outage:
                return
            changed = True
        else:
            changed = any(new.data != old.data for new, (_, old) in zip(converted, shown, strict=True))
        if changed and self._conversions.period()[0] == before[0]:
            self._conversions.drop("changed")

    async def _renew(self, keys: Sequence[str]) -> None:
        """Convert objects again whose conversion is about to be too old, unless they have changed or were deleted."""
        current = [cached for key in keys if (cached := self.cache.get(key)) is not None]
        oldest = self._conversions.oldest_fresh()
        shown = [item for item in self._shown(current) if item[1].converted_at < oldest]
        if not shown:
            return
        try:
            converted = await self._singleflight.convert([cached for cached, _ in shown])
        except errors.APIError:
            self._conversions.renewed("failed", len(shown))
            return
        changed = sum(new.data != old.data for new, (_, old) in zip(converted, shown, strict=True))
        self._conversions.renewed("changed", changed)
        self._conversions.renewed("unchanged", len(shown) - changed)

    def _keep_converted(self, cached: CachedObject, representation: Representation) -> None:
        if not self._conversions.enabled:
            return
        before = cached.representation(self.version)
        if before is not None and before.data == representation.data:
            representation.data, representation.fields = before.data, before.fields
        elif before is not None and self.cache.indexes:
            self.cache.indexes.on_changed([cached.key])
        cached.add_representation(self.version, representation)

    # ------------------------------------------------------------------ converting

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        resource = self._resource
        if self.version == resource.storage:
            return obj
        # kube-apiserver removes the resourceVersion of an object before it calls a converter for a read or a write.
        meta = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
        target = resource.api_version(resource.storage)
        stored = (await on_loop(self._converter.convert([{**obj, "metadata": meta}], target)))[0]
        resource.schema(resource.storage).prune(stored)
        return stored

    def show(self, cached: CachedObject) -> Representation | None:
        return self._encode(cached, self._read(cached)) if cached.version == self.version else None

    async def convert_many(self, objects: Sequence[CachedObject]) -> list[Representation]:
        converted_at = self._conversions.stamp()
        read = [self._read(cached) for cached in objects]
        revisions = [obj["metadata"].pop("resourceVersion", None) for obj in read]
        try:
            converted = await on_loop(self._converter.convert(read, self.api_version))
        finally:
            self._conversions.note_replacement()
        schema, fallback = self._resource.schema(self.version), self._resource.fallback
        representations: list[Representation] = []
        for cached, obj, revision in zip(objects, converted, revisions, strict=True):
            schema.prune(obj)
            meta = obj["metadata"]
            if revision is not None:
                meta["resourceVersion"] = revision
            for field in ("labels", "annotations"):
                if meta.get(field) == {}:  # A converter may return empty maps.
                    del meta[field]
            data, labels = json_codec.encode(obj), labels_of(obj)
            representation = ConvertedRepresentation(data, labels, converted_at=converted_at)
            representations.append(representation)
            if fallback is not None:
                fallback.remember(self.version, cached, representation)
        return representations

    async def _convert_to(self, obj: JsonObject, api_version: str) -> JsonObject:
        return (await on_loop(self._converter.convert([obj], api_version)))[0]

    # ------------------------------------------------------------------ showing while the converter is down

    @property
    def has_fallback(self) -> bool:
        return self._resource.fallback is not None

    async def view_for_read(self, objects: Sequence[CachedObject], warn: Callable[[str], None]) -> list[Representation]:
        fallback = self._resource.fallback
        if fallback is None:
            return await self.view_many(objects)
        error = next((e for o in objects if (e := fallback.outage(self.version, o)) is not None), None)
        if error is None:
            try:
                return await self.view_many(objects)
            except ConversionFailedError as failure:
                if not failure.is_outage:
                    raise
                error = failure
        shown: list[tuple[CachedObject, LastConversion]] = []
        representations = []
        for cached in objects:
            representation = self.known(cached)
            if representation is None and cached.version == self.version:
                representation = (await self.view_many([cached]))[0]
            if representation is None:
                last = fallback.find(self.version, cached)
                obj = self._last_shown(cached, last) if last is not None else None
                if last is None or obj is None:
                    raise ConversionFailedError(error.failure, cached.decode(), self.api_version, error.address)
                shown.append((cached, last))
                representation = Representation(json_codec.encode(obj), labels_of(obj))
            representations.append(representation)
        if shown:
            warn(fallback.shown(self.version, shown, error, self.cache.get, self.view_many))
        return representations

    def _last_shown(self, cached: CachedObject, last: LastConversion) -> JsonObject | None:
        """Return the object as last converted, pruned with the current schema. Return None if it was another object of
        the same name.
        """
        obj: JsonObject = json_codec.decode(last.data)
        stored = cached.decode().get("metadata")
        if not isinstance(stored, dict) or stored.get("uid") != obj["metadata"].get("uid"):
            return None
        self._resource.schema(self.version).prune(obj)
        return obj
