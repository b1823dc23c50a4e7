"""Migration of stored keys when a release of Polykind changes their layout."""

from __future__ import annotations

import logging
from contextlib import suppress

from polykind.contract import RevisionConflictError, Store

log = logging.getLogger("polykind")

_OLD_SERVICES, _SERVICES = "polykind/services/", "services/specs/"
_PAGE_SIZE = 500


async def move_services(store: Store, prefix: str) -> None:
    """Move Services from `polykind/services`, where earlier builds stored them, to the keys that Kubernetes uses.

    Several replicas may do this at the same time. A Service that already exists at its new key is not changed.
    """
    moved = 0
    while items := (await store.range(prefix + _OLD_SERVICES, limit=_PAGE_SIZE)).items:
        for item in items:
            with suppress(RevisionConflictError):
                await store.put(
                    prefix + _SERVICES + item.key.removeprefix(prefix + _OLD_SERVICES), item.value, expect=0
                )
            with suppress(RevisionConflictError):
                await store.delete(item.key, expect=item.revision)
            moved += 1
    if moved:
        log.info("store: moved %d Services to the keys that Kubernetes uses", moved)
