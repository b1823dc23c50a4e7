"""Conversion of many cached objects by a representer without a resource."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ResourceCache
from polykind.codec.table import TableFormat
from polykind.contract import JsonObject
from polykind.resources.representer import Representer


class FakeCache:
    schema_generation = 0


class RecordingRepresenter(Representer):
    """Converts by changing nothing, and records the number of objects of each call."""

    def __init__(self) -> None:
        super().__init__(cast(ResourceCache, FakeCache()), "v2", "example.com/v2", "ThingList")
        self.calls: list[int] = []

    @property
    def table(self) -> TableFormat:
        raise NotImplementedError

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        raise NotImplementedError

    def show(self, cached: CachedObject) -> Representation | None:
        return None

    async def convert_many(self, objects: Sequence[CachedObject]) -> list[Representation]:
        self.calls.append(len(objects))
        if any(cached.name == "broken" for cached in objects):
            raise ValueError("broken")
        return [Representation(cached.data, None) for cached in objects]


def cached_object(name: str, size: int = 10) -> CachedObject:
    fields: Any = {"key": f"default/{name}", "revision": 1, "version": "v1", "normalized": True}
    return CachedObject(b"x" * size, None, **fields)


@pytest.mark.parametrize(
    ("sizes", "calls"),
    [
        ([10], [1]),
        ([10] * 500, [500]),
        ([10] * 1300, [500, 500, 300]),
        ([1_500_000] * 3, [1, 1, 1]),
        ([5_000_000, 10, 10], [1, 2]),
    ],
)
def test_long_list_is_converted_in_portions(sizes: list[int], calls: list[int]) -> None:
    representer = RecordingRepresenter()
    objects = [cached_object(f"o{number}", size) for number, size in enumerate(sizes)]
    converted = asyncio.run(representer._convert(objects))
    assert [len(representation.data) for representation in converted] == sizes
    assert representer.calls == calls


def test_converted_portions_are_kept_if_a_later_one_fails() -> None:
    representer = RecordingRepresenter()
    objects = [cached_object(f"o{number}") for number in range(500)] + [cached_object("broken")]
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(representer._convert(objects))
    assert representer.known(objects[0]) is not None
    assert representer.known(objects[-1]) is None
