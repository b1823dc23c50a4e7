"""Field-by-field differences between two objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from polykind.schema.equality import deep_equal
from polykind.schema.node import SchemaNode

Path = tuple[str | int, ...]
MISSING: Any = object()


class Difference(NamedTuple):
    """A field that differs between two objects. `before` or `after` is MISSING if that object lacks the field."""

    path: Path
    before: Any
    after: Any

    @property
    def kind(self) -> str:
        if self.after is MISSING:
            return "dropped"
        return "invented" if self.before is MISSING else "changed"


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:
    """Yield a difference for each field or list item that differs. Yield the innermost fields, not their parents."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for at in range(max(len(before), len(after))):
            old = before[at] if at < len(before) else MISSING
            new = after[at] if at < len(after) else MISSING
            yield from differences(old, new, (*path, at))
    elif before is MISSING or after is MISSING:
        if before is not after:
            yield Difference(path, before, after)
    elif not deep_equal(before, after):
        yield Difference(path, before, after)


def leaf_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all scalars, empty objects and empty lists in a value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaf_paths(item, (*path, key))
    elif isinstance(value, list) and value:
        for at, item in enumerate(value):
            yield from leaf_paths(item, (*path, at))
    else:
        yield path


def format_path(path: Path) -> str:
    """Format a path as `spec.ports[0].name`. Keys with dots or slashes are in brackets."""
    out = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step:
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out


def schema_path(node: SchemaNode | None, path: Path) -> str:
    """Return the schema path of a field, such as `spec.ports[*].name`, with `.*` for any key of a map."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += "[*]"
            node = node.items if node else None
            continue
        named = node is None or node.has_property(step) or node.additional is None
        dot = "." if out else ""
        out += f"{dot}{step}" if named else f"{dot}*"
        node = node.child(step) if node else None
    return out
