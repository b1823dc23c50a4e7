"""CustomResourceDefinitions as a resource: v1, and v1beta1 beside it, over the same objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Literal

import msgspec

from polykind import crd as rules
from polykind import errors
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1, CUSTOM_RESOURCE_DEFINITION_V1BETA1
from polykind.apply.tracking import SPEC_RESET
from polykind.apply.typemodel import CRD_MODEL, CRD_V1BETA1_MODEL
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.codec.table import DEFAULT
from polykind.contract import JsonObject
from polykind.crd import api_conversion, conditions
from polykind.crd.empty_values import drop_empty_from_spec, drop_empty_values
from polykind.crd.status import terminating_condition
from polykind.crd.summary import CRDSummary, decode_without_schemas, spec_digest, split_crd, summarize
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinVersion
from polykind.resources.cel_loader import Compiler
from polykind.resources.encoding import Encoded
from polykind.resources.resource import Resource

GROUP = "apiextensions.k8s.io"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

Settle = Callable[[str], Awaitable[None]]
Blocked = Callable[[JsonObject, list[str]], None]

_RULES = Compiler()

_REMEMBERED: Final = 256


class CRDResource(Resource):
    """The resource `customresourcedefinitions`."""

    status_reset = SPEC_RESET

    def __init__(
        self,
        cache: WatchCache,
        now: Callable[[], str],
        v1beta1: bool,
        *,
        webhooks: bool = True,
        defaulting: bool = True,
    ) -> None:
        super().__init__(
            cache.resource(GROUP, "customresourcedefinitions"),
            group=GROUP,
            plural="customresourcedefinitions",
            singular="customresourcedefinition",
            kind="CustomResourceDefinition",
            list_kind="CustomResourceDefinitionList",
            namespaced=False,
        )
        self.storage = "v1"
        self.webhooks = webhooks
        """Whether definitions may begin to convert by webhooks and to differ from version to version."""
        self.defaulting = defaulting
        """Whether definitions may begin to have defaults."""
        self._now = now
        self.settle: Settle | None = None
        """Brings a definition's status up to date; set by the controller."""
        self.blocked: Blocked | None = None
        """Told which versions of a definition cannot be removed because objects may be stored at them."""
        self._structural: dict[str, None] = {}
        self.versions["v1"] = DefinitionVersion(self, "v1")
        if v1beta1:
            self.versions["v1beta1"] = DefinitionVersion(self, "v1beta1")

    marks_deletion = False
    minds_policy = False

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


class DefinitionVersion(BuiltinVersion):
    """Definitions at v1 or v1beta1; in memory and in the store they are v1."""

    resource: CRDResource
    package = "apiextensions"
    scheme = "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"
    known = ("v1", "v1beta1")
    has_status = True
    model = CRD_MODEL
    table = DEFAULT

    def __init__(self, kind: CRDResource, version: Literal["v1", "v1beta1"]) -> None:
        struct = CUSTOM_RESOURCE_DEFINITION_V1 if version == "v1" else CUSTOM_RESOURCE_DEFINITION_V1BETA1
        super().__init__(kind, version, struct)
        self.api = version
        if version == "v1beta1":
            self.model = CRD_V1BETA1_MODEL
            self.deprecation = (
                "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, unavailable in v1.22+; "
                "use apiextensions.k8s.io/v1 CustomResourceDefinition"
            )

    async def at_version(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return api_conversion.at_version(obj, api_version)

    def _decoded(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        obj, unknown = rules.decode(value, self.api, report)
        return self._shown(obj), unknown

    def _shown(self, obj: JsonObject) -> JsonObject:
        return rules.encode(obj, self.api) if self.api != "v1" else obj

    def _canonical(self, obj: JsonObject) -> JsonObject:
        return rules.decode(obj, self.api, False)[0] if self.api != "v1" else obj

    def prepare_create(self, obj: JsonObject) -> None:
        self._clear_per_version(obj, None)
        self._in_v1(obj, rules.prepare_create)

    def _clear_per_version(self, new: JsonObject, old: JsonObject | None) -> None:
        """With the gate closed versions cannot begin to differ; at v1, where each has its fields, they always can."""
        if self.resource.webhooks or self.api == "v1":
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
            shown = self._shown(inner)
            obj.clear()
            obj.update(shown)

    def validate_create(self, obj: JsonObject) -> list[FieldError]:
        crd = self._canonical(obj)
        found = rules.validate_create(crd, self.api, rules=_RULES, defaulting=self.resource.defaulting)
        found += self._gate_problems(crd, None)
        if not found and self.api == "v1":
            self.resource.found_structural(obj["metadata"]["uid"])
        self._as_stored(obj)
        return found

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        crd, before = self._canonical(new), self._canonical(old)
        found = rules.validate_update(crd, before, self.api, rules=_RULES, defaulting=self.resource.defaulting)
        if self.resource.blocked is not None:
            left = {version["name"] for version in crd["spec"]["versions"] or ()}
            kept = [name for name in before["status"].get("storedVersions") or () if name not in left]
            if kept:
                self.resource.blocked(before, kept)
        self._as_stored(new)
        return found + self._gate_problems(crd, before)

    def told(self, obj: JsonObject) -> JsonObject:
        return {**obj, "spec": drop_empty_from_spec(obj["spec"])}

    def _as_stored(self, obj: JsonObject) -> None:
        """Once it is judged nobody is told any more of what is stated and empty."""
        obj["spec"] = drop_empty_from_spec(obj["spec"])

    def _gate_problems(self, crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if self.resource.webhooks or _strategy(crd) != "Webhook" or (old is not None and _strategy(old) == "Webhook"):
            return []
        why = (
            "required when strategy is set to Webhook, "
            "but not allowed because the CustomResourceWebhookConversion feature is disabled"
        )
        return [errors.required("spec.conversion.webhookClientConfig", why)]

    def validate_status(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return rules.validate_status_update(self._canonical(new), self._canonical(old))

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return rules.warnings(self._canonical(new), self._canonical(old) if old is not None else None)

    async def equivalent(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        version = self.resource.versions.get(api_version.rpartition("/")[2])
        if not isinstance(version, DefinitionVersion):
            return None
        stated: Literal["v1", "v1beta1"] = "v1beta1" if obj.get("apiVersion") == f"{GROUP}/v1beta1" else "v1"
        return version._shown(drop_empty_values(rules.decode(obj, stated, False)[0]))

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return self._canonical(obj)

    def clean(self) -> bool:
        return self.api == "v1"

    def show(self, entry: CachedObject) -> Representation | None:
        obj = stored_definition(entry)
        shown = self._shown(obj)
        return Representation(json_codec.encode(shown), labels_of(shown))

    async def after_write(self, name: str, dry_run: bool) -> None:
        if not dry_run and self.resource.settle is not None:
            await self.resource.settle(name)


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
