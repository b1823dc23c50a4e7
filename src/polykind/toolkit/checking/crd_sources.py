"""The CRDs to compare: in files, in folders with many CRDs, or at a Git revision such as `HEAD~1:crd.yaml`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from polykind import crd as crd_rules
from polykind.apis.apiextensions import crd_codec
from polykind.contract import JsonObject, copy_json
from polykind.errors import APIError, FieldError
from polykind.evolution.schema_changes import Pointer
from polykind.toolkit.files import manifests

_GIT_SECONDS = 30.0
_APIS: dict[str, Literal["v1", "v1beta1"]] = {
    "apiextensions.k8s.io/v1": "v1",
    "apiextensions.k8s.io/v1beta1": "v1beta1",
}


@dataclass
class CRDSource:
    """One CRD with its origin. `crd` is the decoded v1 CRD, with the status of the manifest."""

    crd: JsonObject
    api: Literal["v1", "v1beta1"]
    place: str
    """The file, or another name of the origin."""
    text: str = ""
    """The text of the file. Empty if the CRD does not come from a file."""

    @property
    def name(self) -> str:
        return str(self.crd["metadata"].get("name", ""))

    @property
    def kind(self) -> str:
        """The kind with its group, such as `CronTab.stable.example.com`."""
        return f"{self.crd['spec']['names']['kind']}.{self.crd['spec']['group']}"

    def line(self, pointer: Pointer) -> int:
        """Return the line of a field of the CRD, or of its closest parent. Return 0 if the CRD is not in a file."""
        return self._lines.nearest(pointer) if self.text else 0

    @cached_property
    def _lines(self) -> Any:
        from polykind.codec.yaml_lines import FieldLines, field_lines

        try:
            documents = field_lines(self.text)
        except ValueError:
            return FieldLines()
        return next((each for each in documents if each.scalar(("metadata", "name")) == self.name), FieldLines())


def read_sources(argument: str) -> dict[str, CRDSource]:
    """Return the CRDs of a file, a folder or a Git revision, by name.

    Raise ValueError if there are no CRDs, or if a document cannot be read.
    """
    path = Path(argument)
    if path.exists():
        files = [(str(file), _read(file)) for file in manifests.find_files([path])]
    elif ":" in argument:
        files = _read_revision(argument)
    else:
        raise ValueError(f"{argument}: no such file, folder or Git revision")
    out: dict[str, CRDSource] = {}
    for place, data in files:
        for source in parse_sources(place, data, strict=not path.is_dir()):
            if source.name in out:
                raise ValueError(f"{place}: {source.name} is defined twice, also in {out[source.name].place}")
            out[source.name] = source
    if not out:
        raise ValueError(f"{argument}: contains no CustomResourceDefinition")
    return out


def parse_sources(place: str, data: bytes, *, strict: bool = True) -> list[CRDSource]:
    """Return the CRDs in the content of a file. If `strict` is false, skip documents that are not YAML.

    Raise ValueError if a document or a CRD cannot be decoded.
    """
    text = data.decode(errors="replace")
    out = []
    for document in manifests.parse(data).documents:
        if document.error:
            if strict:
                raise ValueError(f"{place}:{document.line}: {document.error}")
            continue
        value = document.value
        if isinstance(value, dict) and value.get("kind") == "CustomResourceDefinition":
            out.append(decode_source(value, place, text))
    return out


def decode_source(manifest: JsonObject, place: str, text: str = "") -> CRDSource:
    """Decode a CRD manifest. Raise ValueError if it is not a CRD."""
    api = _APIS.get(str(manifest.get("apiVersion")))
    if api is None:
        raise ValueError(f"{place}: {manifest.get('apiVersion')} is not a version of CustomResourceDefinitions")
    try:
        crd, _ = crd_codec.decode(copy_json(manifest), api, False, validate=False)
    except APIError as error:
        raise ValueError(f"{place}: {error.message}") from None
    if not (crd["spec"].get("versions") and crd["metadata"].get("name")):
        raise ValueError(f"{place}: the CustomResourceDefinition has no name or no versions")
    return CRDSource(crd, api, place, text)


def rejection_errors(new: CRDSource, old: CRDSource | None) -> list[str]:
    """Return the errors with which the API server rejects the new CRD, as an update of the old one or as a create.

    Errors about stored versions are left out, because a check reports them with an explanation.
    """
    from polykind.cel import RuleCompiler

    crd = copy_json(new.crd)
    errors: list[FieldError]
    try:
        if old is None:
            crd_rules.prepare_create(crd)
            errors = crd_rules.validate_create(crd, new.api, rules=RuleCompiler())
        else:
            before = copy_json(old.crd)
            crd["metadata"].setdefault("resourceVersion", "1")
            crd_rules.prepare_update(crd, before)
            errors = crd_rules.validate_update(crd, before, new.api, rules=RuleCompiler())
    except APIError as error:
        return [error.message]
    return [str(error) for error in errors if not error.field.startswith(("status.storedVersions", "metadata."))]


def _read(file: Path) -> bytes:
    try:
        return manifests.read_file(file)
    except manifests.ManifestReadError as error:
        raise ValueError(f"{file}: {error}") from None


def _read_revision(argument: str) -> list[tuple[str, bytes]]:
    """Return the files that `revision:path` names in the Git repository of the working directory."""
    revision, _, path = argument.partition(":")
    if revision.startswith("-"):
        raise ValueError(f"{argument}: not a Git revision")
    kind = _git(argument, "cat-file", "-t", argument).strip()
    if kind == b"blob":
        return [(argument, _git(argument, "cat-file", "blob", argument))]
    # A tree: list the files below it.
    folder = path.rstrip("/")
    listed = _git(argument, "ls-tree", "-r", "-z", "--name-only", "--full-tree", revision, "--", folder or ".")
    names = [name for name in listed.decode().split("\0") if Path(name).suffix in manifests.SUFFIXES]
    return [(f"{revision}:{name}", _git(argument, "cat-file", "blob", f"{revision}:{name}")) for name in names]


def _git(argument: str, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], capture_output=True, timeout=_GIT_SECONDS, check=False)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"{argument}: no such file, and Git cannot be run: {error}") from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise ValueError(f"{argument}: no such file, and not a Git revision: {message}")
    return done.stdout
