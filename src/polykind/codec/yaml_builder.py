"""A value from the events of a YAML parser, with the reference's rules for keys, merges, aliases and depth."""

from __future__ import annotations

import struct
from typing import Any, Final

import yaml

from polykind.codec import json_codec
from polykind.codec.yaml_codec import MalformedYAMLError
from polykind.codec.yaml_scalar import ScalarError, resolve_plain, resolve_tagged
from polykind.golang.fmt import go_float, go_quote

_DEEPEST: Final = 900
_MERGE = "tag:yaml.org,2002:merge"


class _Frame:
    """An open mapping or sequence."""

    __slots__ = ("anchor", "items", "key", "keyed", "line", "merging", "nodes", "shapes", "shown")

    def __init__(self, items: dict[str, Any] | list[Any], anchor: str | None, line: int) -> None:
        self.items = items
        self.anchor = anchor
        self.line = line
        self.key = self.shown = ""
        self.keyed = False
        self.merging = False
        self.nodes = 1
        self.shapes: list[bool] = []  # of a sequence's items: whether each may be merged


class Builder:
    """Makes a value of a parser's events.

    What is well-formed but means nothing is complained of last: the reference parses all before it decodes.
    """

    def __init__(self) -> None:
        self.root: Any = None
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.complaints: list[str] = []
        self.failure = ""
        self.doubtful = False
        self.decoded = 0
        self.aliased = 0

    def build(self, parser: Any) -> tuple[Any, list[str]]:
        event = parser.get_event()
        while event is not None:
            kind = type(event)
            line = event.start_mark.line + 1
            if kind is yaml.ScalarEvent:
                self.count(1, 0)
                self.scalar(event, line)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self.open(event, {} if kind is yaml.MappingStartEvent else [])
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                frame = self.frames.pop()
                if frame.anchor is not None:
                    self.anchors[frame.anchor] = (frame.items, frame.nodes)
                mergeable = type(frame.items) is dict or all(frame.shapes)
                self.place(frame.items, frame.nodes, frame.line, mergeable=mergeable)
            elif kind is yaml.AliasEvent:
                self.alias(event.anchor, line)
            elif kind is yaml.DocumentStartEvent and event.version not in (None, (1, 1)):
                where = f"line {line - 1}: " if line > 1 else ""
                raise MalformedYAMLError(f"yaml: {where}found incompatible YAML document")
            elif kind is yaml.DocumentEndEvent:
                break
            event = parser.get_event()
        if self.failure:
            raise MalformedYAMLError(f"yaml: {self.failure}")
        if self.doubtful:
            _check(self.root)
        return self.root, self.complaints

    def count(self, nodes: int, aliased: int) -> None:
        """Refuse documents that are mostly aliases, by the reference's ratio."""
        self.decoded += nodes
        self.aliased += aliased
        if self.aliased > 100 and self.decoded > 1000:
            allowed = 0.99 - 0.89 * min(max((self.decoded - 400_000) / 3_600_000, 0.0), 1.0)
            if self.aliased / self.decoded > allowed:
                raise MalformedYAMLError("yaml: document contains excessive aliasing")

    def open(self, event: Any, items: dict[str, Any] | list[Any]) -> None:
        self.count(1, 0)
        if len(self.frames) >= _DEEPEST:
            raise MalformedYAMLError(f"yaml: line {event.start_mark.line + 1}: exceeded max depth of 10000")
        if event.anchor is not None:
            self.anchors[event.anchor] = (None, -1)
        self.frames.append(_Frame(items, event.anchor, event.start_mark.line + 1))

    def alias(self, anchor: str, line: int) -> None:
        if anchor not in self.anchors:
            raise MalformedYAMLError(f"yaml: unknown anchor '{anchor}' referenced")
        value, nodes = self.anchors[anchor]
        if nodes < 0:
            raise MalformedYAMLError(f"yaml: anchor '{anchor}' value contains itself")
        self.count(nodes + 1, nodes)
        self.place(_copy(value), nodes, line, mergeable=isinstance(value, dict))

    def scalar(self, event: Any, line: int) -> None:
        text, tag = event.value, event.tag
        plain = event.implicit[0]
        frame = self.frames[-1] if self.frames else None
        at_key = frame is not None and type(frame.items) is dict and not frame.keyed
        if frame is not None and at_key and text == "<<" and (plain or tag == _MERGE):
            frame.keyed = frame.merging = True
            return
        try:
            value = resolve_tagged(tag, text) if tag else resolve_plain(text) if plain else text
        except ScalarError as error:
            self.failure = self.failure or str(error)
            value = text
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        if frame is not None and at_key:
            self.key(frame, value)
        else:
            self.place(value, 1, line, mergeable=False)

    def key(self, frame: _Frame, value: Any) -> None:
        frame.key = _key_text(value)
        self.doubtful |= type(frame.key) is not str
        frame.shown = go_quote(value) if isinstance(value, str) else frame.key
        frame.keyed = True
        frame.nodes += 1

    def place(self, value: Any, nodes: int, line: int, *, mergeable: bool) -> None:
        """Put a finished value where it belongs."""
        if type(value) is float:
            self.doubtful |= value - value != 0.0
        if not self.frames:
            self.root = _jsonable(value)
            return
        frame = self.frames[-1]
        frame.nodes += nodes
        items = frame.items
        if type(items) is list:
            items.append(_jsonable(value))
            frame.shapes.append(mergeable and isinstance(value, dict))
        elif not frame.keyed:
            if isinstance(value, (dict, list)):
                self.failure = self.failure or f"invalid map key: {_go_value(value)}"
                value = ""
            self.key(frame, value)
        elif frame.merging:
            frame.keyed = frame.merging = False
            if not mergeable:
                self.failure = self.failure or "map merge requires map or sequence of maps as the value"
                return
            for source in reversed(value) if isinstance(value, list) else (value,):
                for frame.key, item in source.items():
                    frame.shown = go_quote(frame.key)
                    self.set(frame, item, line)
        else:
            frame.keyed = False
            self.set(frame, value, line)

    def set(self, frame: _Frame, value: Any, line: int) -> None:
        items = frame.items
        if type(items) is dict:
            if frame.key in items:
                self.complaints.append(f"line {line}: key {frame.shown} already set in map")
            items[frame.key] = _jsonable(value)


