"""Values laid out on lines of YAML, as somebody's own document is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from polykind.codec import yaml_codec
from polykind.contract import JsonObject


def format_lines(value: JsonObject | list[Any], column: int, *, indent_lists: bool) -> list[str]:
    """A value on lines that begin at a column; `indented`: lists stand further in than their keys."""
    return _indent(
        _format_indented(value) if indent_lists else split_lines(yaml_codec.encode_ordered(value).decode()), column
    )


def list_indentations(root: Any) -> Iterator[bool]:
    """Of every list in a mapping, whether it is indented more than its key."""
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
    """A mapping or sequence on lines, with lists indented more than their keys."""
    out: list[str] = []
    if isinstance(value, list):
        for item in value:
            if item and isinstance(item, (dict, list)):
                first, *others = _indent(_format_indented(item), 2)
                out += [f"- {first[2:]}", *others]
            else:
                out += split_lines(yaml_codec.encode_ordered([item]).decode())
        return out
    for key, item in value.items():
        if item and isinstance(item, (dict, list)):
            out += [yaml_codec.encode_ordered({key: None}).decode().removesuffix(" null\n") + "\n"]
            out += _indent(_format_indented(item), 2)
        else:
            out += split_lines(yaml_codec.encode_ordered({key: item}).decode())
    return out


def _indent(lines: list[str], column: int) -> list[str]:
    return [" " * column + line if line.strip() else line for line in lines]


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with its end."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]
