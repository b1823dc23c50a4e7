"""Custom resources: a Kind made of a CustomResourceDefinition, a Version for each version it serves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from polykind import errors, schema
from polykind.apply.tracking import Reset
from polykind.apply.typemodel import TypeModel
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.cache.resource_cache import ResourceCache
from polykind.codec import json_codec
from polykind.codec.table import TableFormat
from polykind.contract import Converter, JsonObject
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.crd import versions as crd_versions
from polykind.crd.ca_bundle import has_invalid_ca_bundle
from polykind.crd.conditions import ESTABLISHED, is_true
from polykind.crd.structural import is_structural
from polykind.crd.summary import load_full
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.resources.cel_loader import rules_of
from polykind.resources.resource import Resource, ServedVersion
from polykind.resources.singleflight import Singleflight
from polykind.schema import CompiledSchema, metadata_validation, object_meta
from polykind.schema.equality import deep_equal
from polykind.schema.scale_validation import validate_scale
from polykind.taskless import in_task

if TYPE_CHECKING:
    from polykind.cel import Rules

_BLOCKING = frozenset(
    ("FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid", "FieldValueNotSupported")
)
_NOT_CHECKED = errors.invalid(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


class CustomResource(Resource):
    """A custom resource as its definition stands now. A change of the definition makes a new one."""

    def __init__(self, crd: JsonObject, cache: ResourceCache, converter: Converter | None, keep: bool) -> None:
        spec, names = crd["spec"], crd["status"]["acceptedNames"]
        super().__init__(
            cache,
            group=spec["group"],
            plural=spec["names"]["plural"],
            singular=names.get("singular") or spec["names"]["singular"],
            kind=spec["names"]["kind"],
            list_kind=names.get("listKind") or spec["names"]["listKind"],
            namespaced=spec["scope"] == "Namespaced",
        )
        self.crd = crd
        """The definition, or the outline of it."""
        self.converter = converter
        """None: changing the apiVersion is all there is to it."""
        self.keep = keep
        self.storage = crd_versions.storage_version(crd)
        self.declared = {v["name"] for v in spec["versions"]}
        self._schemas: dict[str, CompiledSchema] = {}
        self._rules: dict[str, Rules | None] = {}
        for stanza in spec["versions"]:
            if stanza.get("served"):
                self.versions[stanza["name"]] = CustomVersion(self, stanza)

    def storage_version(self) -> ServedVersion:
        """The storage version, served or not: what is stored at it needs no conversion."""
        served = self.versions.get(self.storage)
        return served or CustomVersion(self, next(v for v in self.crd["spec"]["versions"] if v["name"] == self.storage))

    @cached_property
    def _declared(self) -> Iterable[ServedVersion]:
        stanzas = self.crd["spec"]["versions"]
        return [self.versions.get(stanza["name"]) or CustomVersion(self, stanza) for stanza in stanzas]

    @cached_property
    def status_resets(self) -> Reset:
        """A version that has no status, or is neither served nor stored, has nothing reset."""
        live = (v for v in self._declared if v.version in self.versions or v.version == self.storage)
        return {version.api_version: self.status_reset for version in live if version.has_status}

    @cached_property
    def unreachable(self) -> bool:
        """Whether nobody can be asked to convert: the certificates to trust cannot be read. No such is established."""
        return not is_true(self.crd, ESTABLISHED) and has_invalid_ca_bundle(self.crd["spec"])

    def openapi(self, version: str) -> JsonObject | None:
        """The schema of a version as it was declared."""
        return crd_versions.version_schema(self._whole, version)

    @cached_property
    def _whole(self) -> JsonObject:
        return load_full(self.crd)

    def schema(self, version: str) -> CompiledSchema:
        """The machine of a version's schema, compiled when first needed; versions with equal schemas share one."""
        machine = self._schemas.get(version)
        if machine is None:
            preserve = bool(self.crd["spec"].get("preserveUnknownFields"))
            openapi = self.openapi(version)
            for other, known in self._schemas.items():
                if self.openapi(other) == openapi:
                    machine = known
                    break
            else:
                machine = schema.CompiledSchema(openapi, preserve_unknown=preserve)
            self._schemas[version] = machine
        return machine

    def rules(self, version: str) -> Rules | None:
        """The CEL rules of a version's schema, None if it has none."""
        if version not in self._rules:
            self._rules[version] = rules_of(self.openapi(version))
        return self._rules[version]


