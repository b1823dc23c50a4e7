"""The resource `customresourcedefinitions`, served at v1 and v1beta1 and stored at v1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Literal

import msgspec

from polykind import crd as crd_rules
from polykind import errors
from polykind.apis.apiextensions import crd_codec
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1, CUSTOM_RESOURCE_DEFINITION_V1BETA1, GROUP
from polykind.apis.machinery.kinds import Kind
from polykind.cache.cached_object import CachedObject, Encoded, Representation, labels_of
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.crd import api_conversion, conditions
from polykind.crd.empty_values import drop_empty_from_spec, drop_empty_values
from polykind.crd.status import terminating_condition
from polykind.crd.summary import CRDSummary, decode_without_schemas, spec_digest, split_crd, summarize
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy
from polykind.resources.builtin_codec import BuiltinCodec, BuiltinRepresenter
from polykind.resources.cel_loader import Compiler
from polykind.resources.resource import FirstStatus

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

ReconcileCRD = Callable[[str], Awaitable[None]]
"""A function that updates the status of a CRD. The argument is the name of the CRD."""
ComputeFirstStatus = Callable[[JsonObject, bytes], Awaitable[FirstStatus | None]]
"""A function that returns the first status of a new CRD, as `Resource.first_status` does."""
ReportBlocked = Callable[[JsonObject, list[str]], None]
"""A function that reports versions that a client must not remove from a CRD, because objects may be stored at them."""

_CEL_RULES = Compiler()

_MAX_REMEMBERED: Final = 256


class CRDResource(BuiltinResource):
    """The resource `customresourcedefinitions`."""

    def __init__(
        self,
        cache: WatchCache,
        now: Callable[[], str],
        v1beta1: bool,
        *,
        reconcile: ReconcileCRD,
        first_status: ComputeFirstStatus,
        report_blocked: ReportBlocked,
        webhooks: bool = True,
        defaulting: bool = True,
        webhook_warning: Callable[[JsonObject], str] = lambda _: "",
    ) -> None:
        """`webhook_warning` returns why a webhook's clientConfig cannot be reached, or ""."""
        super().__init__(cache, CUSTOM_RESOURCE_DEFINITION_V1)
        self.webhooks = webhooks
        """True if clients may add conversion webhooks or per-version fields to CRDs that do not use them yet."""
        self.defaulting = defaulting
        """True if clients may add defaults to CRDs that have no defaults yet."""
        self.webhook_warning = webhook_warning
        self._now = now
        self._reconcile = reconcile
        self._first_status = first_status
        self.report_blocked = report_blocked
        self._structural: dict[str, None] = {}
        self._serve_version("v1", CUSTOM_RESOURCE_DEFINITION_V1)
        if v1beta1:
            self._serve_version("v1beta1", CUSTOM_RESOURCE_DEFINITION_V1BETA1)

    def _serve_version(self, api: Api, kind: Kind) -> None:
        self.serve(
            kind, CRDStrategy(self, kind, api), codec=CRDCodec(kind, api), representer=CRDRepresenter(self, kind, api)
        )

    async def after_write(self, name: str) -> None:
        """Update the CRD's status before the server sends the response, so that the next request sees it."""
        await self._reconcile(name)

    has_first_status = True

    async def first_status(self, obj: JsonObject, value: bytes) -> FirstStatus | None:
        return await self._first_status(obj, value)

    deletion_bumps_generation = False
    deletion_applies_policy = False
    previews_changes = True

    def remember_structural(self, uid: str) -> None:
        """Remember that a new CRD has only structural schemas. `pop_structural` returns this fact."""
        self._structural[uid] = None
        if len(self._structural) > _MAX_REMEMBERED:
            del self._structural[next(iter(self._structural))]

    def is_structural(self, uid: str) -> bool:
        """True if validation found only structural schemas in a new CRD, and `pop_structural` has not been called."""
        return uid in self._structural

    def pop_structural(self, uid: str) -> bool:
        """Return True if validation found only structural schemas in a new CRD.

        The controller then skips this check.
        """
        return self._structural.pop(uid, False) is None

    def prepare_delete(self, obj: JsonObject) -> bool:
        """Add the condition Terminating and a finalizer, which keeps the CRD until its custom resources are deleted."""
        meta = obj["metadata"]
        if not meta.get("deletionTimestamp"):
            pending = terminating_condition("InstanceDeletionPending")
            obj["status"] = conditions.set_condition(obj["status"], pending, self._now())
            if FINALIZER not in (meta.get("finalizers") or []):
                meta["finalizers"] = [*(meta.get("finalizers") or []), FINALIZER]
        return True


