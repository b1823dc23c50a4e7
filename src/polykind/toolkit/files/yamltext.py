"""The text of a YAML document after some of its fields have changed: what has not changed is left as it was written.

Comments, quotes, the order and the layout of fields that are the same before and after are kept line by line, so that a
diff shows what was converted and nothing else. What comes out is read again: if it does not say what it must, the whole
document is written anew, and only the comments before and behind it are kept.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.toolkit.files.yamllayout import fresh, indents_lists, lines_of

_odd_break = re.compile("[\r\x85\u2028\u2029]").search
"""Where YAML breaks lines besides the newline."""

_ANONYMOUS = (None, True, False, "", 0, 1)
"""Values that are too common to tell that a field was renamed."""


class Unwritable(ValueError):
    """A value that cannot be written as YAML and read again."""


class _Unkept(Exception):
    """The text is laid out in a way that cannot be kept."""


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; 1 and true are not."""
    return json_codec.encode(one) == json_codec.encode(other)


def rewritten(text: str, old: Any, new: JsonObject) -> str:
    """The text of a document that was read as `old`, saying `new`. Raises Unwritable."""
    lines = lines_of(text)
    for write in (_kept, _anew):
        try:
            out = "".join(write(lines, old, new))
            # A last line without its end stays so, unless a block of text needs it.
            for spelled in (out,) if text.endswith("\n") else (out.removesuffix("\n"), out):
                if same(yaml_codec.decode(spelled.encode()), new):
                    return spelled
        except (_Unkept, yaml.YAMLError, yaml_codec.MalformedYAMLError, RecursionError):
            continue
    raise Unwritable("what was converted cannot be written as YAML")


def is_comment(line: str) -> bool:
    """Whether a line says nothing: it is blank or has only a comment."""
    return not line.strip() or line.lstrip().startswith("#")


def _anew(lines: list[str], old: Any, new: JsonObject) -> list[str]:
    head = next((i for i, line in enumerate(lines) if not is_comment(line)), len(lines))
    behind = len(lines)
    while behind > head and (lines[behind - 1].startswith("#") or not lines[behind - 1].strip()):
        behind -= 1
    while behind < len(lines) and not lines[behind].strip():
        behind += 1
    return [*lines[:head], yaml_codec.encode_ordered(new).decode(), *lines[behind:]]


def _kept(lines: list[str], old: Any, new: JsonObject) -> list[str]:
    if any(_odd_break(line) for line in lines):
        raise _Unkept
    root = yaml.compose("".join(lines), Loader=yaml.CSafeLoader)
    text = _Text(lines, indented=any(indents_lists(root)))
    return [*lines[: root.start_mark.line], *text.mapping(root, old, new, root.start_mark.line, len(lines))]


class _Region:
    """The lines of one field or item: comments above it, its own, and comments below that belong to it."""

    def __init__(self, first: int, value: Any) -> None:
        self.first, self.value = first, value
        self.lead, self.end = first, _end(value)
        self.tail = self.end