def _no_version(obj: JsonObject, api_version: str, group: str) -> str:
    """Why an object cannot be had at what is no version of it."""
    wanted, _, version = api_version.rpartition("/")
    if "/" in wanted:
        return f"unexpected GroupVersion string: {api_version}"
    shown = api_version if wanted else version
    if wanted != group:
        what = f"{obj.get('apiVersion')}, Kind={obj.get('kind')}"
        return f"{what} is unstructured and is not suitable for converting to {go_quote(shown)}"
    return f"request to convert CR to an invalid group/version: {shown}"


def _blocked(found: list[FieldError]) -> bool:
    """Whether rules cannot run on what has such faults."""
    return any(error.reason in _BLOCKING for error in found)


def _pruned_whole(value: JsonObject) -> list[str]:
    """Take all that no schema is needed for out of an object; what that was."""
    unknown = sorted(value.keys() - {"apiVersion", "kind", "metadata"})
    for key in unknown:
        del value[key]
    return unknown


class CustomVersion(ServedVersion):
    """A custom resource at one served version."""

    resource: CustomResource

    def __init__(self, kind: CustomResource, stanza: JsonObject) -> None:
        super().__init__(kind, stanza["name"])
        self.version_entry = stanza
        self.keep = kind.keep
        self.converts = kind.converter is not None
        if isinstance(kind.converter, MonitoredConverter):
            self._flights = Singleflight(self._convert, kind.converter.shared)
            if self.version != kind.storage and kind.converter.off:
                self.unavailable = partial(errors.UnknownReasonError, kind.converter.off)
            if kind.unreachable:
                self.unavailable = partial(errors.InternalError, "error resolving resource")
        subresources = stanza.get("subresources") or {}
        self.has_status = "status" in subresources
        self.scale = subresources.get("scale")
        self.deprecation = crd_versions.deprecation_warning(kind.crd, self.version) or ""
        self.selectable = tuple(f["jsonPath"] for f in stanza.get("selectableFields") or ())
        self._sound: JsonObject | None = None
        """The object that was last decoded, if its values were found valid on the way: a create need not look again."""
        self._rule_warnings: list[str] = []
        """What the last validation warned of, until it is asked for."""
        self._table: TableFormat | None = None
        self._model: TypeModel | None = None

    @property
    def table(self) -> TableFormat:  # type: ignore[override]
        if self._table is None:
            self._table = TableFormat(self.version_entry.get("additionalPrinterColumns"))
        return self._table

    @property
    def model(self) -> TypeModel:  # type: ignore[override]
        if self._model is None:
            openapi = self.resource.openapi(self.version)
            preserve = bool(self.resource.crd["spec"].get("preserveUnknownFields"))
            if preserve and openapi is not None and not is_structural(openapi):
                openapi = None
            self._model = TypeModel(openapi, preserve)
        return self._model

    @property
    def schema(self) -> CompiledSchema:
        return self.resource.schema(self.version)

    # ------------------------------------------------------------------ payloads

    def decode(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        kind, api_version = value.get("kind", ""), value.get("apiVersion", "")
        if api_version is None:
            raise errors.BadRequestError(".apiVersion accessor error: <nil> is of the type <nil>, expected string")
        group, _, version = api_version.rpartition("/") if isinstance(api_version, str) else ("", "", "")
        meta, unknown = object_meta.coerce(
            value.get("metadata"), strict=True, kind=kind, version=version, served=self.resource.kind
        )
        value["metadata"] = meta
        # Of another kind there is no schema: such an object is taken as it is, to be refused for its kind.
        if kind == self.resource.kind and group == self.resource.group:
            if version in self.resource.declared:
                pruned, sound = self.resource.schema(version).prune_default_and_validate(value, report=report)
                unknown = unknown + pruned
                self._sound = value if sound and version == self.version else None
            elif not self.resource.crd["spec"].get("preserveUnknownFields"):
                unknown = unknown + _pruned_whole(value)
        return value, unknown if report else []

    def default(self, merged: JsonObject) -> JsonObject:
        # What is applied is not read as metadata: a time that is none is as good as absent.
        merged["metadata"], _ = object_meta.coerce(merged.get("metadata"), strict=False)
        self.schema.apply_defaults(merged)
        return merged

    def settle(self, obj: JsonObject) -> None:
        # Apply knows no pruning: objects without properties take anything, and nulls are judged before they go.
        self.schema.prune(obj)
        if self.version != self.resource.storage:
            # The storage version gives its own defaults, when the object is read.
            return
        had_status = "status" in obj
        self.schema.apply_defaults(obj)
        if self.has_status and not had_status:
            obj.pop("status", None)

    def prepare_create(self, obj: JsonObject) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def validate_create(self, obj: JsonObject) -> list[FieldError]:
        if found := self._type_errors(obj):
            return self._mistaken(found, obj, None)
        found = metadata_validation.validate_object_meta(obj["metadata"], namespaced=self.resource.namespaced)
        sound, self._sound = obj is self._sound, None
        if not sound:
            found += self.schema.validate(obj, None, scale=self.scale)
        elif self.scale is not None:
            found += validate_scale(obj, self.scale)
        return self._ruled(found, obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        if self.has_status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        meta = new["metadata"]
        judged = [k for k in new if k != "metadata" and not (k == "status" and self.has_status)]
        changed = any(k not in new for k in old if k != "status" or not self.has_status)
        changed = changed or any(k not in old or new[k] != old[k] for k in judged)
        # What is equal to Python may not be to Go: true and 1.
        changed = changed or not all(deep_equal(new[k], old[k]) for k in judged)
        generation = old["metadata"].get("generation", 1) + (1 if changed else 0)
        meta["generation"] = generation

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        if found := self._type_errors(new):
            return self._mistaken(found, new, old)
        found = metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        return self._ruled(found + self.schema.validate(new, old, scale=self.scale), new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Only status and managedFields come from the request."""
        merged = {k: v for k, v in old.items() if k != "status"}
        merged["metadata"] = dict(old["metadata"])
        if "managedFields" in new["metadata"]:
            merged["metadata"]["managedFields"] = new["metadata"]["managedFields"]
        else:
            merged["metadata"].pop("managedFields", None)
        merged["metadata"]["resourceVersion"] = new["metadata"].get("resourceVersion", "")
        if "status" in new:
            merged["status"] = new["status"]
        return merged

    def validate_status(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self._type_errors(new)
        if found:
            return found
        found = metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        return self._ruled(found + self.schema.validate_status(new, old, scale=self.scale), new, old)

    def _type_errors(self, obj: JsonObject) -> list[FieldError]:
        found = []
        if obj.get("kind") != self.resource.kind:
            found.append(errors.invalid("kind", obj.get("kind"), f"must be {self.resource.kind}"))
        if obj.get("apiVersion") != self.api_version:
            found.append(errors.invalid("apiVersion", obj.get("apiVersion"), f"must be {self.api_version}"))
        return found

    def _mistaken(self, found: list[FieldError], new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What is said of an object that is not of this type: nothing of its values, but the rest all the same."""
        found = found + self.schema.validate_beyond_values(new, old)
        # The reference has its rules fail on what is of no type they know; ours are never shown such.
        unfit = not _blocked(found) and _blocked(self.schema.validate(new, old))
        return found if unfit else self._ruled(found, new, old)

    def _ruled(self, found: list[FieldError], new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What was found with what the rules add; they run only on what is sound enough for them."""
        self._rule_warnings = []
        rules = self.resource.rules(self.version)
        if rules is None:
            return found
        if _blocked(found):
            return [*found, _NOT_CHECKED]
        broken, self._rule_warnings = rules.validate(new, old)
        return found + broken

    def pardoned(self) -> list[str]:
        warned, self._rule_warnings = self._rule_warnings, []
        return warned

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return metadata_validation.finalizer_warnings(new["metadata"], (old or {}).get("metadata"))

    # ------------------------------------------------------------------ storing

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        kind = self.resource
        if self.version == kind.storage:
            return obj
        target = f"{kind.group}/{kind.storage}"
        if kind.converter is None:
            stored = {**obj, "apiVersion": target}
        else:
            # A converter never sees a resourceVersion of what is on its way into or out of the store.
            meta = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
            stored = (await in_task(kind.converter.convert([{**obj, "metadata": meta}], target)))[0]
        kind.schema(kind.storage).prune(stored)
        return stored

    @cached_property
    def whole(self) -> bool:  # type: ignore[override]
        return self.version == self.resource.storage and not self.schema.has_floats

    def clean(self) -> bool:
        return self.version == self.resource.storage and not self._status_comes_back

    @cached_property
    def _status_comes_back(self) -> bool:
        """A create drops the status, but a read gives it its default."""
        root = self.resource.openapi(self.version) or {}
        status = (root.get("properties") or {}).get("status") or {}
        return self.has_status and status.get("default") is not None

    # ------------------------------------------------------------------ showing

    def show(self, entry: CachedObject) -> Representation | None:
        if entry.version == self.version:
            return self._form(entry, self._read(entry))
        if self.resource.converter is None:
            obj = self._read(entry)
            obj["apiVersion"] = self.api_version
            self.schema.prune(obj)
            return self._form(entry, obj)
        return None

    def _read(self, entry: CachedObject) -> JsonObject:
        """A stored object as its own version's schema wants it now."""
        if entry.version not in self.resource.declared:
            found = f"{self.resource.group}/{entry.version}"
            raise errors.UnknownReasonError(f"request to convert CR from an invalid group/version: {found}")
        obj = entry.decode()
        meta, _ = object_meta.coerce(obj.get("metadata"), strict=False, kind=self.resource.kind, version=entry.version)
        if not meta.get("generation"):
            meta["generation"] = 1
        obj["metadata"] = meta
        self.resource.schema(entry.version).prune_and_default_stored(obj)
        return obj

    def _form(self, entry: CachedObject, obj: JsonObject) -> Representation:
        data = json_codec.encode(obj)
        if data == entry.data and entry.version == self.version:
            return entry
        return Representation(data, labels_of(obj))

    async def convert_many(self, entries: Sequence[CachedObject]) -> list[Representation]:
        converter = self.resource.converter
        if converter is None:
            raise AssertionError("nothing to wait for")
        objects = [self._read(entry) for entry in entries]
        revisions = [obj["metadata"].pop("resourceVersion", None) for obj in objects]
        converted = await in_task(converter.convert(objects, self.api_version))
        forms = []
        for obj, revision in zip(converted, revisions, strict=True):
            self.schema.prune(obj)
            meta = obj["metadata"]
            if revision is not None:
                meta["resourceVersion"] = revision
            for field in ("labels", "annotations"):
                if meta.get(field) == {}:  # as a converter may leave them
                    del meta[field]
            forms.append(Representation(json_codec.encode(obj), labels_of(obj)))
        return forms

    async def at_version(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        kind = self.resource
        group, _, version = api_version.rpartition("/")
        if group != kind.group or version not in kind.declared:
            raise errors.UnknownReasonError(_no_version(obj, api_version, kind.group))
        if kind.converter is None or obj.keys() <= {"apiVersion", "kind"}:
            # There is nothing to convert in what a create begins with.
            return {**obj, "apiVersion": api_version}
        return (await in_task(kind.converter.convert([obj], api_version)))[0]
