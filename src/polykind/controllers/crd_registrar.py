"""The registrar of CRDs: serves the resources that stored CRDs declare, in the registry and in discovery documents."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject
from polykind.controllers.crd_converters import CRDConverters
from polykind.controllers.crd_fallbacks import CRDFallbacks
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED, NAMES_ACCEPTED
from polykind.crd.naming import AcceptedNames
from polykind.crd.summary import CRDSummary, load_full
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry, from_crd
from polykind.discovery.snapshot import Discovery
from polykind.operations.backend import Backend
from polykind.resources.conversion_cache import ConversionCaches
from polykind.resources.custom import CustomResource
from polykind.resources.schema_digests import schema_digests
from polykind.strategies.apiextensions.strategy import summarize_stored_crd

log = logging.getLogger("polykind.crds")


class CRDRegistrar:
    """Keeps the registry, the converters and the discovery documents as the stored CRDs declare."""

    def __init__(
        self,
        backend: Backend,
        builtins: tuple[GroupVersionEntry, ...],
        converters: CRDConverters,
        conversion_caches: ConversionCaches,
        fallbacks: CRDFallbacks | None,
        enqueue: Callable[[str], None],
    ) -> None:
        """`enqueue` is called with the name of a CRD whose status may have to change, because of another CRD."""
        self._backend = backend
        self._builtins = builtins
        self._converters = converters
        self._conversion_caches = conversion_caches
        self._fallbacks = fallbacks
        self._enqueue = enqueue
        self.crds: dict[str, CRDSummary] = {}
        """The CRDs by name, without those that cannot be decoded."""
        self.names_in_use = AcceptedNames()
        self._waiting: dict[str, str] = {}
        """The groups of the CRDs that wait for a name, by the name of the CRD."""
        self._discovery_entries: dict[str, CrdEntries] = {}
        self._discovery = Discovery((), builtins)
        self._discovery_stale = False

    def discovery(self) -> Discovery:
        """Return the current discovery documents."""
        if self._discovery_stale:
            self._discovery = Discovery(self._discovery_entries.values(), self._builtins, previous=self._discovery)
            self._discovery_stale = False
        return self._discovery

    def update(self, cached: CachedObject) -> None:
        """Serve the API of a stored CRD. If that fails, skip the CRD, so that others are not affected."""
        try:
            self._serve_or_skip(cached)
        except errors.APIError as error:
            log.error("CRD controller: cannot decode stored CRD %s, not serving it: %s", cached.name, error.message)
        except Exception:
            log.exception("CRD controller: cannot serve stored CRD %s, skipping it", cached.name)
            self.remove(cached.name)

    def _serve_or_skip(self, cached: CachedObject) -> None:
        crd = summarize_stored_crd(cached)
        previous = self.crds.get(cached.name)
        self.crds[cached.name] = crd
        if previous is not None:
            self.names_in_use.remove(previous)
        self.names_in_use.add(crd)
        if not conditions.is_true(crd, NAMES_ACCEPTED):
            self._waiting[cached.name] = crd["spec"]["group"]
        else:
            self._waiting.pop(cached.name, None)
        if previous is not None and previous["status"]["acceptedNames"] != crd["status"]["acceptedNames"]:
            # Enqueue this CRD before others that wait for a name, so that it can get back a name that it has lost.
            self._enqueue(cached.name)
            self.reconcile_waiting(crd["spec"]["group"])
        entries = from_crd(crd).reuse(self._discovery_entries.get(cached.name))
        self._discovery_entries[cached.name] = entries.prepare()
        self._discovery_stale = True
        served = conditions.is_true(crd, NAMES_ACCEPTED) or conditions.is_true(crd, ESTABLISHED)
        if self._backend.registry.has_builtin(crd["spec"]["group"], crd["spec"]["names"]["plural"]):
            if previous is None:
                log.warning(
                    "CRD controller: not serving %s, because it has the name of a built-in resource", cached.name
                )
            return
        if not served:
            self.unregister(crd)
            return
        resource = self._backend.registry.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if isinstance(resource, CustomResource) and previous is not None and _serves_same_api(previous, crd):
            if previous["metadata"].get("annotations") != crd["metadata"].get("annotations"):
                resource.drop_conversions()
            resource.update_status(crd)
            self._converters.update_status(crd)
            return
        self._register(crd, resource if isinstance(resource, CustomResource) else None, cached.revision)

    def _register(self, crd: JsonObject, previous: CustomResource | None, revision: int) -> None:
        cache = self._backend.cache.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if previous is not None and previous.crd["metadata"].get("uid") != crd["metadata"].get("uid"):
            self.unregister(previous.crd)
            cache = self._backend.cache.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        cache.change_schema(partial(schema_digests, crd))
        converter = self._converters.replace(crd)
        fallback = self._fallbacks.replace(crd) if self._fallbacks is not None else None
        resource = CustomResource(crd, cache, converter, self._conversion_caches, revision, fallback)
        self._backend.registry.put(resource)
        if previous is not None:
            previous.end_watches()

    def rebuild_converters(self, handles: Callable[[str, str], bool]) -> None:
        """Build the converters of some kinds again, drop their conversions, and end their watches.

        `handles` is a function of group and kind.
        """
        for name, crd in list(self.crds.items()):
            spec = crd["spec"]
            resource = self._backend.registry.resource(spec["group"], spec["names"]["plural"])
            if not isinstance(resource, CustomResource) or resource.crd["metadata"]["name"] != name:
                continue
            if handles(spec["group"], spec["names"]["kind"]):
                self._register(crd, resource, resource.watchable_since)

    def remove(self, name: str) -> None:
        crd = self.crds.pop(name, None)
        self._waiting.pop(name, None)
        self._discovery_entries.pop(name, None)
        self._discovery_stale = True
        if crd is not None:
            self.names_in_use.remove(crd)
            self.unregister(crd)
            self._converters.forget(name)
            if self._fallbacks is not None:
                self._fallbacks.forget(name)
            self._backend.metrics.forget_crd(name)
            self._backend.metrics.forget_resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
            self.reconcile_waiting(crd["spec"]["group"])

    def reconcile_waiting(self, group: str) -> None:
        """Reconcile all CRDs of a group that wait for a name, because a name may be free now."""
        for name, waiting_group in reversed(self._waiting.items()):
            if waiting_group == group:
                self._enqueue(name)

    def unregister(self, crd: JsonObject) -> None:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        resource = self._backend.registry.resource(group, plural)
        if isinstance(resource, CustomResource) and resource.crd["metadata"]["name"] == crd["metadata"]["name"]:
            self._backend.registry.remove(group, plural)
            resource.end_watches()
            self._backend.cache.remove(resource.cache)
            self._converters.remove(crd["metadata"]["name"])
            if self._fallbacks is not None:
                self._fallbacks.close(crd["metadata"]["name"])


def _serves_same_api(previous: CRDSummary, after: CRDSummary) -> bool:
    """True if a change of a CRD leaves its names and its spec unchanged, so that its API stays the same."""
    return bool(
        previous["metadata"].get("uid") == after["metadata"].get("uid")
        and previous["status"].get("acceptedNames") == after["status"].get("acceptedNames")
        and (previous.spec_digest == after.spec_digest or load_full(previous)["spec"] == load_full(after)["spec"])
    )
