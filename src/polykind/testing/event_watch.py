"""Watch events of a test, and the assertion of their order."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused, Unmet, raise_at_caller
from polykind.testing.server_client import Client, ResourcePaths


class EventWatch:
    """The changes of an object, or of all objects of its kind in its namespace, since this object was created.

    It needs no connection in between, because the server keeps past events for a while.
    """

    def __init__(self, client: Client, target: Mapping[str, Any]) -> None:
        self._client = client
        name = (target.get("metadata") or {}).get("name")
        self._options = {"fieldSelector": f"metadata.name={name}"} if name else {}
        with client.connect() as connection:
            self._collection = ResourcePaths(connection).collection(target)
            listed = connection.request("GET", f"{self._collection}?{urlencode({**self._options, 'limit': '1'})}")
        self._revision: str = listed["metadata"]["resourceVersion"]
        self._last = ""

    @raise_at_caller
    def expect(self, *events: str, timeout: float = 10.0) -> list[JsonObject]:
        """Assert that these events come next, each as type and name: `ADDED mine`. Return their objects.

        Several MODIFIED events of an object in a row count as one, and the newest object is returned. Raises Unmet, an
        AssertionError that shows the difference.
        """
        # The rest of the MODIFIED events that ended the previous call is skipped, unless the test expects more of them.
        previous = self._last if self._last not in events[:1] else ""
        seen: list[str] = []
        objects: list[JsonObject] = []
        options = {**self._options, "watch": "1", "resourceVersion": self._revision}
        deadline = time.monotonic() + timeout
        with self._client.connect() as connection:
            for event in connection.watch(f"{self._collection}?{urlencode(options)}", timeout):
                line = self._describe(event)
                if line != (seen[-1] if seen else previous) or event["type"] != "MODIFIED":
                    seen.append(line)
                    objects.append(event["object"])
                elif seen:
                    objects[-1] = event["object"]
                self._revision = event["object"]["metadata"]["resourceVersion"]
                if seen == list(events):
                    self._last = line
                    return objects
                if seen != list(events[: len(seen)]):
                    break
        if seen == list(events):
            return objects
        late = time.monotonic() >= deadline
        problem = f"the events did not arrive within {timeout:g} s" if late else "the events differ"
        raise Unmet("\n".join([f"{problem} (- expected, + seen):", *difflib.ndiff(events, seen)]))

    @staticmethod
    def _describe(event: JsonObject) -> str:
        obj = event["object"]
        if event["type"] == "ERROR":
            raise Refused(str(obj.get("message")), int(obj.get("code") or 500))
        return f"{event['type']} {obj['metadata']['name']}"
