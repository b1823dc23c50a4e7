"""Requests for resources that the server does not serve. They often explain why a client does not work."""

from __future__ import annotations

import logging
from collections import Counter

log = logging.getLogger("polykind.requests")

_MAX_RESOURCES = 64
_MAX_PATH = 300
"""The maximum number of resources to remember, so that a client cannot fill the memory and the log."""


class UnservedRequests:
    """Counts the requests for unserved resources by method and resource, and logs the first request of each."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def record(self, method: str, group: str, version: str, plural: str) -> None:
        path = f"/apis/{group}/{version}/{plural}" if group else f"/api/{version}/{plural}"
        if (method, path) not in self._counts:
            if len(self._counts) >= _MAX_RESOURCES or len(path) > _MAX_PATH:
                return
            log.info("routes: %s %s is not served here, responding 404; later requests are only counted", method, path)
        self._counts[method, path] += 1

    def lines(self) -> list[str]:
        """Return one line for each method and resource, the most frequent first."""
        return [
            f"not served here: {method} {path}{f' ({count} times)' if count > 1 else ''}"
            for (method, path), count in self._counts.most_common()
        ]
