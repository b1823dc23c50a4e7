"""The conversion fallbacks of the served CRDs, for a server with --conversion-fallback."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from polykind import errors
from polykind.contract import JsonObject, StoreError
from polykind.conversion.last_conversions import LastConversions
from polykind.operations.backend import Backend
from polykind.resources.conversion_fallback import CONDITION, ConversionFallback
from polykind.resources.custom import CustomResource

log = logging.getLogger("polykind.fallback")

_ATTEMPTS = 5
_EXPIRED = "the converter is available again: list again, because objects at this version were shown as last converted"

WriteCondition = Callable[[str, str, JsonObject], Awaitable[bool]]
"""A function that writes a condition into the status of the CRD with a name and uid. False if another write was faster.
"""


class CRDFallbacks:
    """Builds and closes the fallback of each CRD, reports outages in CRD conditions, and expires watches after them."""

    def __init__(self, backend: Backend, write_condition: WriteCondition) -> None:
        self._backend = backend
        self._write_condition = write_condition
        self._conversions = LastConversions()
        self._fallbacks: dict[str, ConversionFallback] = {}

    def replace(self, crd: JsonObject) -> ConversionFallback:
        """Return a new fallback for a CRD that was added or changed. The last conversions are kept."""
        name = crd["metadata"]["name"]
        self.close(name)
        announce = partial(self._announce, crd)
        fallback = self._fallbacks[name] = ConversionFallback(
            name, self._conversions, self._backend.clock, self._backend.metrics.fallback_used, announce
        )
        return fallback

    def close(self, name: str) -> None:
        fallback = self._fallbacks.pop(name, None)
        if fallback is not None:
            fallback.close()

    def forget(self, name: str) -> None:
        """Forget the conversions of a deleted CRD."""
        self.close(name)
        self._conversions.forget_crd(name)

    def close_all(self) -> None:
        for name in list(self._fallbacks):
            self.close(name)

    async def _announce(self, crd: JsonObject, condition: JsonObject, recovered: str) -> None:
        """Write the condition. If `recovered` is a version, expire its watches and all older resourceVersions.

        The write gives the store a new revision. So lists with objects as last converted have older resourceVersions
        than the write, and lists after the recovery do not.
        """
        meta, spec = crd["metadata"], crd["spec"]
        name, uid = meta["name"], meta.get("uid", "")
        for _ in range(_ATTEMPTS):
            try:
                if await self._write_condition(name, uid, condition):
                    break
            except StoreError as error:
                log.warning("CRD %s: cannot write condition %s, trying again: %s", name, CONDITION, error)
        resource = self._backend.registry.resource(spec["group"], spec["names"]["plural"])
        if not recovered or not isinstance(resource, CustomResource) or resource.crd["metadata"].get("uid") != uid:
            return
        await self._backend.cache.wait_until_fresh(resource.cache)
        resource.expire_watches(recovered, self._backend.cache.revision, errors.ExpiredError(_EXPIRED))
