"""Seeded traps and harmless changes of a CRD."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.evolution.change_finding import TRAPS, Severity
from polykind.evolution.crd_checks import check_release, check_versions
from tests.evolution.crds import Change, add_version, changed, decoded, fields, manifest, spec_of, webhook


def _set(path: str, value: Any) -> Change:
    """Return a change that sets keyword of a spec field: `replicas.maximum`."""
    name, _, keyword = path.partition(".")

    def change(crd: JsonObject) -> None:
        fields(crd)[name][keyword] = value

    return change


def _drop(path: str) -> Change:
    name, _, keyword = path.partition(".")

    def change(crd: JsonObject) -> None:
        target = fields(crd)[name] if keyword else fields(crd)
        del target[keyword or name]

    return change


def _version(**settings: Any) -> Change:
    return lambda crd: crd["spec"]["versions"][0].update(settings)


def _without_subresource(name: str) -> Change:
    return lambda crd: crd["spec"]["versions"][0]["subresources"].pop(name)


def _new_required(crd: JsonObject) -> None:
    fields(crd)["timeZone"] = {"type": "string"}
    spec_of(crd)["required"].append("timeZone")


def _second_version_with_field(crd: JsonObject) -> None:
    entry = add_version(crd)
    entry["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["timeZone"] = {"type": "string"}


def _second_version_behind_a_webhook(crd: JsonObject) -> None:
    _second_version_with_field(crd)
    crd["spec"]["conversion"] = webhook()


TRAPPED: dict[str, tuple[Change, str, str]] = {
    "new required field": (_new_required, "required-added", "spec.timeZone"),
    "required": (lambda crd: spec_of(crd)["required"].append("host"), "required-added", "spec.host"),
    "removed field": (_drop("note"), "field-removed", "spec.note"),
    "removed item field": (
        lambda crd: fields(crd)["jobs"]["items"]["properties"].pop("command"),
        "field-removed",
        "spec.jobs[*].command",
    ),
    "map removed": (_drop("labels.additionalProperties"), "field-removed", "spec.labels.*"),
    "type": (_set("host.type", "integer"), "type-changed", "spec.host"),
    "narrowed enum": (_set("mode.enum", ["On", "Auto"]), "enum-narrowed", "spec.mode"),
    "new enum": (_set("host.enum", ["a"]), "enum-narrowed", "spec.host"),
    "maximum": (_set("replicas.maximum", 50), "limit-narrowed", "spec.replicas"),
    "minimum": (_set("replicas.minimum", 1), "limit-narrowed", "spec.replicas"),
    "new length": (_set("host.maxLength", 63), "limit-narrowed", "spec.host"),
    "exclusive maximum": (_set("replicas.exclusiveMaximum", True), "limit-narrowed", "spec.replicas"),
    "multiple": (_set("replicas.multipleOf", 2), "limit-narrowed", "spec.replicas"),
    "max items": (_set("tags.maxItems", 5), "limit-narrowed", "spec.tags"),
    "new pattern": (_set("host.pattern", "^[a-z]+$"), "pattern-added", "spec.host"),
    "changed pattern": (_set("schedule.pattern", "^[^ ]+( [^ ]+){5}$"), "pattern-changed", "spec.schedule"),
    "new format": (_set("host.format", "ipv4"), "format-added", "spec.host"),
    "default": (_set("mode.default", "On"), "default-changed", "spec.mode"),
    "default removed": (_drop("mode.default"), "default-removed", "spec.mode"),
    "default added": (_set("host.default", "localhost"), "default-added", "spec.host"),
    "null": (_drop("note.nullable"), "nullable-removed", "spec.note"),
    "list type": (_set("tags.x-kubernetes-list-type", "atomic"), "list-type-changed", "spec.tags"),
    "list keys": (
        lambda crd: (
            fields(crd)["jobs"].update({"x-kubernetes-list-map-keys": ["name", "command"]}),
            fields(crd)["jobs"]["items"].update(required=["name", "command"]),
        ),
        "list-keys-changed",
        "spec.jobs",
    ),
    "map type": (_set("labels.x-kubernetes-map-type", "atomic"), "map-type-changed", "spec.labels"),
    "preserve": (_drop("extra.x-kubernetes-preserve-unknown-fields"), "preserve-unknown-removed", "spec.extra"),
    "int or string": (
        lambda crd: fields(crd).update(port={"type": "integer"}),
        "int-or-string-removed",
        "spec.port",
    ),
    "embedded": (_set("extra.x-kubernetes-embedded-resource", True), "embedded-resource-added", "spec.extra"),
    "rule": (
        lambda crd: spec_of(crd)["x-kubernetes-validations"].append({"rule": "self.replicas > 0"}),
        "rule-added",
        "spec",
    ),
    "stricter rule": (
        lambda crd: spec_of(crd).update({"x-kubernetes-validations": [{"rule": "self.schedule.size() > 9"}]}),
        "rule-changed",
        "spec",
    ),
    "transition rule": (
        lambda crd: fields(crd)["host"].update({"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}),
        "rule-for-updates-added",
        "spec.host",
    ),
    "alternatives": (
        lambda crd: spec_of(crd).update(oneOf=[{"required": ["host"]}, {"required": ["port"]}]),
        "combination-changed",
        "spec",
    ),
    "scope": (lambda crd: crd["spec"].update(scope="Cluster"), "scope-changed", "spec.scope"),
    "kind": (lambda crd: crd["spec"]["names"].update(kind="Cron"), "kind-changed", "spec.names.kind"),
    "short name": (lambda crd: crd["spec"]["names"].pop("shortNames"), "name-removed", "spec.names.shortNames"),
    "status": (_without_subresource("status"), "status-subresource-removed", "subresources.status"),
    "scale": (_without_subresource("scale"), "scale-subresource-removed", "subresources.scale"),
    "selectable": (_version(selectableFields=[]), "selectable-field-removed", "spec.host"),
    "storage and version": (lambda crd: add_version(crd, storage=True), "storage-switched-too-early", "spec.versions"),
    "no conversion": (_second_version_with_field, "conversion-missing", "spec.timeZone"),
    "deprecated": (_version(deprecated=True), "deprecated-without-warning", ""),
}

HARMLESS: dict[str, Change] = {
    "optional field": lambda crd: fields(crd).update(timeZone={"type": "string"}),
    "field with default": lambda crd: fields(crd).update(timeZone={"type": "string", "default": "UTC"}),
    "required field with default": lambda crd: (
        fields(crd).update(timeZone={"type": "string", "default": "UTC"}),
        spec_of(crd)["required"].append("timeZone"),
    ),
    "object with required fields": lambda crd: fields(crd).update(
        window={"type": "object", "required": ["start"], "properties": {"start": {"type": "string"}}}
    ),
    "wider enum": _set("mode.enum", ["On", "Off", "Auto", "Never"]),
    "reordered enum": _set("mode.enum", ["Off", "Auto", "On"]),
    "wider range": _set("replicas.maximum", 1000),
    "no range": _drop("replicas.maximum"),
    "wider length": _set("schedule.maxLength", 200),
    "no pattern": _drop("schedule.pattern"),
    "optional": lambda crd: spec_of(crd).pop("required"),
    "description": _set("host.description", "The host."),
    "printer column": _version(additionalPrinterColumns=[]),
    "same version again": lambda crd: add_version(crd),
    "version behind a webhook": _second_version_behind_a_webhook,
    "rule for a new field": lambda crd: (
        fields(crd).update(timeZone={"type": "string"}),
        spec_of(crd)["x-kubernetes-validations"].append({"rule": "!has(self.timeZone) || self.timeZone != ''"}),
    ),
    "rule removed": lambda crd: spec_of(crd).pop("x-kubernetes-validations"),
    "nullable": _set("host.nullable", True),
    "int64": _set("replicas.format", "int64"),
    "short name": lambda crd: crd["spec"]["names"]["shortNames"].append("cts"),
    "selectable field": lambda crd: crd["spec"]["versions"][0]["selectableFields"].append({"jsonPath": ".spec.mode"}),
    "explicit default of the list type": lambda crd: fields(crd).update(
        new={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}
    ),
}


@pytest.mark.parametrize("name", TRAPPED)
def test_finds_a_trap(name: str) -> None:
    change, trap, path = TRAPPED[name]
    findings = check_release(decoded(manifest()), decoded(changed(change)))
    assert (trap, path) in [(finding.trap, finding.path) for finding in findings]
    finding = next(each for each in findings if each.trap == trap and each.path == path)
    assert finding.severity == TRAPS[trap].severity
    assert finding.meaning
    assert finding.advice
    others = [each for each in findings if each.severity > Severity.INFO and each.path not in (path, "spec.versions")]
    assert not [each for each in others if not each.path.startswith(path)], others


@pytest.mark.parametrize("name", HARMLESS)
def test_flags_no_harmless_change(name: str) -> None:
    findings = check_release(decoded(manifest()), decoded(changed(HARMLESS[name])))
    assert [each for each in findings if each.severity > Severity.INFO] == []


def test_a_pointer_leads_to_the_place_in_the_manifest() -> None:
    new = changed(_set("replicas.maximum", 50))
    (finding,) = check_release(decoded(manifest()), decoded(new))
    value: Any = new
    for step in finding.pointer:
        value = value[step]
    assert value == 50


def test_a_removed_field_points_into_the_old_manifest() -> None:
    (finding,) = check_release(decoded(manifest()), decoded(changed(_drop("note"))))
    assert finding.in_old
    assert finding.pointer[-2:] == ("properties", "note")


def _two_versions(**status: Any) -> JsonObject:
    out = changed(lambda crd: add_version(crd, storage=True))
    if status:
        out["status"] = {
            "conditions": [{"type": "Established", "status": "True"}],
            "acceptedNames": {"plural": "crontabs", "kind": "CronTab"},
            **status,
        }
    return out


def _remove_first(crd: JsonObject) -> None:
    del crd["spec"]["versions"][0]


@pytest.mark.parametrize(
    ("old", "traps"),
    [
        (_two_versions(), ["version-removed", "stored-versions-unknown"]),
        (_two_versions(storedVersions=["v2"]), ["version-removed"]),
        (_two_versions(storedVersions=["v1", "v2"]), ["version-removed", "stored-version-removed"]),
    ],
)
def test_a_removed_version(old: JsonObject, traps: list[str]) -> None:
    findings = check_release(decoded(old), decoded(changed(_remove_first, old)))
    assert sorted(finding.trap for finding in findings if finding.severity) == sorted(traps)


def test_a_version_that_is_no_longer_served() -> None:
    old = _two_versions()
    findings = check_release(decoded(old), decoded(changed(_version(served=False), old)))
    assert [finding.trap for finding in findings] == ["version-not-served"]
    assert "without having been deprecated" in findings[0].message


def test_a_storage_switch_to_a_version_that_was_served_is_no_danger() -> None:
    old = changed(lambda crd: add_version(crd))

    def switch(crd: JsonObject) -> None:
        crd["spec"]["versions"][0]["storage"], crd["spec"]["versions"][1]["storage"] = False, True

    assert [each.trap for each in check_release(decoded(old), decoded(changed(switch, old)))] == ["storage-switched"]


def test_an_old_problem_is_only_mentioned() -> None:
    old = changed(_second_version_with_field)
    (finding,) = check_release(decoded(old), decoded(old))
    assert finding.existed
    assert finding.severity is Severity.INFO


def test_versions_without_a_webhook() -> None:
    def change(crd: JsonObject) -> None:
        properties = add_version(crd)["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        del properties["host"]
        properties["replicas"]["type"] = "string"
        properties["mode"]["default"] = "On"

    findings = check_versions(decoded(changed(change)))
    assert {(finding.trap, finding.path) for finding in findings} >= {
        ("conversion-missing", "spec.host"),
        ("conversion-missing", "spec.replicas"),
        ("versions-disagree", "spec.mode"),
    }
    assert not check_versions(decoded(manifest()))


def test_pruning_of_unknown_fields() -> None:
    old = decoded(manifest())
    old["spec"]["preserveUnknownFields"] = True
    findings = check_release(old, decoded(manifest()))
    assert [finding.trap for finding in findings] == ["unknown-fields-pruned"]


def test_ratcheting_is_explained() -> None:
    (finding,) = check_release(decoded(manifest()), decoded(changed(_set("replicas.maximum", 50))))
    assert "ratcheting" in finding.meaning
