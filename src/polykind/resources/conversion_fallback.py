"""Reads of one CRD's objects while its converter is down: the last converted representations, and the recovery.

A representation may be older than the stored object. It keeps its own resourceVersion, so that an update based on it
conflicts instead of undoing newer changes. Clients that have seen it would not learn of the newer changes, because a
watch starts after them. Therefore the fallback tests the converter until the objects can be converted again. Then it
expires the watches of the version, so that their clients list again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.contract import Clock, JsonObject
from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.conversion.last_conversions import LastConversion, LastConversions

log = logging.getLogger("polykind.fallback")

CONDITION = "ConversionFallback"
_PROBE_SECONDS = 5.0
_PROBE_BATCH = 200
_NAMED_OBJECTS = 5

Announce = Callable[[JsonObject, str], Awaitable[None]]
"""A function that writes the condition into the CRD's status. If the second argument is a version, it then expires the
watches of this version.
"""
ViewMany = Callable[[Sequence[CachedObject]], Awaitable[list[Representation]]]


class _Outage:
    """A period in which objects of one version are shown as last converted."""

    def __init__(self, since: datetime, error: ConversionFailedError) -> None:
        self.since = since
        self.error = error
        self.keys: dict[str, None] = {}
        """The keys of the objects that were shown as last converted."""


class ConversionFallback:
    """The fallback of one CRD, for the lifetime of one state of the CRD's spec."""

    def __init__(
        self,
        crd_name: str,
        conversions: LastConversions,
        clock: Clock,
        count: Callable[[str, str, int], None],
        announce: Announce,
    ) -> None:
        """`count` is called with the CRD, the version and the number of objects shown as last converted."""
        self._crd_name = crd_name
        self._conversions = conversions
        self._clock = clock
        self._count = count
        self._announce = announce
        self._outages: dict[str, _Outage] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.probe_seconds = _PROBE_SECONDS
        """Seconds between two tests of a converter that is down."""

    def close(self) -> None:
        """Stop the tests of the converter."""
        for task in self._tasks:
            task.cancel()

    def remember(self, version: str, cached: CachedObject, representation: Representation) -> None:
        """Remember the result of a successful conversion."""
        conversion = LastConversion(representation.data, cached.revision, self._clock.now())
        self._conversions.put(self._crd_name, version, cached.key, conversion)

    def find(self, version: str, cached: CachedObject) -> LastConversion | None:
        return self._conversions.get(self._crd_name, version, cached.key)

    def outage(self, version: str, cached: CachedObject) -> ConversionFailedError | None:
        """Return the error of the running outage if this object has been shown as last converted, else None.

        Such an object is not sent to the converter by reads, which would wait for a timeout each time.
        """
        outage = self._outages.get(version)
        return outage.error if outage is not None and cached.key in outage.keys else None

    def shown(
        self,
        version: str,
        objects: Sequence[tuple[CachedObject, LastConversion]],
        error: ConversionFailedError,
        find: Callable[[str], CachedObject | None],
        view_many: ViewMany,
    ) -> str:
        """Record that objects are shown as last converted, and return the warning for the client.

        The first such read starts the tests of the converter: `find` returns the current state of the object with a
        key, and `view_many` converts objects.
        """
        outage = self._outages.get(version)
        if outage is None:
            outage = self._outages[version] = _Outage(self._clock.now(), error)
            task = asyncio.get_running_loop().create_task(self._recover(version, outage, find, view_many))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        outage.keys.update((cached.key, None) for cached, _ in objects)
        self._count(self._crd_name, version, len(objects))
        return warning(version, objects, outage.since, outage.error)

    async def _recover(
        self, version: str, outage: _Outage, find: Callable[[str], CachedObject | None], view_many: ViewMany
    ) -> None:
        """Test the converter until it converts the objects that were shown as last converted."""
        since, reason = _time(outage.since), outage.error.failure.explain()
        log.warning(
            "CRD %s: converter is down, showing objects at %s as last converted: %s", self._crd_name, version, reason
        )
        message = f"since {since}, objects at {version} are shown as last converted: {outage.error.message}"
        await self._try_announce(_condition("True", "ConverterDown", message), "")
        while not await self._probe(outage, find, view_many):
            pass
        del self._outages[version]
        log.info("CRD %s: objects at %s can be converted again, expiring its watches", self._crd_name, version)
        message = f"from {since} to {_time(self._clock.now())}, objects at {version} were shown as last converted"
        await self._try_announce(_condition("False", "Recovered", message), version)

    async def _probe(self, outage: _Outage, find: Callable[[str], CachedObject | None], view_many: ViewMany) -> bool:
        """Wait, then convert the objects that were shown as last converted. Return True if the outage is over."""
        await asyncio.sleep(self.probe_seconds)
        try:
            while keys := list(outage.keys)[:_PROBE_BATCH]:
                objects = [cached for cached in map(find, keys) if cached is not None]
                # One object is enough to find out that the converter is still down.
                await view_many(objects[:1])
                await view_many(objects)
                for key in keys:
                    outage.keys.pop(key, None)
        except ConversionFailedError as error:
            if not error.is_outage:
                return True
            outage.error = error
            return False
        except errors.APIError:
            # The converter answers. Reads of the object fail with this error, as without a fallback.
            return True
        except Exception:
            log.exception("CRD %s: cannot test its converter, trying again", self._crd_name)
            return False
        return True

    async def _try_announce(self, condition: JsonObject, recovered: str) -> None:
        try:
            await self._announce(condition, recovered)
        except Exception:
            log.exception("CRD %s: cannot report the condition %s", self._crd_name, CONDITION)


def warning(
    version: str, objects: Sequence[tuple[CachedObject, LastConversion]], since: datetime, error: ConversionFailedError
) -> str:
    """Return the text of the Warning header of a response with objects as last converted."""
    if len(objects) == 1:
        cached, last = objects[0]
        shown = f"{cached.key} is shown at {version} as it was converted at {_time(last.at)}"
    else:
        oldest = min(last.at for _, last in objects)
        shown = f"{len(objects)} objects are shown at {version} as last converted, the oldest at {_time(oldest)}"
    text = f"conversion fallback: {shown}, because the converter fails since {_time(since)}: {error.failure.explain()}"
    stale = [cached.key for cached, last in objects if cached.revision != last.revision]
    if stale:
        more = f" and {len(stale) - _NAMED_OBJECTS} more" if len(stale) > _NAMED_OBJECTS else ""
        text += f"; later changes are missing in {', '.join(stale[:_NAMED_OBJECTS])}{more}"
    return text


def _condition(status: str, reason: str, message: str) -> JsonObject:
    return {"type": CONDITION, "status": status, "reason": reason, "message": message}


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