def _copy(root: Any) -> Any:
    """An alias's value as its own: nothing that is decoded may be shared."""
    return json_codec.decode(json_codec.encode(root)) if isinstance(root, (dict, list)) else root


def _jsonable(value: Any) -> Any:
    """A scalar as it is after the reference has turned YAML into JSON and read that."""
    if type(value) is float:
        return json_codec.normalize_float(value) if value - value == 0.0 else value
    if type(value) is int and value >= 1 << 63:
        return float(value)
    return value


class _NoKey(str):
    """A key that JSON cannot have; the text says what Go calls it."""

    __slots__ = ()


def _check(root: Any) -> None:
    """Refuse what has no form in JSON, wherever it was not overwritten by something else: keys before values."""
    stack, endless = [root], False
    while stack:
        value = stack.pop()
        if type(value) is dict:
            for key, item in value.items():
                if type(key) is _NoKey:
                    raise MalformedYAMLError(f"unsupported map key of type: {key}, value: {_go_value(item)}")
            stack.extend(value.values())
        elif type(value) is list:
            stack.extend(value)
        elif type(value) is float and value - value != 0.0:
            endless = True
    if endless:
        _refuse_endless(root)


def _refuse_endless(root: Any) -> None:
    """Refuse the first number that JSON cannot have, in the order in which JSON would be written."""
    stack = [root]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            stack.extend(value[key] for key in sorted(value, reverse=True))
        elif type(value) is list:
            stack.extend(reversed(value))
        elif type(value) is float and value - value != 0.0:
            shown = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
            raise MalformedYAMLError(f"json: unsupported value: {shown}")


def _key_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value < 1 << 63:
        return str(value)
    if isinstance(value, float):
        if value - value != 0.0:
            return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
        return go_float(struct.unpack("f", struct.pack("f", value))[0]) if abs(value) < 3e38 else go_float(value)
    return _NoKey("%!s(<nil>), key: <nil>" if value is None else f"uint64, key: {value:#x}")


def _go_value(value: Any, depth: int = 0) -> str:
    """A value as Go's %#v writes it; what is long enough to be no use is cut."""
    if depth > 20:
        return "..."
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(k)}:{_go_value(v, depth + 1)}" for k, v in sorted(value.items()))
        return f"map[interface {{}}]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(_go_value(item, depth + 1) for item in value)}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "interface {}(nil)" if depth else "<nil>"
    return go_quote(value) if isinstance(value, str) else str(value)
