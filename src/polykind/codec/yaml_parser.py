"""The YAML parser: builds values from libyaml's events, with kube-apiserver's rules for keys, merges and aliases."""

from __future__ import annotations

import re
import struct
from typing import Any, Final

import yaml

from polykind.codec import json_codec
from polykind.codec.yaml_codec import MalformedYAMLError
from polykind.codec.yaml_scalar import ScalarError, resolve_plain, resolve_tagged
from polykind.golang.fmt import go_float, go_quote

_ESCAPED_SOLIDUS: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\/")
_MERGE_TAG = "tag:yaml.org,2002:merge"


class _Frame:
    """A mapping or sequence that is not complete yet. `nodes` is the number of its nodes, for the limit of aliases."""

    __slots__ = ("anchor", "has_key", "items", "key", "line", "mergeable", "merging", "nodes", "quoted_key")

    def __init__(self, items: dict[str, Any] | list[Any], anchor: str | None, line: int) -> None:
        self.items = items
        self.anchor = anchor
        self.line = line
        self.key = self.quoted_key = ""
        self.has_key = False
        self.merging = False
        self.nodes = 1
        self.mergeable: list[bool] = []  # For each item of a sequence: True if the merge key << can merge it.


class _ValueBuilder:
    """Builds a value from a parser's events.

    An error about a value is raised only after the whole document is parsed, because kube-apiserver reports syntax
    errors first.
    """

    def __init__(self, max_depth: int) -> None:
        self.root: Any = None
        self.max_depth = max_depth
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.duplicates: list[str] = []
        self.value_error = ""
        self.has_unsupported = False
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
                self.close()
            elif kind is yaml.AliasEvent:
                self.alias(event.anchor, line)
            elif kind is yaml.DocumentStartEvent and event.version not in (None, (1, 1)):
                where = f"line {line - 1}: " if line > 1 else ""
                raise MalformedYAMLError(f"yaml: {where}found incompatible YAML document")
            elif kind is yaml.DocumentEndEvent:
                break
            event = parser.get_event()
        if self.value_error:
            raise MalformedYAMLError(f"yaml: {self.value_error}")
        if self.has_unsupported:
            _check_supported(self.root)
        return self.root, self.duplicates

    def count(self, nodes: int, aliased: int) -> None:
        """Count nodes. Raise MalformedYAMLError if aliases exceed kube-apiserver's limit (billion laughs attack)."""
        self.decoded += nodes
        self.aliased += aliased
        if self.aliased > 100 and self.decoded > 1000:
            allowed = 0.99 - 0.89 * min(max((self.decoded - 400_000) / 3_600_000, 0.0), 1.0)
            if self.aliased / self.decoded > allowed:
                raise MalformedYAMLError("yaml: document contains excessive aliasing")

    def open(self, event: Any, items: dict[str, Any] | list[Any]) -> None:
        self.count(1, 0)
        if len(self.frames) >= self.max_depth:
            line = event.start_mark.line + 1
            raise MalformedYAMLError(f"yaml: line {line}: exceeded max depth of {self.max_depth}")
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
        self.place(_copy_alias(value), nodes, line, mergeable=isinstance(value, dict))

    def close(self) -> None:
        """End the innermost mapping or sequence, and place it in the one around it."""
        frame = self.frames.pop()
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (frame.items, frame.nodes)
        mergeable = type(frame.items) is dict or all(frame.mergeable)
        self.place(frame.items, frame.nodes, frame.line, mergeable=mergeable)

    def _resolve(self, text: str, tag: str | None, *, plain: bool) -> Any:
        """Return the value of a scalar. Keep the first error of a tagged one for later."""
        try:
            return resolve_tagged(tag, text) if tag else resolve_plain(text) if plain else text
        except ScalarError as error:
            self.value_error = self.value_error or str(error)
            return text

    def scalar(self, event: Any, line: int) -> None:
        text, tag = event.value, event.tag
        plain = event.implicit[0]
        frame = self.frames[-1] if self.frames else None
        at_key = frame is not None and type(frame.items) is dict and not frame.has_key
        if frame is not None and at_key and text == "<<" and (plain or tag == _MERGE_TAG):
            frame.has_key = frame.merging = True
            return
        value = self._resolve(text, tag, plain=plain)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        if frame is not None and at_key:
            self.key(frame, value)
        else:
            self.place(value, 1, line, mergeable=False)

    def key(self, frame: _Frame, value: Any) -> None:
        frame.key = _key_to_text(value)
        self.has_unsupported |= type(frame.key) is not str
        frame.quoted_key = go_quote(value) if isinstance(value, str) else frame.key
        frame.has_key = True
        frame.nodes += 1

    def place(self, value: Any, nodes: int, line: int, *, mergeable: bool) -> None:
        """Add a complete value to the innermost open collection."""
        if type(value) is float:
            self.has_unsupported |= value - value != 0.0
        if not self.frames:
            self.root = _normalize_scalar(value)
            return
        frame = self.frames[-1]
        frame.nodes += nodes
        items = frame.items
        if type(items) is list:
            items.append(_normalize_scalar(value))
            frame.mergeable.append(mergeable and isinstance(value, dict))
        elif not frame.has_key:
            if isinstance(value, (dict, list)):
                self.value_error = self.value_error or f"invalid map key: {_go_value(value)}"
                value = ""
            self.key(frame, value)
        elif frame.merging:
            frame.has_key = frame.merging = False
            if not mergeable:
                self.value_error = self.value_error or "map merge requires map or sequence of maps as the value"
                return
            for source in reversed(value) if isinstance(value, list) else (value,):
                for frame.key, item in source.items():
                    frame.quoted_key = go_quote(frame.key)
                    self.set(frame, item, line)
        else:
            frame.has_key = False
            self.set(frame, value, line)

    def set(self, frame: _Frame, value: Any, line: int) -> None:
        items = frame.items
        if type(items) is dict:
            if frame.key in items:
                self.duplicates.append(f"line {line}: key {frame.quoted_key} already set in map")
            items[frame.key] = _normalize_scalar(value)


