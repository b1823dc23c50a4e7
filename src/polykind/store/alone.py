"""The leadership of a store that only one server can use: it is always there."""

from __future__ import annotations

from collections.abc import Callable


class Alone:
    """A Leadership without rivals."""

    leading = True

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        """It never changes."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...
