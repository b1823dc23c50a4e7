"""The items of lists in objects, with the paths that errors and warnings name."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.contract import JsonObject


def listed(obj: JsonObject, field: str, at: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the path and the value of each object in a list that a field of `obj` has, or may have.

    `at` is the path of `obj`.
    """
    for index, item in enumerate(obj.get(field) or ()):
        yield f"{at}.{field}[{index}]", item
