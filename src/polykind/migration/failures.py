"""What could not be migrated, and why: all of it is counted, the first few are named."""

from __future__ import annotations

_NAMED = 10
_LONGEST = 600
"""A converter may complain at length; a condition holds ten complaints, of whatever characters."""


class Failures:
    """The objects that a migration had to leave behind."""

    def __init__(self) -> None:
        self.count = 0
        self._named: list[str] = []

    def add(self, key: str, why: str) -> None:
        self.count += 1
        if len(self._named) < _NAMED:
            # An exception of a converter may say what is no text.
            why = why.encode(errors="replace").decode()
            self._named.append(f"{key}: {why if len(why) <= _LONGEST else f'{why[:_LONGEST]}...'}")

    def message(self) -> str:
        """What the migration's condition says."""
        objects = "1 object" if self.count == 1 else f"{self.count} objects"
        rest = self.count - len(self._named)
        more = f"; and {rest} more" if rest else ""
        return unhandled(f"{objects} could not be migrated: {'; '.join(self._named)}{more}")


def unhandled(why: str) -> str:
    """The words that a failure of a migration begins with."""
    return f"migration encountered unhandled error: {why}"
