"""Checks of a CRD change: a new release of a CRD against the old one, and the served versions of one CRD."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from polykind.contract import JsonObject
from polykind.crd.schema_walker import PRESERVE
from polykind.crd.versions import priority_sort
from polykind.evolution.change_finding import TRAPS, ChangeFinding, Severity
from polykind.evolution.field_checks import check_fields, check_versions_without_conversion
from polykind.evolution.schema_changes import Pointer, compare_schemas


def check_release(old: JsonObject, new: JsonObject) -> list[ChangeFinding]:
    """Return the findings about an update of a CRD, the most severe first. Both manifests are decoded v1 CRDs."""
    findings = [*_Release(old, new).findings()]
    known = {_identity(finding) for finding in check_versions(old)}
    findings += [
        replace(finding, severity=Severity.INFO, existed=True) if _identity(finding) in known else finding
        for finding in check_versions(new)
    ]
    return sort_findings(findings)


def check_versions(crd: JsonObject) -> list[ChangeFinding]:
    """Return the findings about the versions of one CRD among themselves, the most severe first."""
    return sort_findings(_check_versions(crd))


def sort_findings(findings: Iterable[ChangeFinding]) -> list[ChangeFinding]:
    """Return the findings, the most severe first, otherwise in their order."""
    return sorted(findings, key=lambda finding: -finding.severity)


def _identity(finding: ChangeFinding) -> tuple[str, str, str, str]:
    return finding.trap, finding.version, finding.path, finding.message


def _check_versions(crd: JsonObject) -> Iterator[ChangeFinding]:
    name = _name(crd)
    entries = _entries(crd)
    for version, (index, entry) in entries.items():
        if entry.get("deprecated") and entry.get("served") and not entry.get("deprecationWarning"):
            at = ("spec", "versions", index, "deprecated")
            yield _finding(name, "deprecated-without-warning", version, "", f"{version} is deprecated", at)
    storage = next((version for version, (_, entry) in entries.items() if entry.get("storage")), None)
    if storage is None:
        return
    webhook = _strategy(crd) == "Webhook"
    for version, (index, entry) in entries.items():
        if version == storage or not entry.get("served"):
            continue
        stored_at = _schema_place(entries[storage][0])
        served_at = _schema_place(index)
        if not webhook:
            yield from check_versions_without_conversion(
                name, storage, version, _schema(crd, storage), _schema(crd, version), stored_at, served_at
            )
        elif changes := sum(1 for _ in compare_schemas(_schema(crd, storage), _schema(crd, version))):
            message = f"the schemas of {storage} and {version} differ in {changes} places"
            yield _finding(name, "conversion-needed", f"{storage}, {version}", "", message, ("spec", "conversion"))


class _Release:
    """The comparison of two releases of a CRD."""

    def __init__(self, old: JsonObject, new: JsonObject) -> None:
        self.old, self.new = old, new
        self.name = _name(new)
        self.old_entries, self.new_entries = _entries(old), _entries(new)

    def findings(self) -> Iterator[ChangeFinding]:
        yield from self._names()
        yield from self._versions()
        yield from self._storage()
        yield from self._conversion()
        for version, (index, entry) in self.new_entries.items():
            if version not in self.old_entries:
                continue
            old_index, old_entry = self.old_entries[version]
            if not (old_entry.get("served") or old_entry.get("storage") or version in (_stored(self.old) or ())):
                continue
            yield from self._settings(version, old_entry, entry, index, old_index)
            yield from check_fields(
                self.name,
                version,
                _schema(self.old, version),
                _schema(self.new, version),
                _schema_place(index),
                _schema_place(old_index),
            )

    def _finding(
        self, trap: str, version: str, path: str, message: str, at: Pointer, *, in_old: bool = False
    ) -> ChangeFinding:
        return _finding(self.name, trap, version, path, message, at, in_old=in_old)

    def _names(self) -> Iterator[ChangeFinding]:
        old, new = self.old["spec"], self.new["spec"]
        for trap, path in (
            ("group-changed", "spec.group"),
            ("plural-changed", "spec.names.plural"),
            ("kind-changed", "spec.names.kind"),
            ("scope-changed", "spec.scope"),
        ):
            at = tuple(path.split("."))
            before, after = _get(self.old, at), _get(self.new, at)
            if before != after:
                yield self._finding(trap, "", path, f"{path} changed from {before} to {after}", at)
        yield from self._removed_names(old.get("names") or {}, new.get("names") or {})
        if old.get("preserveUnknownFields") and not new.get("preserveUnknownFields"):
            at = ("spec", "preserveUnknownFields")
            message = "spec.preserveUnknownFields changed from true to false"
            if not all(_schema(self.new, version).get(PRESERVE) for version in self.new_entries):
                yield self._finding("unknown-fields-pruned", "", "spec.preserveUnknownFields", message, at)

    def _removed_names(self, old_names: JsonObject, new_names: JsonObject) -> Iterator[ChangeFinding]:
        # The names that follow from the kind change with it.
        for key in ("singular", "listKind") if old_names.get("kind") == new_names.get("kind") else ():
            if old_names.get(key) and old_names.get(key) != new_names.get(key):
                message = f"spec.names.{key} changed from {old_names[key]} to {new_names.get(key)}"
                yield self._finding("name-removed", "", f"spec.names.{key}", message, ("spec", "names", key))
        for short in old_names.get("shortNames") or ():
            if short not in (new_names.get("shortNames") or ()):
                at = ("spec", "names", "shortNames")
                yield self._finding(
                    "name-removed", "", "spec.names.shortNames", f"the short name {short} was removed", at, in_old=True
                )

    def _removed_version(
        self, version: str, at: Pointer, entry: JsonObject, stored: Collection[str] | None
    ) -> Iterator[ChangeFinding]:
        """Yield the findings about a removed version. `stored` is None if the stored versions are not known."""
        if entry.get("served"):
            message = f"the served version {version} was removed{_undeprecated(entry)}"
            yield self._finding("version-removed", version, "spec.versions", message, at, in_old=True)
        if entry.get("storage") or version in (stored or ()):
            why = "is the storage version" if entry.get("storage") else "is in status.storedVersions"
            message = f"the version {version} was removed, but it {why} of the old CRD"
            yield self._finding("stored-version-removed", version, "spec.versions", message, at, in_old=True)
        elif stored is None:
            message = f"the version {version} was removed, and the file does not tell whether it was ever stored"
            yield self._finding("stored-versions-unknown", version, "spec.versions", message, at, in_old=True)

    def _versions(self) -> Iterator[ChangeFinding]:
        stored = _stored(self.old)
        for version, (index, entry) in self.old_entries.items():
            if version not in self.new_entries:
                yield from self._removed_version(version, ("spec", "versions", index, "name"), entry, stored)
                continue
            new_index, new_entry = self.new_entries[version]
            if entry.get("served") and not new_entry.get("served"):
                message = f"{version} is no longer served{_undeprecated(entry)}"
                place = ("spec", "versions", new_index, "served")
                yield self._finding("version-not-served", version, "spec.versions", message, place)
        preferred = [
            next(iter(priority_sort(name for name, (_, entry) in entries.items() if entry.get("served"))), "")
            for entries in (self.old_entries, self.new_entries)
        ]
        if all(preferred) and preferred[0] != preferred[1] and preferred[0] in self.new_entries:
            message = f"the preferred version changes from {preferred[0]} to {preferred[1]}"
            at = ("spec", "versions", self.new_entries[preferred[1]][0], "name")
            yield self._finding("preferred-version-changed", preferred[1], "spec.versions", message, at)

    def _storage(self) -> Iterator[ChangeFinding]:
        before, after = (
            next((name for name, (_, entry) in entries.items() if entry.get("storage")), "")
            for entries in (self.old_entries, self.new_entries)
        )
        if before == after or not after:
            return
        at = ("spec", "versions", self.new_entries[after][0], "storage")
        old_entry = self.old_entries.get(after)
        if old_entry is None:
            message = f"{after} is new and becomes the storage version in the same release"
            yield self._finding("storage-switched-too-early", after, "spec.versions", message, at)
        elif not old_entry[1].get("served"):
            message = f"{after} becomes the storage version, but the old CRD does not serve it"
            yield self._finding("storage-switched-too-early", after, "spec.versions", message, at)
        else:
            message = f"the storage version changes from {before} to {after}"
            yield self._finding("storage-switched", after, "spec.versions", message, at)

    def _conversion(self) -> Iterator[ChangeFinding]:
        before, after = _strategy(self.old), _strategy(self.new)
        if before != after and len(self.old_entries) > 1:
            message = f"conversion.strategy changed from {before} to {after}"
            yield self._finding("conversion-changed", "", "spec.conversion.strategy", message, ("spec", "conversion"))
        old_reviews, new_reviews = _review_versions(self.old), _review_versions(self.new)
        if gone := [version for version in old_reviews if version not in new_reviews and after == "Webhook"]:
            message = f"conversionReviewVersions no longer contains {', '.join(gone)}"
            at = ("spec", "conversion", "webhook", "conversionReviewVersions")
            yield self._finding("conversion-changed", "", ".".join(at), message, at)

    def _settings(
        self, version: str, old: JsonObject, new: JsonObject, index: int, old_index: int
    ) -> Iterator[ChangeFinding]:
        before, after = old.get("subresources") or {}, new.get("subresources") or {}
        at: Pointer = ("spec", "versions", index)
        old_at: Pointer = ("spec", "versions", old_index)
        if "status" in before and "status" not in after:
            place = (*old_at, "subresources", "status")
            message = f"{version} no longer has the status subresource"
            yield self._finding(
                "status-subresource-removed", version, "subresources.status", message, place, in_old=True
            )
        if "status" not in before and "status" in after:
            message = f"{version} has the status subresource now"
            place = (*at, "subresources", "status")
            yield self._finding("status-subresource-added", version, "subresources.status", message, place)
        if "scale" in before and before["scale"] != after.get("scale"):
            if "scale" in after:
                message = f"the paths of the scale subresource of {version} changed"
                place = (*at, "subresources", "scale")
                yield self._finding("scale-subresource-changed", version, "subresources.scale", message, place)
            else:
                message = f"{version} no longer has the scale subresource"
                place = (*old_at, "subresources", "scale")
                yield self._finding(
                    "scale-subresource-removed", version, "subresources.scale", message, place, in_old=True
                )
        remaining = {field.get("jsonPath") for field in new.get("selectableFields") or ()}
        for number, field in enumerate(old.get("selectableFields") or ()):
            if field.get("jsonPath") not in remaining:
                path = str(field.get("jsonPath")).lstrip(".")
                place = (*old_at, "selectableFields", number)
                message = f"{path} is no longer a selectable field of {version}"
                yield self._finding("selectable-field-removed", version, path, message, place, in_old=True)


def _finding(
    crd: str, trap: str, version: str, path: str, message: str, at: Pointer, *, in_old: bool = False
) -> ChangeFinding:
    return ChangeFinding(trap, TRAPS[trap].severity, crd, version, path, message, at, in_old)


def _undeprecated(entry: JsonObject) -> str:
    return "" if entry.get("deprecated") else ", without having been deprecated"


def _name(crd: JsonObject) -> str:
    return str((crd.get("metadata") or {}).get("name") or "")


def _entries(crd: JsonObject) -> dict[str, tuple[int, JsonObject]]:
    return {entry["name"]: (index, entry) for index, entry in enumerate(crd["spec"].get("versions") or ())}


def _schema_place(index: int) -> Pointer:
    return ("spec", "versions", index, "schema", "openAPIV3Schema")


def _schema(crd: JsonObject, version: str) -> JsonObject:
    entry = next(entry for entry in crd["spec"]["versions"] if entry["name"] == version)
    schema: JsonObject = (entry.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _stored(crd: JsonObject) -> list[str] | None:
    """Return status.storedVersions, or None if the manifest is not from a cluster."""
    status = crd.get("status") or {}
    if not status.get("conditions"):
        return None
    return list(status.get("storedVersions") or ())


def _strategy(crd: JsonObject) -> str:
    return str((crd["spec"].get("conversion") or {}).get("strategy") or "None")


def _review_versions(crd: JsonObject) -> list[str]:
    webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
    return list(webhook.get("conversionReviewVersions") or ())


def _get(value: Any, path: Pointer) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
