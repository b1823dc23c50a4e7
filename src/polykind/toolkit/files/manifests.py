"""Manifests as they lie in files: documents of YAML or JSON, and what stands between them.

A document that is not replaced keeps every byte. Documents are told apart as kubectl tells them apart: by lines of
`---`, and values of JSON also by their ends. YAML is read as Kubernetes reads it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.errors import APIError
from polykind.toolkit.files.yaml_rewriter import UnwritableError, is_comment, rewrite_document

MAX_BYTES = 64 << 20
"""The most bytes that a file may have."""

SUFFIXES = frozenset((".yaml", ".yml", ".json"))

_BYTE_ORDER_MARK = "\N{BYTE ORDER MARK}".encode()
_SPACE = re.compile(r"\s*")


class ManifestReadError(ValueError):
    """A file that cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document with the comments around it. `line` is where its content begins, counted from 1."""

    line: int
    text: str
    format: Literal["yaml", "json"]
    value: Any = None
    error: str = ""
    """Why it cannot be read."""

    def replace(self, value: JsonObject) -> str:
        """The text of the document with another value, in the same format. Raises Unwritable."""
        if self.format == "json":
            return _encode_json_like(self.text, value)
        if "\r\n" in self.text:
            return rewrite_document(self.text.replace("\r\n", "\n"), self.value, value).replace("\n", "\r\n")
        return rewrite_document(self.text, self.value, value)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a file holds, in order: documents, and text between them, such as separators."""

    parts: tuple[Document | str, ...]

    @property
    def documents(self) -> list[Document]:
        return [part for part in self.parts if isinstance(part, Document)]

    def replace(self, values: Mapping[int, JsonObject]) -> bytes:
        """The file with other values for some of its documents, by their index. Raises Unwritable."""
        out: list[str] = []
        index = 0
        for part in self.parts:
            if isinstance(part, str):
                out.append(part)
                continue
            out.append(part.replace(values[index]) if index in values else part.text)
            index += 1
        return "".join(out).encode(errors="surrogateescape")


def parse(data: bytes) -> Manifest:
    """The documents of a file. What is wrong with one of them stands in it; the others are read."""
    # Bytes that are no UTF-8 survive in documents that are left alone.
    text = data.decode(errors="surrogateescape")
    parts: list[Document | str] = []
    if text.startswith(_BYTE_ORDER_MARK.decode()):
        parts.append(text[0])
        text = text[1:]
    chunk: list[str] = []
    line = first_line = 1
    for line_text in re.findall(r"[^\n]*\n|[^\n]+", text):
        if _ends_document(line_text):
            parts += _parse_chunk("".join(chunk), first_line)
            chunk, first_line = [], line + 1
            rest = line_text[3:].strip()
            if line_text.startswith("---") and rest and not rest.startswith("#"):
                # As kubectl says it.
                parts.append(Document(line, line_text, "yaml", error=f"invalid Yaml document separator: {rest}"))
            else:
                parts.append(line_text)
        else:
            chunk.append(line_text)
        line += 1
    parts += _parse_chunk("".join(chunk), first_line)
    return Manifest(tuple(parts))


def _ends_document(line_text: str) -> bool:
    return line_text.startswith(("---", "...")) and (len(line_text) == 3 or line_text[3] in " \t\r\n")


def _parse_chunk(text: str, line: int) -> Iterator[Document | str]:
    """What stands between two separators: as a rule one document, or nothing but comments and directives."""
    rows = text.split("\n")
    first_content = next(
        (i for i, line_text in enumerate(rows) if not is_comment(line_text) and not line_text.startswith("%")), None
    )
    if first_content is None:
        if text:
            yield text
        return
    first_line = line + first_content
    if rows[first_content].lstrip()[0] in "{[" and (values := _json_spans(text)):
        for start, end in values:
            yield _json_document(text[start:end], line + text.count("\n", 0, start))
        return
    try:
        value, repeated = yaml_codec.decode_strict(text.encode(errors="surrogateescape"))
    except APIError as error:
        yield Document(first_line, text, "yaml", error=_shift_line_numbers(error.message, line))
    else:
        yield Document(first_line, text, "yaml", value, error=_shift_line_numbers("; ".join(repeated), line))


