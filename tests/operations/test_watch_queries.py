"""The bound for the queries of the watches that a user has open."""

from __future__ import annotations

import pytest

from polykind.errors import TooManyRequestsError
from polykind.operations.responses import Response, Stream
from polykind.operations.watch_queries import WatchQueries

LONG = "labelSelector=" + "a!=b," * 40_000


def test_long_queries_of_a_user_are_bounded_together() -> None:
    queries = WatchQueries()
    lengths = [queries.begin("ann", LONG) for _ in range(2)]
    with pytest.raises(TooManyRequestsError, match="the selectors of your open watches are too long"):
        queries.begin("ann", LONG)
    assert queries.begin("bob", LONG) == lengths[0]
    queries.end("ann", lengths[0])
    assert queries.begin("ann", LONG) == lengths[0]


def test_short_queries_are_not_counted() -> None:
    queries = WatchQueries()
    assert {queries.begin("ann", "labelSelector=app&watch=1") for _ in range(100_000)} == {0}


def test_a_watch_counts_until_its_stream_ends() -> None:
    queries = WatchQueries()
    ended = []
    stream = Stream(lambda sink: None, lambda: ended.append(True))
    queries.end_with(Response(200, b"", b""), "ann", queries.begin("ann", LONG))
    for _ in range(2):
        queries.end_with(stream, "ann", queries.begin("ann", LONG))
    with pytest.raises(TooManyRequestsError):
        queries.begin("ann", LONG)
    stream.on_end()
    assert ended == [True]
    assert queries.begin("ann", LONG) > 0
