"""Regression samples: objects that once broke a property. A run tries them before it generates objects.

Each finding is a YAML file with two documents: the property with its pair of versions and edit, and the object. The
file can also be passed as a sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.files import manifests
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.object_diff import MISSING
from polykind.toolkit.proving.progress import VersionPair

FOLDER = Path(".polykind") / "regressions"
"""The default folder, below the working directory."""
_KIND = "Regression"
_MAX_SAMPLES = 200


class SavedEdit(NamedTuple):
    """An edit of the converted object, or, if `later` is true, of the returned object."""

    path: tuple[str | int, ...]
    operation: str
    argument: Any
    later: bool


class RegressionSample(NamedTuple):
    """An object that broke a property for a pair of versions."""

    property: str
    pair: VersionPair
    obj: JsonObject
    edit: SavedEdit | None = None


def save(folder: Path, crd: CRD, findings: Iterable[tuple[VersionPair, Finding]]) -> list[Path]:
    """Write a file for each finding. Return the files that are new. Raise OSError if a file cannot be written."""
    out = []
    for pair, finding in findings:
        head: JsonObject = {"kind": _KIND, "property": finding.property, "pair": ":".join(pair)}
        edit = finding.edit
        if edit is not None:
            later = finding.property == "edit-after-round-trip"
            head["edit"] = {"path": list(edit.path), "operation": edit.operation, "later": later}
            if edit.argument is not MISSING:
                head["edit"]["value"] = edit.argument
        text = yaml_codec.encode_ordered(head) + b"---\n" + yaml_codec.encode_ordered(finding.obj)
        digest = hashlib.sha256(orjson.dumps([head, finding.obj], option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]
        file = folder / crd.name / f"{finding.property}-{pair[0]}-{pair[1]}-{digest}.yaml"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
            out.append(file)
    return out


def load(folder: Path, crd: CRD) -> list[RegressionSample]:
    """Return the saved samples of a CRD. Skip files that are invalid or do not match the CRD any more."""
    out = []
    files = sorted((folder / crd.name).glob("*.yaml"))[:_MAX_SAMPLES] if (folder / crd.name).is_dir() else []
    for file in files:
        try:
            head, obj = (document.value for document in manifests.parse(file.read_bytes()).documents)
            origin, _, goal = head["pair"].partition(":")
            known = head["kind"] == _KIND and origin in crd.versions and goal in crd.versions
            if known and isinstance(obj, dict) and obj.get("apiVersion") == crd.versions[origin].api_version:
                out.append(RegressionSample(head["property"], (origin, goal), obj, _edit(head.get("edit"))))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return out


def _edit(saved: Any) -> SavedEdit | None:
    if saved is None:
        return None
    path = tuple(saved["path"])
    return SavedEdit(path, str(saved["operation"]), saved.get("value", MISSING), bool(saved["later"]))