def _shift_line_numbers(message: str, line: int) -> str:
    """A complaint with the lines that it names counted from the beginning of the file."""
    return re.sub(r"\bline (\d+)", lambda match: f"line {int(match[1]) + line - 1}", message)


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Where values of JSON begin and end, blanks around them included; nothing if the text is no JSON."""
    decoder, at, out = json.JSONDecoder(), 0, []
    try:
        while at < len(text):
            _, end = decoder.raw_decode(text, _skip_space(text, at))
            end = _skip_space(text, end)
            out.append((at, end))
            at = end
    except (ValueError, RecursionError):
        return []
    return out


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _json_document(text: str, line: int) -> Document:
    first_line = line + text.count("\n", 0, _skip_space(text, 0))
    body = text.encode(errors="surrogateescape")
    try:
        value = json_codec.decode(body)
    except json_codec.MalformedJSONError as error:
        return Document(first_line, text, "json", error=error.text)
    return Document(first_line, text, "json", value, error="; ".join(json_codec.duplicate_field_errors(body, value)))


def _encode_json_like(text: str, value: JsonObject) -> str:
    """A value as JSON, laid out as a text is: on one line or indented, with the same blanks around it."""
    body = text.strip()
    before, _, rest = text.partition(body)
    indent = re.search(r"\n([ \t]+)\S", body)
    if "\n" in body:
        out = json.dumps(value, indent=indent[1] if indent else 0, ensure_ascii=False)
    else:
        out = json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if '": ' in body else (",", ":"))
    try:
        exact = json_codec.encode(json_codec.decode(out.encode())) == json_codec.encode(value)
    except (json_codec.MalformedJSONError, UnicodeEncodeError):
        exact = False
    if not exact:
        raise UnwritableError("what was converted cannot be written as JSON")
    return before + (out.replace("\n", "\r\n") if "\r\n" in body else out) + rest


def read_stream(file: BinaryIO) -> bytes:
    """The bytes of a file or stream. Raises Unreadable."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ManifestReadError(f"more than {MAX_BYTES >> 20} MiB")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ManifestReadError("UTF-16: manifests are read as UTF-8")
    return data


def read_file(path: Path) -> bytes:
    """The bytes of a file. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            return read_stream(file)
    except OSError as error:
        raise ManifestReadError(error.strerror or str(error)) from None


def read_objects(paths: Iterable[Path]) -> Iterator[JsonObject]:
    """The objects in files and folders, those of Lists one by one. Raises ValueError that says where."""
    for path in find_files(paths):
        try:
            documents = parse(read_file(path)).documents
        except ManifestReadError as error:
            raise ValueError(f"{path}: {error}") from None
        for document in documents:
            if document.error:
                raise ValueError(f"{path}:{document.line}: {document.error}")
            value = document.value
            if isinstance(value, dict):
                listed = value.get("items") if str(value.get("kind", "")).endswith("List") else None
                yield from (item for item in listed if isinstance(item, dict)) if isinstance(listed, list) else (value,)


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that are named, and those of manifests in folders that are named; hidden ones are passed over.

    Raises Unreadable for a folder that cannot be searched.
    """
    yielded: set[Path] = set()
    for path in paths:
        for file in _walk_folder(path) if path.is_dir() else (path,):
            if file not in yielded:
                yielded.add(file)
                yield file


def _walk_folder(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder, onerror=_raise_walk_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix in SUFFIXES:
                yield Path(at, name)


def _raise_walk_error(error: OSError) -> None:
    raise ManifestReadError(f"{error.filename}: {error.strerror}") from error


def replace_file(path: Path, data: bytes) -> None:
    """Put other bytes into a file, whole or not at all; its mode is kept, and a link goes on to lead to it."""
    target = path.resolve(strict=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), target.stat().st_mode & 0o7777)
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
