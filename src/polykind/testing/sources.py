"""Sources of objects for `ApiServer.apply`: files, folders, patterns, YAML and objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused
from polykind.toolkit.files import manifests

Source = str | os.PathLike[str] | Mapping[str, Any]
"""A file, a folder, a pattern such as `crds/*.yaml`, multi-line YAML, or an object."""

_APPLIED_FIRST = ("CustomResourceDefinition", "Namespace")


def read_sources(sources: Iterable[Source], root: Path) -> list[JsonObject]:
    """Return the objects of all sources, sorted so that CRDs and namespaces come first. Relative paths start at `root`.

    Raise Refused if a source cannot be read.
    """
    found: list[JsonObject] = []
    for source in sources:
        if isinstance(source, Mapping):
            found += _objects(dict(source), "the object")
        elif isinstance(source, str) and "\n" in source:
            found += _parse_documents(source.encode(), "the YAML")
        elif isinstance(source, str | os.PathLike):
            for file in find_files(source, root):
                found += _parse_documents(_read_file(file), str(file))
        else:
            raise Refused(f"{source!r} cannot be applied: it is not a path, YAML or an object")
    return sorted(found, key=lambda obj: obj["kind"] not in _APPLIED_FIRST)


def sources_key(sources: Iterable[Source], root: Path) -> list[Any]:
    """Return a key that changes if the result of `read_sources` would change, without parsing the sources.

    Raise Refused if a file is missing.
    """
    out: list[Any] = []
    for source in sources:
        if isinstance(source, str | os.PathLike) and "\n" not in os.fspath(source):
            found = [(file, file.stat()) for file in find_files(source, root)]
            out.append([(str(file), about.st_mtime_ns, about.st_size) for file, about in found])
        else:
            out.append(source)
    return out


def find_files(source: str | os.PathLike[str], root: Path) -> list[Path]:
    """Return the files that match a path or pattern. Raise Refused if no file matches."""
    path = root / source
    if path.exists():
        named = [path]
    else:
        text = os.fspath(source)
        anchor = Path(path.anchor) if Path(text).is_absolute() else root
        pattern = str(Path(text).relative_to(path.anchor)) if Path(text).is_absolute() else text
        named = sorted(anchor.glob(pattern)) if any(mark in text for mark in "*?[") else []
    found = list(manifests.find_files(named))
    if not found:
        problem = "has no .yaml, .yml or .json files" if path.exists() else "is not a file or folder"
        raise Refused(f"{source} {problem} (relative to {root})")
    return found


def _read_file(file: Path) -> bytes:
    try:
        return manifests.read_file(file)
    except manifests.ManifestReadError as error:
        raise Refused(f"{file}: {error}") from None


def _parse_documents(data: bytes, name: str) -> Iterator[JsonObject]:
    for document in manifests.parse(data).documents:
        where = f"{name}, line {document.line}"
        if document.error:
            raise Refused(f"{where}: {document.error}")
        if document.value is not None:
            yield from _objects(document.value, where)


def _objects(value: Any, where: str) -> Iterator[JsonObject]:
    """Yield the object `value`, or its items if it is a List, as printed by `kubectl get -o yaml`.

    Raise Refused, with `where` in the message, if the value is not a Kubernetes object.
    """
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")):
        raise Refused(f"{where} is not a Kubernetes object: it needs apiVersion and kind")
    items = value.get("items")
    if value["kind"].endswith("List") and isinstance(items, list):
        for item in items:
            yield from _objects(item, where)
    else:
        yield value
