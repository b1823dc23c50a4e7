"""Digests of everything that decides how a stored object is shown at its stored version."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import polykind
from polykind.apis.machinery.version_conversion import StoredKind
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.crd.summary import load_full
from polykind.crd.versions import version_schema

_DEPENDENCIES = ("msgspec", "orjson")


def schema_digests(crd: JsonObject) -> Mapping[str, str]:
    """Return a digest for each version of a CRD: of its schema, and of the code that prunes and defaults with it."""
    full = load_full(crd)
    spec = full["spec"]
    common = f"{code_digest()} {bool(spec.get('preserveUnknownFields'))} ".encode()
    return {
        entry["name"]: _digest(common + json_codec.encode(version_schema(full, entry["name"])))
        for entry in spec["versions"]
    }


def builtin_digests(stored_kind: StoredKind) -> Mapping[str, str]:
    """Return a digest for each version of a built-in kind. Only Polykind's code decides how an object is shown."""
    return {kind.version: code_digest() for kind in stored_kind.kinds.values()}


@cache
def code_digest() -> str:
    """Return a digest of Polykind's source code and of the versions of the libraries that encode objects.

    The version of Polykind would not do: it stays the same while a developer changes the code.
    """
    from importlib import metadata

    root = Path(polykind.__file__).parent
    parts = [sys.version, polykind.__version__, *(f"{name} {metadata.version(name)}" for name in _DEPENDENCIES)]
    sources = sorted((*root.rglob("*.py"), *root.rglob("*.types")))
    for path in sources:
        parts += (str(path.relative_to(root)), _digest(path.read_bytes()))
    if not sources:
        # This is an executable without source files.
        status = Path(sys.executable).stat()
        parts.append(f"{status.st_size} {status.st_mtime_ns}")
    return _digest("\n".join(parts).encode())


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