Api = Literal["v1", "v1beta1"]


def _from_v1(crd: JsonObject, api: Api) -> JsonObject:
    return crd_codec.encode(crd, api) if api != "v1" else crd


def _to_v1(crd: JsonObject, api: Api) -> JsonObject:
    return crd_codec.decode(crd, api, False)[0] if api != "v1" else crd


def _set_no_defaults(crd: JsonObject) -> None:
    """Do nothing, because decoding has already set the defaults of a CRD."""


class CRDCodec(BuiltinCodec):
    """Decodes CustomResourceDefinitions at v1 or v1beta1."""

    def __init__(self, kind: Kind, api: Api) -> None:
        super().__init__(kind, _set_no_defaults)
        self._api: Api = api

    def _decode_struct(self, value: JsonObject, report_unknown: bool) -> tuple[JsonObject, list[str]]:
        return crd_codec.decode_unconverted(value, self._api, report_unknown)


_INLINE_BYTES: Final = 6 * 1024


class CRDStrategy(BuiltinStrategy):
    """Prepares and validates CustomResourceDefinitions, after converting v1beta1 objects to v1."""

    expensive = True
    max_objects = 100_000

    def __init__(self, resource: CRDResource, kind: Kind, api: Api) -> None:
        super().__init__(kind)
        self._resource = resource
        self._api: Api = api

    def is_expensive(self, data: bytes) -> bool:
        # Patterns and CEL rules have to be compiled. Without them, this size takes some ten milliseconds at worst.
        return len(data) > _INLINE_BYTES or b"pattern" in data or b"x-kubernetes-validations" in data

    def _canonical(self, obj: JsonObject) -> JsonObject:
        return _to_v1(obj, self._api)

    def prepare_create(self, obj: JsonObject) -> None:
        self._clear_per_version(obj, None)
        self._in_v1(obj, crd_rules.prepare_create)

    def _clear_per_version(self, new: JsonObject, old: JsonObject | None) -> None:
        """Remove the per-version fields of a v1beta1 CRD if `webhooks` is off and the old CRD has no such fields."""
        if self._resource.webhooks or self._api == "v1":
            return
        old_entries = old["spec"].get("versions") or () if old is not None else ()
        for field in ("schema", "subresources", "additionalPrinterColumns"):
            if not any(version_entry.get(field) for version_entry in old_entries):
                for version_entry in new["spec"].get("versions") or ():
                    version_entry.pop(field, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        self._clear_per_version(new, old)
        old_crd = self._canonical(old)
        self._in_v1(new, lambda crd: crd_rules.prepare_update(crd, old_crd))

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        old_crd = self._canonical(old)
        new["spec"] = old["spec"]
        self._in_v1(new, lambda crd: crd_rules.prepare_status_update(crd, old_crd))
        return new

    def _in_v1(self, obj: JsonObject, change: Callable[[JsonObject], object]) -> None:
        """Convert `obj` from this strategy's version to v1, call `change` with the result, and convert `obj` back."""
        crd = self._canonical(obj)
        change(crd)
        if crd is not obj:
            converted = _from_v1(crd, self._api)
            obj.clear()
            obj.update(converted)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        crd = self._canonical(obj)
        found = crd_rules.validate_create(crd, self._api, rules=_CEL_RULES, defaulting=self._resource.defaulting)
        found += self._gate_errors(crd, None)
        if not found and self._api == "v1":
            self._resource.remember_structural(obj["metadata"]["uid"])
        return found

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        crd, old_crd = self._canonical(new), self._canonical(old)
        found = crd_rules.validate_update(
            crd, old_crd, self._api, rules=_CEL_RULES, defaulting=self._resource.defaulting
        )
        remaining = {version_entry["name"] for version_entry in crd["spec"]["versions"] or ()}
        blocked = [name for name in old_crd["status"].get("storedVersions") or () if name not in remaining]
        if blocked:
            self._resource.report_blocked(old_crd, blocked)
        return found + self._gate_errors(crd, old_crd)

    def for_admission(self, obj: JsonObject) -> JsonObject:
        return {**obj, "spec": drop_empty_from_spec(obj["spec"])}

    def canonicalize(self, obj: JsonObject) -> None:
        obj["spec"] = drop_empty_from_spec(obj["spec"])

    def _gate_errors(self, crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if self._resource.webhooks or _strategy(crd) != "Webhook" or (old is not None and _strategy(old) == "Webhook"):
            return []
        reason = (
            "required when strategy is set to Webhook, "
            "but not allowed because the CustomResourceWebhookConversion feature is disabled"
        )
        return [errors.required("spec.conversion.webhookClientConfig", reason)]

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return crd_rules.validate_status_update(self._canonical(new), self._canonical(old))

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        crd, old_crd = self._canonical(new), self._canonical(old) if old is not None else None
        return crd_rules.warnings(crd, old_crd) + self._webhook_warnings(crd, old_crd)

    def _webhook_warnings(self, crd: JsonObject, old: JsonObject | None) -> list[str]:
        """Warn about a new or changed conversion webhook at an address that this server cannot find."""
        conversion = crd["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook" or (old is not None and old["spec"].get("conversion") == conversion):
            return []
        warning = self._resource.webhook_warning((conversion.get("webhook") or {}).get("clientConfig") or {})
        return [f"spec.conversion.webhook.clientConfig.service: {warning}"] if warning else []


class CRDRepresenter(BuiltinRepresenter):
    """Returns CustomResourceDefinitions at v1 or v1beta1 in responses. They are stored at v1."""

    def __init__(self, resource: CRDResource, kind: Kind, api: Api) -> None:
        super().__init__(resource, kind, _set_no_defaults)
        self._resource = resource
        self._api: Api = api

    async def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return api_conversion.at_version(obj, api_version)

    async def convert_for_admission(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        version = self._resource.versions.get(api_version.rpartition("/")[2])
        if version is None:
            return None
        current: Api = "v1beta1" if obj.get("apiVersion") == f"{GROUP}/v1beta1" else "v1"
        wanted: Api = "v1beta1" if version.version == "v1beta1" else "v1"
        return _from_v1(drop_empty_values(crd_codec.decode(obj, current, False)[0]), wanted)

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return _to_v1(obj, self._api)

    @property
    def stores_normalized(self) -> bool:
        return self._api == "v1"

    def show(self, cached: CachedObject) -> Representation | None:
        shown = _from_v1(decode_stored_crd(cached), self._api)
        data = json_codec.encode(shown)
        if self._api == "v1" and data == cached.data:
            return cached
        return Representation(data, labels_of(shown))


def _strategy(crd: JsonObject) -> str:
    strategy: str = (crd["spec"].get("conversion") or {}).get("strategy", "None")
    return strategy


def decode_stored_crd(cached: CachedObject) -> JsonObject:
    """Return a stored CRD at v1, whether it was stored at v1 or v1beta1. Raise InternalError if it is malformed."""
    obj = cached.decode()
    if cached.normalized:
        return obj
    try:
        api: Api = "v1beta1" if cached.version == "v1beta1" else "v1"
        return drop_empty_values(crd_codec.decode(obj, api, False, validate=False)[0])
    except errors.BadRequestError as error:
        raise errors.InternalError(
            f"the stored CustomResourceDefinition {cached.name} cannot be read: {error.message}"
        ) from None


def summarize_stored_crd(cached: CachedObject) -> CRDSummary:
    """Return a stored CRD at v1 without its schemas.

    A function in the result decodes the schemas when they are needed.
    """
    load = partial(decode_stored_crd, cached)
    if cached.version == "v1":
        try:
            parts = split_crd(cached.raw)
            crd = decode_without_schemas(parts)
            return CRDSummary(
                crd if cached.normalized else crd_codec.decode(crd, "v1", False)[0],
                spec_digest(bytes(parts.spec)),
                load,
            )
        except (msgspec.MsgspecError, errors.APIError):
            pass
    crd = load()
    return summarize(crd, json_codec.encode(crd["spec"]), load)


def replace_stored_status(cached: CachedObject, metadata: JsonObject, status: JsonObject) -> bytes:
    """Return the bytes of a stored CRD with new metadata and status.

    If possible, copy the large spec without decoding it.
    """
    metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
    if cached.normalized and cached.version == "v1":
        return replace_encoded_status(cached.raw, metadata, status)
    return Encoded({**decode_stored_crd(cached), "metadata": metadata, "status": status}).stored()


def replace_encoded_status(encoded: bytes, metadata: JsonObject, status: JsonObject) -> bytes:
    """Return the bytes of a v1 CRD with new metadata and status. Copy its spec from `encoded`, whose keys are sorted.

    Quotes in strings are escaped, so the first `"spec":{` and the last `"status":{` are fields of the CRD itself: no
    field of ObjectMeta or of the status has such a name and is an object.
    """
    spec = encoded[encoded.index(_SPEC) : encoded.rindex(_STATUS)]
    return b'%b"metadata":%b%b,"status":%b}' % (_HEAD, json_codec.encode(metadata), spec, json_codec.encode(status))


_HEAD: Final = b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",'
_SPEC: Final = b',"spec":{'
_STATUS: Final = b',"status":{'
