"""Generated objects that decide whether a change rejects values which were valid.

A changed pattern, CEL rule or combination of schemas may accept more or less than before, and its text does not tell.
Objects that are valid at the old schema and invalid at the new one prove that it accepts less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from polykind.contract import JsonObject, copy_json
from polykind.evolution.change_finding import ChangeFinding, Severity
from polykind.evolution.object_effects import VersionSchema
from polykind.toolkit.crd_versions import CRD, RejectedError
from polykind.toolkit.proving.choices import RandomChoices
from polykind.toolkit.proving.object_generator import ObjectGenerator

_OBJECTS = 150
"""The number of objects that are generated for each version with undecided findings."""


def decide(findings: Sequence[ChangeFinding], old: JsonObject, new: JsonObject) -> list[ChangeFinding]:
    """Return the findings. An undecided finding that a generated object confirms is breaking, and names the error."""
    versions = {finding.version for finding in findings if finding.undecided}
    if not versions:
        return list(findings)
    try:
        crd = CRD(old)
    except RejectedError:
        return list(findings)
    errors = {version: _errors(crd, version, new) for version in versions}
    out = []
    for finding in findings:
        message = (
            next((text for text in errors[finding.version] if _concerns(finding, text)), "")
            if (finding.undecided)
            else ""
        )
        if message:
            text = f"{finding.message}; for example, this was valid: {message}"
            finding = replace(finding, severity=Severity.BREAKING, undecided=False, message=text)
        out.append(finding)
    return out


def _errors(crd: CRD, version: str, new: JsonObject) -> list[str]:
    """Return the errors of objects that are valid at the old schema of a version, without repetitions."""
    entry = next((each for each in new["spec"]["versions"] if each["name"] == version), None)
    if entry is None or version not in crd.versions:
        return []
    schema = VersionSchema((entry.get("schema") or {}).get("openAPIV3Schema") or {})
    generator = ObjectGenerator(crd.versions[version])
    leaves = generator.leaf_nodes
    out: dict[str, None] = {}
    for number in range(_OBJECTS):
        targets = [leaves[number % len(leaves)]] if leaves else []
        # The numbers are not secret; the same change must give the same findings in every run.
        obj = generator.object(RandomChoices(Random(f"{version} {number}")), targets)  # noqa: S311
        if obj is not None:
            normalized, error = schema.normalize(copy_json(obj))
            out.update(dict.fromkeys([error] if error else schema.errors(normalized)))
    return list(out)


def _concerns(finding: ChangeFinding, message: str) -> bool:
    """True if a validation error is about the field of a finding."""
    field = message.partition(":")[0]
    plain = "".join(part.partition("]")[2] if index else part for index, part in enumerate(field.split("[")))
    wanted = finding.path.replace("[*]", "").replace(".*", "")
    return not wanted or plain == wanted or plain.startswith(f"{wanted}.") or field in ("", "<nil>")
