"""Rewriting of YAML documents: change some fields and leave everything else as the author wrote it.

Comments, quotes, field order and layout of unchanged fields are kept line by line, so that a diff shows only what was
converted. The result is parsed again. If the parsed result differs from the intended value, the rewriter formats the
whole document anew and keeps only the comments before and after the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject

_unusual_line_break = re.compile("[\r\x85\u2028\u2029]").search
"""Finds characters that YAML treats as line breaks, except the newline."""

_COMMON_VALUES = (None, True, False, "", 0, 1)
"""Values that many fields have, so that an equal value does not show that a field was renamed."""


class UnwritableError(ValueError):
    """A value cannot be written as YAML or JSON without changing the value."""


class _LayoutError(Exception):
    """The layout of the YAML document is not supported, so the document must be formatted anew."""


def same_json(one: Any, other: Any) -> bool:
    """True if two JSON values are equal. Unlike in Python, 1 and true are not equal."""
    return json_codec.encode(one) == json_codec.encode(other)


def rewrite_document(text: str, old: Any, new: JsonObject) -> str:
    """Return `text` after its value has been changed from `old` to `new`. `old` is the parsed text.

    Raise UnwritableError if YAML cannot represent the new value.
    """
    lines = _split_lines(text)
    for write in (_write_preserving, _write_new):
        try:
            out = "".join(write(lines, old, new))
            # Keep a missing newline at the end, unless a block scalar needs the newline.
            for candidate in (out,) if text.endswith("\n") else (out.removesuffix("\n"), out):
                if same_json(yaml_codec.decode(candidate.encode()), new):
                    return candidate
        except (_LayoutError, yaml.YAMLError, yaml_codec.MalformedYAMLError, RecursionError):
            continue
    raise UnwritableError("the converted object cannot be written as YAML")


def is_comment(line: str) -> bool:
    """True if a line is blank or contains only a comment."""
    return not line.strip() or line.lstrip().startswith("#")


def _write_new(lines: list[str], old: Any, new: JsonObject) -> list[str]:
    """Return the lines of a newly formatted document. Keep only the comments before and after the document."""
    content_start = next((i for i, line in enumerate(lines) if not is_comment(line)), len(lines))
    trailing = len(lines)
    while trailing > content_start and (lines[trailing - 1].startswith("#") or not lines[trailing - 1].strip()):
        trailing -= 1
    while trailing < len(lines) and not lines[trailing].strip():
        trailing += 1
    return [*lines[:content_start], yaml_codec.encode_ordered(new).decode(), *lines[trailing:]]


def _write_preserving(lines: list[str], old: Any, new: JsonObject) -> list[str]:
    """Return the lines of the document, in which only changed fields are rewritten.

    Raise _LayoutError if the layout of the document is not supported.
    """
    if any(_unusual_line_break(line) for line in lines):
        raise _LayoutError
    root = yaml.compose("".join(lines), Loader=yaml.CSafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise _LayoutError
    text = _DocumentRewriter(lines, indent_lists=any(_list_indentations(root)))
    return [*lines[: root.start_mark.line], *text.rewrite_mapping(root, old, new, root.start_mark.line, len(lines))]


class _Region:
    """The lines of one field or item: comments above it, its own lines, and comments below that belong to it."""

    def __init__(self, first: int, value: Any) -> None:
        self.first, self.value = first, value
        self.start, self.end = first, _line_after(value)
        self.stop = self.end


class _DocumentRewriter:
    """Rewrites a YAML document line by line."""

    def __init__(self, lines: list[str], *, indent_lists: bool) -> None:
        self.lines = lines
        self._indent_lists = indent_lists

    def _regions(self, node: yaml.MappingNode, column: int) -> dict[str, _Region]:
        """Return the fields of a block mapping. Raise _LayoutError unless each begins a line at `column`."""
        regions = {}
        for key, value in node.value:
            regions[key.value] = _Region(key.start_mark.line, value)
            own_line = key is node.value[0][0] or not self.lines[key.start_mark.line][:column].strip()
            if key.start_mark.column != column or not own_line or value.start_mark.index < key.end_mark.index:
                raise _LayoutError
        return regions

    def rewrite_mapping(self, node: Any, old: JsonObject, new: JsonObject, begin: int, limit: int) -> list[str]:
        """Return the new text of the lines from `begin` to `limit`, a block mapping whose value changes to `new`.

        The first line keeps the prefix of the mapping's first line, which may be the dash of a list item.
        """
        if not isinstance(node, yaml.MappingNode) or node.flow_style or [k.value for k, _ in node.value] != list(old):
            raise _LayoutError
        column = node.value[0][0].start_mark.column
        keys = {key.value: key for key, _ in node.value}
        regions = self._regions(node, column)
        trailing = self._assign_comments(list(regions.values()), column, begin, limit)
        order, old_names = _order_keys(old, new)
        out: list[list[str]] = []
        for name in order:
            old_name = old_names.get(name, name)
            if old_name not in old:
                out.append(self._format_value({name: new[name]}, column))
                continue
            region, key = regions[old_name], keys[old_name]
            own_lines = self._rewrite_field(region, key, name, old[old_name], new[name], column)
            if not out:
                own_lines[0] = self.lines[node.start_mark.line][:column] + own_lines[0][column:]
            elif region.first == node.start_mark.line:
                own_lines[0] = " " * column + own_lines[0][column:]
            out.append([*self.lines[region.start : region.first], *own_lines])
        if not out:
            raise _LayoutError
        return [*(line for part in out for line in part), *trailing]

    def _rewrite_field(self, region: _Region, key: Any, name: str, old: Any, new: Any, column: int) -> list[str]:
        own_lines = self.lines[region.first : region.stop]
        if key.value != name:
            quoted = yaml_codec.encode_ordered({name: 0}).decode().removesuffix(": 0\n")
            own_lines = [own_lines[0][:column] + quoted + own_lines[0][key.end_mark.column :], *own_lines[1:]]
        if same_json(old, new):
            return own_lines
        if new and region.value.start_mark.line > region.first:
            try:
                return [own_lines[0], *self._rewrite_value(region, old, new, region.first + 1)]
            except _LayoutError:
                pass
        return [
            *self._keep_comment(self._format_value({name: new}, column), region),
            *self.lines[region.end : region.stop],
        ]

    def _rewrite_value(self, region: _Region, old: Any, new: Any, begin: int) -> list[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            return self.rewrite_mapping(region.value, old, new, begin, region.stop)
        if isinstance(old, list) and isinstance(new, list):
            return self.rewrite_sequence(region.value, old, new, begin, region.stop)
        raise _LayoutError

    def rewrite_sequence(self, node: Any, old: list[Any], new: list[Any], begin: int, limit: int) -> list[str]:
        """Return the new text of the lines from `begin` to `limit`, a block sequence whose value changes to `new`."""
        if not isinstance(node, yaml.SequenceNode) or node.flow_style or len(old) != len(new):
            raise _LayoutError
        regions = [_Region(item.start_mark.line, item) for item in node.value]
        dashes = [re.match(r" *(?=- )", self.lines[region.first]) for region in regions]
        column = len(dashes[0][0]) if dashes[0] else -1
        index = -1
        for dash, item in zip(dashes, node.value, strict=True):
            blank = self.lines[item.start_mark.line][column + 1 : item.start_mark.column]
            if dash is None or len(dash[0]) != column or blank.strip() or item.start_mark.index <= index:
                raise _LayoutError
            index = item.start_mark.index
        trailing = self._assign_comments(regions, column, begin, limit)
        out: list[str] = []
        for region, before, after in zip(regions, old, new, strict=True):
            own_lines = self.lines[region.first : region.stop]
            if not same_json(before, after):
                try:
                    own_lines = self._rewrite_value(region, before, after, region.first)
                except _LayoutError:
                    own_lines = (
                        self._keep_comment(self._format_value([after], column), region)
                        + self.lines[region.end : region.stop]
                    )
            out += [*self.lines[region.start : region.first], *own_lines]
        return out + trailing

    def _assign_comments(self, regions: list[_Region], column: int, begin: int, limit: int) -> list[str]:
        """Assign the comments between two fields to the second field, or to the first if they are indented below it.

        Comments before the first field belong to it. Return the comments after the last field.
        """
        regions[0].start = begin
        for region, next_region in zip(regions, [*regions[1:], None], strict=True):
            end = next_region.first if next_region else limit
            if end < region.end:
                raise _LayoutError
            for index in range(region.end, end):
                line = self.lines[index]
                if line.strip() and len(line) - len(line.lstrip(" ")) > column:
                    region.stop = index + 1
            if next_region:
                next_region.start = region.stop
        return self.lines[regions[-1].stop : limit]

    def _format_value(self, value: JsonObject | list[Any], column: int) -> list[str]:
        return _format_lines(value, column, indent_lists=self._indent_lists)

    def _keep_comment(self, lines: list[str], region: _Region) -> list[str]:
        """Return the new lines of a field, with the comment at the end of its old line.

        The comment is kept only if the field has one line before and after the change.
        """
        mark = region.value.end_mark
        if len(lines) == 1 and region.end == region.first + 1 and mark.line == region.first:
            trailing = self.lines[mark.line][mark.column :].rstrip()
            if re.fullmatch(r"\s+#.*", trailing):
                return [lines[0].rstrip("\n") + trailing + "\n"]
        return lines


def _line_after(node: Any) -> int:
    """Return the number of the line after a node's last line."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    mark = node.end_mark
    return int(mark.line if mark.column == 0 and mark.line > node.start_mark.line else mark.line + 1)


