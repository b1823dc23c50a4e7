"""CustomResourceDefinitions as a resource: v1, and v1beta1 beside it, over the same objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Literal

import msgspec

from polykind import crd as rules
from polykind import errors
from polykind.apis.apiextensions.types import (
    CUSTOM_RESOURCE_DEFINITION_V1,
    CUSTOM_RESOURCE_DEFINITION_V1BETA1,
    GROUP,
)
from polykind.apis.machinery.kinds import Kind
from polykind.apply.ownership import SPEC_RESET
from polykind.cache.cached_object import CachedObject, Encoded, Representation, labels_of
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.crd import api_conversion, conditions
from polykind.crd.empty_values import drop_empty_from_spec, drop_empty_values
from polykind.crd.status import terminating_condition
from polykind.crd.summary import CRDSummary, decode_without_schemas, spec_digest, split_crd, summarize
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinCodec, BuiltinRepresenter, BuiltinResource, BuiltinStrategy
from polykind.resources.cel_loader import Compiler

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

ReconcileCRD = Callable[[str], Awaitable[None]]
"""Updates the status of the named CRD."""
ReportBlocked = Callable[[JsonObject, list[str]], None]
"""Reports the versions that cannot be removed from a CRD because objects may be stored at them."""

_RULES = Compiler()

_REMEMBERED: Final = 256


class CRDResource(BuiltinResource):
    """The resource `customresourcedefinitions`."""

    status_reset = SPEC_RESET

    def __init__(
        self,
        cache: WatchCache,
        now: Callable[[], str],
        v1beta1: bool,
        *,
        reconcile: ReconcileCRD,
        report_blocked: ReportBlocked,
        webhooks: bool = True,
        defaulting: bool = True,
    ) -> None:
        super().__init__(cache, CUSTOM_RESOURCE_DEFINITION_V1, storage_group=GROUP)
        self.webhooks = webhooks
        """Whether definitions may begin to convert by webhooks and to differ from version to version."""
        self.defaulting = defaulting
        """Whether definitions may begin to have defaults."""
        self._now = now
        self._reconcile = reconcile
        self.report_blocked = report_blocked
        self._structural: dict[str, None] = {}
        self._serve_version("v1", CUSTOM_RESOURCE_DEFINITION_V1)
        if v1beta1:
            self._serve_version("v1beta1", CUSTOM_RESOURCE_DEFINITION_V1BETA1)

    def _serve_version(self, api: Api, kind: Kind) -> None:
        self.serve(
            kind,
            CRDStrategy(self, api),
            codec=CRDCodec(self, kind, api),
            representer=CRDRepresenter(self, kind, api),
        )

    async def after_write(self, name: str) -> None:
        """Bring the CRD's status up to date before the server responds, as kube-apiserver's clients expect."""
        await self._reconcile(name)

    deletion_bumps_generation = False
    deletion_applies_policy = False

    def found_structural(self, uid: str) -> None:
        """Remember that a definition on its way into the store has been found to have structural schemas only."""
        self._structural[uid] = None
        if len(self._structural) > _REMEMBERED:
            del self._structural[next(iter(self._structural))]

    def was_structural(self, uid: str) -> bool:
        """Whether a definition was found so when it was created; asked once."""
        return self._structural.pop(uid, False) is None

    def prepare_delete(self, obj: JsonObject) -> bool:
        """A definition stays until its instances are gone."""
        meta = obj["metadata"]
        if not meta.get("deletionTimestamp"):
            pending = terminating_condition("InstanceDeletionPending")
            obj["status"] = conditions.set_condition(obj["status"], pending, self._now())
            if FINALIZER not in (meta.get("finalizers") or []):
                meta["finalizers"] = [*(meta.get("finalizers") or []), FINALIZER]
        return True


Api = Literal["v1", "v1beta1"]


def _from_v1(crd: JsonObject, api: Api) -> JsonObject:
    return rules.encode(crd, api) if api != "v1" else crd


def _to_v1(crd: JsonObject, api: Api) -> JsonObject:
    return rules.decode(crd, api, False)[0] if api != "v1" else crd


class CRDCodec(BuiltinCodec):
    """Decodes CustomResourceDefinitions at v1 or v1beta1."""

    def __init__(self, resource: CRDResource, kind: Kind, api: Api) -> None:
        super().__init__(resource, kind)
        self._api: Api = api

    def _decode_struct(self, value: JsonObject, report_unknown: bool) -> tuple[JsonObject, list[str]]:
        crd, unknown = rules.decode(value, self._api, report_unknown)
        return _from_v1(crd, self._api), unknown


class CRDStrategy(BuiltinStrategy):
    """Prepares and validates CustomResourceDefinitions; the rules are written for v1."""

    def __init__(self, resource: CRDResource, api: Api) -> None:
        super().__init__()
        self._resource = resource
        self._api: Api = api

    def _canonical(self, obj: JsonObject) -> JsonObject:
        return _to_v1(obj, self._api)

    def prepare_create(self, obj: JsonObject) -> None:
        self._clear_per_version(obj, None)
        self._in_v1(obj, rules.prepare_create)

    def _clear_per_version(self, new: JsonObject, old: JsonObject | None) -> None:
        """With the gate closed versions cannot begin to differ; at v1, where each has its fields, they always can."""
        if self._resource.webhooks or self._api == "v1":
            return
        before = old["spec"].get("versions") or () if old is not None else ()
        for field in ("schema", "subresources", "additionalPrinterColumns"):
            if not any(version.get(field) for version in before):
                for version in new["spec"].get("versions") or ():
                    version.pop(field, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        self._clear_per_version(new, old)
        before = self._canonical(old)
        self._in_v1(new, lambda obj: rules.prepare_update(obj, before))

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        before = self._canonical(old)
        self._in_v1(new, lambda obj: rules.prepare_status_update(obj, before))
        return new

    def _in_v1(self, obj: JsonObject, change: Callable[[JsonObject], object]) -> None:
        """Change an object of this version by a rule that is written for v1."""
        inner = self._canonical(obj)
        change(inner)
        if inner is not obj:
            shown = _from_v1(inner, self._api)
            obj.clear()
            obj.update(shown)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        crd = self._canonical(obj)
        found = rules.validate_create(crd, self._api, rules=_RULES, defaulting=self._resource.defaulting)
        found += self._gate_problems(crd, None)
        if not found and self._api == "v1":
            self._resource.found_structural(obj["metadata"]["uid"])
        return found

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        crd, before = self._canonical(new), self._canonical(old)
        found = rules.validate_update(crd, before, self._api, rules=_RULES, defaulting=self._resource.defaulting)
        left = {version["name"] for version in crd["spec"]["versions"] or ()}
        kept = [name for name in before["status"].get("storedVersions") or () if name not in left]
        if kept:
            self._resource.report_blocked(before, kept)
        return found + self._gate_problems(crd, before)

    def for_admission(self, obj: JsonObject) -> JsonObject:
        return {**obj, "spec": drop_empty_from_spec(obj["spec"])}

    def canonicalize(self, obj: JsonObject) -> None:
        obj["spec"] = drop_empty_from_spec(obj["spec"])

    def _gate_problems(self, crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if self._resource.webhooks or _strategy(crd) != "Webhook" or (old is not None and _strategy(old) == "Webhook"):
            return []
        why = (
            "required when strategy is set to Webhook, "
            "but not allowed because the CustomResourceWebhookConversion feature is disabled"
        )
        return [errors.required("spec.conversion.webhookClientConfig", why)]

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return rules.validate_status_update(self._canonical(new), self._canonical(old))

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return rules.warnings(self._canonical(new), self._canonical(old) if old is not None else None)


class CRDRepresenter(BuiltinRepresenter):
    """Shows CustomResourceDefinitions at v1 or v1beta1; they are stored at v1."""

    def __init__(self, resource: CRDResource, kind: Kind, api: Api) -> None:
        super().__init__(resource, kind)
        self._resource = resource
        self._api: Api = api

    async def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return api_conversion.at_version(obj, api_version)

    async def convert_for_admission(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        version = self._resource.versions.get(api_version.rpartition("/")[2])
        if version is None:
            return None
        stated: Api = "v1beta1" if obj.get("apiVersion") == f"{GROUP}/v1beta1" else "v1"
        wanted: Api = "v1beta1" if version.version == "v1beta1" else "v1"
        return _from_v1(drop_empty_values(rules.decode(obj, stated, False)[0]), wanted)

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return _to_v1(obj, self._api)

    @property
    def stores_normalized(self) -> bool:
        return self._api == "v1"

    def show(self, cached: CachedObject) -> Representation | None:
        shown = _from_v1(stored_definition(cached), self._api)
        return Representation(json_codec.encode(shown), labels_of(shown))


def _strategy(crd: JsonObject) -> str:
    strategy: str = (crd["spec"].get("conversion") or {}).get("strategy", "None")
    return strategy


def stored_definition(entry: CachedObject) -> JsonObject:
    """A definition from the store, as v1, whichever of the two versions it was written in."""
    obj = entry.decode()
    if entry.normalized:
        return obj
    try:
        return drop_empty_values(rules.decode(obj, "v1beta1" if entry.version == "v1beta1" else "v1", False)[0])
    except errors.BadRequestError as error:
        raise errors.InternalError(
            f"the definition {entry.name} in the store cannot be read: {error.message}"
        ) from None


def outline(entry: CachedObject) -> CRDSummary:
    """A definition from the store, as v1, without its schemas."""
    read = partial(stored_definition, entry)
    if entry.version == "v1":
        try:
            cut = split_crd(entry.raw)
            crd = decode_without_schemas(cut)
            return CRDSummary(
                crd if entry.normalized else rules.decode(crd, "v1", False)[0], spec_digest(bytes(cut.spec)), read
            )
        except (msgspec.MsgspecError, errors.APIError):
            pass
    crd = read()
    return summarize(crd, json_codec.encode(crd["spec"]), read)


def restated(entry: CachedObject, metadata: JsonObject, status: JsonObject) -> bytes:
    """A stored definition with other metadata and status, to be stored; its spec, most of it, is not decoded."""
    metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
    if entry.normalized and entry.version == "v1":
        cut = split_crd(entry.raw)
        return b'{"apiVersion":"%b","kind":"%b","metadata":%b,"spec":%b,"status":%b}' % (
            cut.apiVersion.encode(),
            cut.kind.encode(),
            json_codec.encode(metadata),
            bytes(cut.spec),
            json_codec.encode(status),
        )
    return Encoded({**stored_definition(entry), "metadata": metadata, "status": status}).stored()
