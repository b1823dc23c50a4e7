"""The real objects to check: manifests, Lists and JSON lines in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.errors import APIError
from polykind.toolkit.files import manifests

SUFFIXES = manifests.SUFFIXES | {".jsonl", ".ndjson"}


class _RawList(msgspec.Struct):
    """The parts of a List that are needed to read its items one after the other."""

    items: list[msgspec.Raw]
    kind: str = ""
    apiVersion: str = ""  # noqa: N815


_decode_list = msgspec.json.Decoder(_RawList).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read_objects(paths: Iterable[Path]) -> Iterator[JsonObject]:
    """Yield the objects in files and folders: YAML, JSON, JSON lines, and the items of Lists.

    Large JSON files are decoded object by object. Raise ValueError for a file that cannot be read.
    """
    for file in manifests.find_files(paths, SUFFIXES):
        try:
            if _is_json(file):
                yield from _read_json(file)
            else:
                yield from manifests.read_objects([file])
        except OSError as error:
            raise ValueError(f"{file}: {error.strerror}") from None


def _is_json(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(64).lstrip()[:1] in (b"{", b"[")


def _read_json(file: Path) -> Iterator[JsonObject]:
    with file.open("rb") as stream:
        first = stream.readline()
        while first and not first.strip():
            first = stream.readline()
        if _is_complete(first):
            number = 1
            yield from _expand(file, number, first)
            for line in stream:
                number += 1
                if line.strip():
                    yield from _expand(file, number, line)
            return
        data = first + stream.read()
    try:
        yield from _expand(file, 1, data)
    except ValueError:
        # Several JSON values that span lines, or JSON-like YAML.
        yield from manifests.read_objects([file])


def _is_complete(line: bytes) -> bool:
    return line.rstrip().endswith((b"}", b"]")) and _decodes(line)


def _decodes(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def _read_list(data: bytes) -> _RawList | None:
    """Return the list in a JSON text without decoding its items, or None if the text has no list."""
    if b'"items"' not in data[:256] and b'List"' not in data[:256] and b'List"' not in data[-256:]:
        return None
    try:
        listed = _decode_list(data)
    except msgspec.ValidationError:
        return None
    return listed if listed.kind.endswith("List") else None


def _expand(file: Path, line: int, data: bytes) -> Iterator[JsonObject]:
    """Yield the object in a JSON text, or the items if it is a list or a List."""
    try:
        if data.lstrip()[:1] == b"[":
            for raw in _decode_items(data):
                yield from _plain(json_codec.decode(bytes(raw)))
            return
        listed = _read_list(data)
        if listed is None:
            yield from _plain(json_codec.decode(data))
            return
        implied = _implied(listed)
        for raw in listed.items:
            item = json_codec.decode(bytes(raw))
            if isinstance(item, dict):
                yield {**implied, **item} if implied else item
    except (msgspec.MsgspecError, APIError) as error:
        raise ValueError(f"{file}:{line}: {getattr(error, 'message', error)}") from None


def _implied(listed: _RawList) -> JsonObject:
    """Return the apiVersion and kind that the items of a typed List may omit."""
    kind = listed.kind.removesuffix("List")
    return {"apiVersion": listed.apiVersion, "kind": kind} if kind else {}


def _plain(value: Any) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