def _order_keys(old: JsonObject, new: JsonObject) -> tuple[list[str], dict[str, str]]:
    """Return the keys of a changed mapping in the order of the old one, and the old names of renamed keys."""
    renamed = _find_renames(old, new)
    order = [renamed.get(key, key) for key in old if key in new or key in renamed]
    order += [key for key in new if key not in order]
    return order, {name: key for key, name in renamed.items()}


def _find_renames(old: JsonObject, new: JsonObject) -> dict[str, str]:
    """Return the new name of each field that was renamed: a removed field is matched with an added one of equal value.

    A renamed field keeps its place and its comments.
    """
    added = [key for key in new if key not in old]
    out: dict[str, str] = {}
    for key, value in old.items():
        if key in new or (not isinstance(value, (dict, list)) and value in _COMMON_VALUES) or value in ({}, []):
            continue
        match = next((name for name in added if same_json(new[name], value)), None)
        if match is not None:
            out[key] = match
            added.remove(match)
    return out


def _format_lines(value: JsonObject | list[Any], column: int, *, indent_lists: bool) -> list[str]:
    """Format a value as YAML lines that start at a column. If `indent_lists` is true, indent lists below their keys."""
    return _indent(
        _format_indented(value) if indent_lists else _split_lines(yaml_codec.encode_ordered(value).decode()), column
    )


