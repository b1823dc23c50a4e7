"""Waiting until an object meets a condition, by a watch on the object."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlencode

from polykind.contract import JsonObject
from polykind.declare.conversions import describe_object
from polykind.testing.exceptions import Refused, Unmet
from polykind.testing.server_client import Client, Connection, ResourcePaths

Predicate = Callable[[JsonObject], Any]
"""A function of an object that returns true if a condition is met. It may be an async function."""

RETRY = 0.02
"""Seconds before a failed request is repeated, for example during a rollback or a converter outage."""


class Condition:
    """A condition of an object: a function, or `create`, `delete` or `condition=Ready[=False]` as in `kubectl wait`."""

    def __init__(self, wanted: str | Predicate) -> None:
        self._predicate = wanted if callable(wanted) else None
        self.absent = wanted == "delete"
        self._type, self._status = "", "True"
        if isinstance(wanted, str):
            word, _, rest = wanted.partition("=")
            if word == "condition" and rest:
                self._type, _, status = rest.partition("=")
                self._status = status or "True"
            elif wanted not in ("create", "delete"):
                raise ValueError(
                    f"{wanted!r} is not a condition: pass a function of the object, 'create', 'delete', "
                    "'condition=Ready' or 'condition=Ready=False'"
                )
        self.label = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", repr(wanted))

    async def unmet_reason(self, obj: JsonObject | None) -> str:
        """Return the reason why an object does not meet the condition, or an empty string if it does."""
        if obj is None:
            return "" if self.absent else "it does not exist"
        if self.absent:
            return "it still exists"
        if self._predicate is not None:
            return await self._evaluate(self._predicate, obj)
        if not self._type:
            return ""
        conditions = (obj.get("status") or {}).get("conditions") or []
        condition = next((one for one in conditions if one.get("type") == self._type), None)
        if condition is None:
            return f"it has no condition {self._type}"
        if str(condition.get("status")).lower() == self._status.lower():
            return ""
        detail = condition.get("message") or condition.get("reason") or ""
        return f"its condition {self._type} is {condition.get('status')}: {detail}"

    @staticmethod
    async def _evaluate(predicate: Predicate, obj: JsonObject) -> str:
        try:
            met = predicate(obj)
            while inspect.isawaitable(met):
                met = await met
        except (LookupError, TypeError, AttributeError, AssertionError) as error:
            # The condition is not met: a field such as status does not exist yet, or an assert in the predicate failed.
            return f"{type(error).__name__}: {error}"
        return "" if met else f"the function returned {met!r}"


class Wait:
    """Waits until one object meets a condition."""

    def __init__(
        self, client: Client, target: Mapping[str, Any], condition: Condition, seconds: float, hint: str = ""
    ) -> None:
        """`hint` is added to the message of Unmet. It says what the test can do."""
        self._client = client
        self._hint = hint
        self._target = dict(target)
        self._condition = condition
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._last: JsonObject | None = None
        self._reason = "the server did not respond"
        if not (self._target.get("metadata") or {}).get("name"):
            raise ValueError("the object to wait for needs apiVersion, kind and metadata.name")

    async def run(self) -> JsonObject:
        """Return the object when it meets the condition, or its last state if the condition is its deletion.

        Raise Unmet if the object does not meet the condition in time.
        """
        while True:
            try:
                async with self._client.connect() as connection:
                    if await self._met(connection):
                        return self._last or self._target
            except Refused as error:
                if error.status < 500 and error.status not in (410, 429):
                    raise
                self._reason = f"reading it failed with {error.status}: {error}"
            except OSError as error:
                self._reason = f"the server could not be reached: {error}"
            if time.monotonic() >= self._deadline:
                raise Unmet(self._failure_message())
            await asyncio.sleep(RETRY)

    async def _met(self, connection: Connection) -> bool:
        """Read the object and watch it until it meets the condition. Return False if the watch ends before that."""
        collection = await ResourcePaths(connection).collection(self._target)
        selected = {"fieldSelector": f"metadata.name={self._target['metadata']['name']}"}
        listed = await connection.request("GET", f"{collection}?{urlencode(selected)}")
        if await self._check(next(iter(listed["items"]), None)):
            return True
        options = {**selected, "watch": "1", "resourceVersion": listed["metadata"]["resourceVersion"]}
        try:
            async with (
                asyncio.timeout(max(self._deadline - time.monotonic(), 0.0)),
                aclosing(connection.watch(f"{collection}?{urlencode(options)}")) as watch,
            ):
                async for events in watch:
                    if await self._check_events(events):
                        return True
        except TimeoutError:
            # The deadline has passed, or the server closed the connection. `run` tells the two apart.
            pass
        return False

    async def _check_events(self, events: list[JsonObject]) -> bool:
        for event in events:
            kind, obj = event["type"], event["object"]
            if kind == "ERROR":
                raise Refused(str(obj.get("message")), int(obj.get("code") or 500))
            if await self._check(None if kind == "DELETED" else obj):
                return True
        return False

    async def _check(self, obj: JsonObject | None) -> bool:
        if obj is not None:
            # The items of lists of built-in kinds lack these two fields.
            kind = {field: self._target[field] for field in ("apiVersion", "kind")}
            self._last = obj = {**kind, **obj}
        self._reason = await self._condition.unmet_reason(obj)
        return not self._reason

    def _failure_message(self) -> str:
        target = f"{describe_object(self._target)} of {self._target.get('apiVersion')}"
        problem = f"did not meet the condition {self._condition.label} within {self._seconds:g} s"
        lines = [f"{target} {problem}: {self._reason}", *([self._hint] if self._hint else [])]
        if self._last is not None:
            plain = {**self._last, "metadata": {**self._last["metadata"]}}
            plain["metadata"].pop("managedFields", None)
            lines += ["last state:", json.dumps(plain, indent=2)]
        return "\n".join(lines)