def _copy_alias(root: Any) -> Any:
    """Copy the value of an alias, because decoded objects must not share parts."""
    return json_codec.decode(json_codec.encode(root)) if isinstance(root, (dict, list)) else root


def _normalize_scalar(value: Any) -> Any:
    """Return a scalar as kube-apiserver sees it after converting YAML to JSON."""
    if type(value) is float:
        return json_codec.normalize_float(value) if value - value == 0.0 else value
    if type(value) is int and value >= 1 << 63:
        return float(value)
    return value


class _UnsupportedKey(str):
    """A key of a type that JSON does not support. The string is the text that Go's error has for the key."""

    __slots__ = ()


def _check_supported(root: Any) -> None:
    """Raise MalformedYAMLError if the decoded value contains a key or a number that JSON does not support."""
    stack, has_infinite = [root], False
    while stack:
        value = stack.pop()
        if type(value) is dict:
            for key, item in value.items():
                if type(key) is _UnsupportedKey:
                    raise MalformedYAMLError(f"unsupported map key of type: {key}, value: {_go_value(item)}")
            stack.extend(value.values())
        elif type(value) is list:
            stack.extend(value)
        elif type(value) is float and value - value != 0.0:
            has_infinite = True
    if has_infinite:
        _raise_for_infinite(root)


def _raise_for_infinite(root: Any) -> None:
    """Raise MalformedYAMLError about the NaN or infinity that comes first if all keys are sorted as in JSON."""
    stack = [root]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            stack.extend(value[key] for key in sorted(value, reverse=True))
        elif type(value) is list:
            stack.extend(reversed(value))
        elif type(value) is float and value - value != 0.0:
            quoted_key = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
            raise MalformedYAMLError(f"json: unsupported value: {quoted_key}")


def _key_to_text(value: Any) -> str:
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
    return _UnsupportedKey("%!s(<nil>), key: <nil>" if value is None else f"uint64, key: {value:#x}")


def _go_value(value: Any, depth: int = 0) -> str:
    """Format a value as Go's %#v does. Truncate it below 20 levels."""
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


def parse(body: bytes, max_depth: int) -> tuple[Any, list[str]]:
    """Return the value of the first document and its duplicate-key errors.

    Raise MalformedYAMLError if the document is malformed or has more levels than `max_depth`.
    """
    if b"\\/" in body:
        _reject_escaped_solidus(body)
    parser = yaml.CSafeLoader(body or b"\n")
    try:
        return _ValueBuilder(max_depth).build(parser)
    except yaml.MarkedYAMLError as error:
        raise MalformedYAMLError(_syntax_message(error)) from None
    except yaml.reader.ReaderError as error:
        raise MalformedYAMLError(f"yaml: {error.reason}") from None
    finally:
        parser.dispose()


def _reject_escaped_solidus(body: bytes) -> None:
    """Raise MalformedYAMLError if a double-quoted string contains `\\/`. libyaml accepts it, Go's parser does not."""
    parser = yaml.CSafeLoader(_ESCAPED_SOLIDUS.sub(rb"\1\\q", body))
    try:
        while parser.get_event() is not None:
            pass
    except yaml.MarkedYAMLError as error:
        if error.problem == "found unknown escape character":
            raise MalformedYAMLError(_syntax_message(error)) from None
    except yaml.reader.ReaderError:
        # Ignore the error, because parsing the body itself raises the same error.
        pass
    finally:
        parser.dispose()


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    """Return a syntax error's message with Go's line number: scanner errors count lines from 1, all others from 0."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