def _list_indentations(root: Any) -> Iterator[bool]:
    """Yield True or False for each list in a mapping: True if the list is indented below its key."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            stack += (value for _, value in node.value)
            for key, value in node.value:
                if isinstance(value, yaml.SequenceNode) and not value.flow_style:
                    yield value.start_mark.column > key.start_mark.column
        elif isinstance(node, yaml.SequenceNode):
            stack += node.value


def _format_indented(value: Any) -> list[str]:
    """Format a mapping or sequence with lists indented below their keys."""
    out: list[str] = []
    if isinstance(value, list):
        for item in value:
            if item and isinstance(item, (dict, list)):
                first, *others = _indent(_format_indented(item), 2)
                out += [f"- {first[2:]}", *others]
            else:
                out += _split_lines(yaml_codec.encode_ordered([item]).decode())
        return out
    for key, item in value.items():
        if item and isinstance(item, (dict, list)):
            out += [yaml_codec.encode_ordered({key: None}).decode().removesuffix(" null\n") + "\n"]
            out += _indent(_format_indented(item), 2)
        else:
            out += _split_lines(yaml_codec.encode_ordered({key: item}).decode())
    return out


def _indent(lines: list[str], column: int) -> list[str]:
    return [" " * column + line if line.strip() else line for line in lines]


def _split_lines(text: str) -> list[str]:
    """Split a text into lines. Each line, including the last one, ends with a newline."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]
