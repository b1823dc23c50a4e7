"""Manifest files: YAML or JSON documents and the text between them.

If some documents of a file are replaced, all other documents stay the same byte for byte. Like kubectl, the parser
splits YAML at `---` lines, and also accepts concatenated JSON values.
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
"""The maximum size of a manifest file in bytes."""
MAX_DEPTH = 900
"""The maximum number of nested mappings and sequences in YAML. Python's recursion limit is 1,000."""

SUFFIXES = frozenset((".yaml", ".yml", ".json"))

_BYTE_ORDER_MARK = "\N{BYTE ORDER MARK}".encode()
_SPACE = re.compile(r"\s*")


class ManifestReadError(ValueError):
    """A manifest file cannot be read. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file, with its comments. `line` is the first line of the content, counted from 1."""

    line: int
    text: str
    format: Literal["yaml", "json"]
    value: Any = None
    error: str = ""
    """The parse error, or an empty string if the document is valid."""

    def replace(self, value: JsonObject) -> str:
        """Return the text of the document after its value has been replaced by `value`, in the same format.

        Raise UnwritableError if the format cannot represent the value.
        """
        if self.format == "json":
            return _encode_json_like(self.text, value)
        if "\r\n" in self.text:
            return rewrite_document(self.text.replace("\r\n", "\n"), self.value, value).replace("\n", "\r\n")
        return rewrite_document(self.text, self.value, value)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a file in order: documents, and the text between them, such as separators."""

    parts: tuple[Document | str, ...]

    @property
    def documents(self) -> list[Document]:
        return [part for part in self.parts if isinstance(part, Document)]

    def replace(self, values: Mapping[int, JsonObject]) -> bytes:
        """Return the file's text with new values for some documents, by index.

        Raise UnwritableError if the file's format cannot represent a value.
        """
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
    """Parse a file into documents. A document that cannot be parsed has an `error`."""
    # `surrogateescape` keeps bytes that are not UTF-8, so unchanged documents stay byte for byte the same.
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
                # This is kubectl's error message.
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
    """Parse the text between two separators: usually one document, or only comments and directives."""
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
        value, _, repeated = yaml_codec.decode_strict(text.encode(errors="surrogateescape"), MAX_DEPTH)
    except APIError as error:
        yield Document(first_line, text, "yaml", error=_shift_line_numbers(error.message, line))
    else:
        yield Document(first_line, text, "yaml", value, error=_shift_line_numbers("; ".join(repeated), line))


def _shift_line_numbers(message: str, line: int) -> str:
    """Return a parser's message with its line numbers counted from the start of the file."""
    return re.sub(r"\bline (\d+)", lambda match: f"line {int(match[1]) + line - 1}", message)


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each value in a text of concatenated JSON values, including surrounding space.

    Return an empty list if the text is not JSON.
    """
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
    """Encode a value as JSON in the layout of an existing text: one line or indented, same surrounding space."""
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
        raise UnwritableError("the converted object cannot be written as JSON")
    return before + (out.replace("\n", "\r\n") if "\r\n" in body else out) + rest


def read_stream(file: BinaryIO) -> bytes:
    """Read a stream. Raise ManifestReadError if its content is too large or is UTF-16."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ManifestReadError(f"the file is larger than {MAX_BYTES >> 20} MiB")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ManifestReadError("the file is UTF-16: convert it to UTF-8")
    return data


def read_file(path: Path) -> bytes:
    """Read a file. Raise ManifestReadError if the file cannot be read, is too large or is UTF-16."""
    try:
        with path.open("rb") as file:
            return read_stream(file)
    except OSError as error:
        raise ManifestReadError(error.strerror or str(error)) from None


def read_objects(paths: Iterable[Path]) -> Iterator[JsonObject]:
    """Yield the objects in files and folders, including the items of Lists.

    Raise ValueError with the file and line of the first document that cannot be read.
    """
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


def find_files(paths: Iterable[Path], suffixes: frozenset[str] = SUFFIXES) -> Iterator[Path]:
    """Yield the given files, and the files with one of the suffixes in the given folders.

    Hidden files and folders are skipped.

    Raise ManifestReadError for a folder that cannot be read.
    """
    yielded: set[Path] = set()
    for path in paths:
        for file in _walk_folder(path, suffixes) if path.is_dir() else (path,):
            if file not in yielded:
                yielded.add(file)
                yield file


def _walk_folder(folder: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    for at, folders, names in os.walk(folder, onerror=_raise_walk_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix in suffixes:
                yield Path(at, name)


def _raise_walk_error(error: OSError) -> None:
    raise ManifestReadError(f"{error.filename}: {error.strerror}") from error


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file's content atomically. The file mode and a symlink to the file are kept."""
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