class _Text:
    """The lines of a document, out of which another is made."""

    def __init__(self, lines: list[str], *, indented: bool) -> None:
        self.lines = lines
        self._indented = indented

    def mapping(self, node: Any, old: JsonObject, new: JsonObject, begin: int, limit: int) -> list[str]:
        """The lines, from `begin` to `limit`, of a block mapping that says `new`.

        The first begins as the mapping's first did, be it by a dash.
        """
        if not isinstance(node, yaml.MappingNode) or node.flow_style or [k.value for k, _ in node.value] != list(old):
            raise _Unkept
        column = node.value[0][0].start_mark.column
        keys = {key.value: key for key, _ in node.value}
        regions = {}
        for key, value in node.value:
            regions[key.value] = _Region(key.start_mark.line, value)
            own_line = key is node.value[0][0] or not self.lines[key.start_mark.line][:column].strip()
            if key.start_mark.column != column or not own_line or value.start_mark.index < key.end_mark.index:
                raise _Unkept
        behind = self._share_gaps(list(regions.values()), column, begin, limit)
        renamed = _renamed(old, new)
        order = [renamed.get(key, key) for key in old if key in new or key in renamed]
        order += [key for key in new if key not in order]
        former = {name: key for key, name in renamed.items()}
        out: list[list[str]] = []
        for name in order:
            was = former.get(name, name)
            if was not in old:
                out.append(self._fresh({name: new[name]}, column))
                continue
            region, key = regions[was], keys[was]
            own = self._field(region, key, name, old[was], new[name], column)
            if not out:
                own[0] = self.lines[node.start_mark.line][:column] + own[0][column:]
            elif region.first == node.start_mark.line:
                own[0] = " " * column + own[0][column:]
            out.append([*self.lines[region.lead : region.first], *own])
        if not out:
            raise _Unkept
        return [*(line for part in out for line in part), *behind]

    def _field(self, region: _Region, key: Any, name: str, old: Any, new: Any, column: int) -> list[str]:
        own = self.lines[region.first : region.tail]
        if key.value != name:
            shown = yaml_codec.encode_ordered({name: 0}).decode().removesuffix(": 0\n")
            own = [own[0][:column] + shown + own[0][key.end_mark.column :], *own[1:]]
        if same(old, new):
            return own
        if new and region.value.start_mark.line > region.first:
            try:
                return [own[0], *self._inside(region, old, new, region.first + 1)]
            except _Unkept:
                pass
        return [*self._commented(self._fresh({name: new}, column), region), *self.lines[region.end : region.tail]]

    def _inside(self, region: _Region, old: Any, new: Any, begin: int) -> list[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            return self.mapping(region.value, old, new, begin, region.tail)
        if isinstance(old, list) and isinstance(new, list):
            return self.sequence(region.value, old, new, begin, region.tail)
        raise _Unkept

    def sequence(self, node: Any, old: list[Any], new: list[Any], begin: int, limit: int) -> list[str]:
        """The lines, from `begin` to `limit`, of a block sequence that says `new`, item by item."""
        if not isinstance(node, yaml.SequenceNode) or node.flow_style or len(old) != len(new):
            raise _Unkept
        regions = [_Region(item.start_mark.line, item) for item in node.value]
        dashes = [re.match(r" *(?=- )", self.lines[region.first]) for region in regions]
        column = len(dashes[0][0]) if dashes[0] else -1
        index = -1
        for dash, item in zip(dashes, node.value, strict=True):
            blank = self.lines[item.start_mark.line][column + 1 : item.start_mark.column]
            if dash is None or len(dash[0]) != column or blank.strip() or item.start_mark.index <= index:
                raise _Unkept
            index = item.start_mark.index
        behind = self._share_gaps(regions, column, begin, limit)
        out: list[str] = []
        for region, before, after in zip(regions, old, new, strict=True):
            own = self.lines[region.first : region.tail]
            if not same(before, after):
                try:
                    own = self._inside(region, before, after, region.first)
                except _Unkept:
                    own = self._commented(self._fresh([after], column), region) + self.lines[region.end : region.tail]
            out += [*self.lines[region.lead : region.first], *own]
        return out + behind

    def _share_gaps(self, regions: list[_Region], column: int, begin: int, limit: int) -> list[str]:
        """Comments between two fields belong to the second, unless they are indented as what is in the first.

        Those before the first belong to it; those behind the last are returned.
        """
        regions[0].lead = begin
        for region, following in zip(regions, [*regions[1:], None], strict=True):
            end = following.first if following else limit
            if end < region.end:
                raise _Unkept
            for at in range(region.end, end):
                line = self.lines[at]
                if line.strip() and len(line) - len(line.lstrip(" ")) > column:
                    region.tail = at + 1
            if following:
                following.lead = region.tail
        return self.lines[regions[-1].tail : limit]

    def _fresh(self, value: JsonObject | list[Any], column: int) -> list[str]:
        return fresh(value, column, indented=self._indented)

    def _commented(self, lines: list[str], region: _Region) -> list[str]:
        """A field on one line, before and after, keeps the comment behind it."""
        mark = region.value.end_mark
        if len(lines) == 1 and region.end == region.first + 1 and mark.line == region.first:
            behind = self.lines[mark.line][mark.column :].rstrip()
            if re.fullmatch(r"\s+#.*", behind):
                return [lines[0].rstrip("\n") + behind + "\n"]
        return lines


def _end(node: Any) -> int:
    """The line behind the last one that a node has."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    mark = node.end_mark
    return int(mark.line if mark.column == 0 and mark.line > node.start_mark.line else mark.line + 1)


def _renamed(old: JsonObject, new: JsonObject) -> dict[str, str]:
    """Fields that are gone, each with a new one that says the same: their place and their comments are kept."""
    added = [key for key in new if key not in old]
    out: dict[str, str] = {}
    for key, value in old.items():
        if key in new or (not isinstance(value, (dict, list)) and value in _ANONYMOUS) or value in ({}, []):
            continue
        twin = next((name for name in added if same(new[name], value)), None)
        if twin is not None:
            out[key] = twin
            added.remove(twin)
    return out
