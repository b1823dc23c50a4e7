"""Leadership: of all replicas on one store, which does the work that only one may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

OnChange = Callable[[bool], None]
"""Called on the event loop with whether this replica leads from now on."""


class Leadership(Protocol):
    """Whether this replica leads. What a leader does must be safe (compare-and-swap) should another lead already."""

    @property
    def leading(self) -> bool: ...

    def follow(self, on_change: OnChange) -> None:
        """Have `on_change` called whenever leadership comes or goes, not for what it is now."""

    async def start(self) -> None: ...

    async def close(self) -> None:
        """Step down, so that another can lead at once."""


class Alone:
    """The leadership of a store that only one server can use."""

    leading = True

    def follow(self, on_change: OnChange) -> None:
        """It never changes."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...
