"""The effects of a write besides storing its object, such as the allocation of an address."""

from __future__ import annotations

from collections.abc import Awaitable

from polykind.resources.resource import Finish


async def complete(finish: Finish | None, storing: Awaitable[bytes]) -> bytes:
    """Return the result of storing an object. Complete the effects of the write, or undo them if storing fails."""
    try:
        data = await storing
    except BaseException:
        if finish is not None:
            await finish(False)
        raise
    if finish is not None:
        await finish(True)
    return data
