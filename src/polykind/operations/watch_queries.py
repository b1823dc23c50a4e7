"""A bound for the queries of all watches that a user has open."""

from __future__ import annotations

from typing import Final

from polykind.errors import TooManyRequestsError
from polykind.operations.responses import Response, Stream

_MAX_LENGTH: Final = 512 * 1024
"""Characters of all long queries together. Parsed selectors take up to eighty times as much memory."""
_SHORT: Final = 256
"""Characters of each query that are not counted."""


class WatchQueries:
    """The length of the queries of the open watches of each user.

    The selectors of a watch stay in memory until it ends, so they are bounded for each user, however many connections
    it has.
    """

    def __init__(self) -> None:
        self._lengths: dict[str, int] = {}
        """By user. Users without long queries are absent."""

    def begin(self, user: str, query: str) -> int:
        """Count the query of a watch. Return what `end` has to subtract.

        Raise TooManyRequestsError if the open watches of the user have too long queries.
        """
        length = max(0, len(query) - _SHORT)
        if length:
            total = self._lengths.get(user, 0) + length
            if total > _MAX_LENGTH:
                raise TooManyRequestsError("the selectors of your open watches are too long", retry_after=1)
            self._lengths[user] = total
        return length

    def end(self, user: str, length: int) -> None:
        """Subtract the query of a watch that has ended."""
        if length:
            rest = self._lengths[user] - length
            if rest:
                self._lengths[user] = rest
            else:
                del self._lengths[user]

    def end_with(self, response: Response | Stream, user: str, length: int) -> None:
        """Subtract the query of a watch when its stream ends, or at once if its response is no stream."""
        if not length or not isinstance(response, Stream):
            self.end(user, length)
            return
        end_stream = response.on_end

        def on_end() -> None:
            self.end(user, length)
            end_stream()

        response.on_end = on_end
