"""The names of a CRD: their syntax, and conflicts with accepted names of other CRDs in the same group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.crd import conditions
from polykind.crd.ca_bundle import has_invalid_ca_bundle
from polykind.crd.conditions import ESTABLISHED, NAMES_ACCEPTED, condition, equivalent, find_condition
from polykind.errors import FieldError, invalid, required
from polykind.golang.fmt import go_quote
from polykind.names import dns1035_label

_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate_spec_names(names: JsonObject) -> list[FieldError]:
    """Validate spec.names. Plural, singular, kind and listKind are required."""
    missing = [
        required(f"spec.names.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)
    ]
    return missing + validate_names(names, "spec.names")


def validate_names(names: JsonObject, path: str) -> list[FieldError]:
    """Validate the syntax of all names in spec.names or status.acceptedNames. Empty names are not checked."""
    errors: list[FieldError] = []
    for key in ("plural", "singular", "kind", "listKind"):
        name = names.get(key)
        if not name:
            continue
        kind = key in ("kind", "listKind")
        messages = dns1035_label(name.lower() if kind else name)
        if messages:
            errors.append(invalid(f"{path}.{key}", name, f"{_MIXED_CASE if kind else ''}{','.join(messages)}"))
    errors += _validate_name_list(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors + _validate_name_list(names.get("categories"), f"{path}.categories")


def _validate_name_list(names: list[str] | None, path: str) -> list[FieldError]:
    checked = ((index, name, dns1035_label(name)) for index, name in enumerate(names or ()))
    return [invalid(f"{path}[{index}]", name, ",".join(messages)) for index, name, messages in checked if messages]


def accept_names(crd: JsonObject, others: Iterable[JsonObject] | AcceptedNames, now: str) -> JsonObject:
    """Return the CRD's status after its names are accepted and the CRD is established.

    A name is accepted if no other CRD in the group has it as an accepted name. `others` are other CRDs of any group, or
    an AcceptedNames that a caller maintains for all CRDs including this one.
    """
    return establish(crd, _accept_names(crd, others, now), now)


def establish(crd: JsonObject, status: JsonObject, now: str) -> JsonObject:
    """Return the status with the condition Established if all names are accepted.

    The condition's status is False if the CA bundle of the conversion webhook is invalid.
    """
    current = {"status": status}
    if conditions.is_true(current, ESTABLISHED) or not conditions.is_true(current, NAMES_ACCEPTED):
        return status
    if has_invalid_ca_bundle(crd["spec"]):
        reason, message = "InvalidCABundle", "The conversion webhook CABundle is invalid"
        return conditions.set_condition(status, condition(ESTABLISHED, "False", reason, message), now)
    message = "the initial names have been accepted"
    return conditions.set_condition(status, condition(ESTABLISHED, "True", "InitialNamesAccepted", message), now)


def _accept_names(crd: JsonObject, others: Iterable[JsonObject] | AcceptedNames, now: str) -> JsonObject:
    requested, status = crd["spec"]["names"], crd["status"]
    accepted_before = status["acceptedNames"]
    if requested == accepted_before:
        return dict(status)
    accepted_names = others if isinstance(others, AcceptedNames) else AcceptedNames([crd, *others])
    accepted, names_condition = _resolve_conflicts(
        requested, accepted_before, accepted_names.names_in(crd["spec"]["group"])
    )
    if accepted == accepted_before and equivalent(names_condition, find_condition(status, NAMES_ACCEPTED)):
        return dict(status)
    established = find_condition(status, ESTABLISHED) or condition(
        ESTABLISHED, "False", "NotAccepted", "not all names are accepted"
    )
    if established["status"] != "True" and names_condition["status"] == "True":
        message = "the initial names have been accepted"
        established = condition(ESTABLISHED, "False", "Installing", message)
    status = conditions.set_condition({**status, "acceptedNames": accepted}, names_condition, now)
    return conditions.set_condition(status, established, now)


class GroupNames(NamedTuple):
    """The accepted names of the CRDs in one group, each with the number of CRDs for which it is accepted."""

    resources: Counter[str]
    kinds: Counter[str]


class AcceptedNames:
    """The accepted names of all CRDs by group."""

    def __init__(self, crds: Iterable[JsonObject] = ()) -> None:
        self._groups: dict[str, GroupNames] = {}
        for crd in crds:
            self.add(crd)

    def names_in(self, group: str) -> GroupNames:
        """Return the accepted names of a group."""
        return self._groups.get(group) or GroupNames(Counter(), Counter())

    def add(self, crd: JsonObject) -> None:
        """Add the accepted names of a CRD."""
        group_names = self._groups.setdefault(crd["spec"]["group"], GroupNames(Counter(), Counter()))
        for count, names in zip(group_names, _accepted_names_of(crd), strict=True):
            for name in names:
                count[name] += 1

    def remove(self, crd: JsonObject) -> None:
        """Remove the accepted names of a CRD. They must be the same names as when the CRD was added."""
        group = crd["spec"]["group"]
        group_names = self._groups[group]
        for count, names in zip(group_names, _accepted_names_of(crd), strict=True):
            for name in names:
                count[name] -= 1
                if not count[name]:
                    del count[name]
        if not group_names.kinds:
            del self._groups[group]


def _accepted_names_of(crd: JsonObject) -> tuple[list[str], list[str]]:
    names = (crd.get("status") or {}).get("acceptedNames") or {}
    resources = [names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())]
    return resources, [names.get("kind", ""), names.get("listKind", "")]


def _resolve_conflicts(
    requested: JsonObject, accepted_before: JsonObject, accepted_names: GroupNames
) -> tuple[JsonObject, JsonObject]:
    """Return the accepted names and the condition NamesAccepted. The condition reports only the last of several
    conflicts.
    """
    accepted = dict(accepted_before)
    names_condition = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    checks = (
        ("plural", "PluralConflict", accepted_names.resources),
        ("singular", "SingularConflict", accepted_names.resources),
        ("shortNames", "ShortNamesConflict", accepted_names.resources),
        ("kind", "KindConflict", accepted_names.kinds),
        ("listKind", "ListKindConflict", accepted_names.kinds),
    )
    for key, reason, held in checks:
        if key == "shortNames":
            own = accepted_before.get(key) or ()
            conflicts = [name for name in requested.get(key) or () if name not in own and name and name in held]
        else:
            name = requested.get(key, "")
            conflicts = [name] if name != accepted_before.get(key, "") and name in held else []
        if conflicts:
            names_condition = condition(NAMES_ACCEPTED, "False", reason, _in_use_message(conflicts))
        else:
            accepted[key] = requested.get(key)
    accepted["categories"] = requested.get("categories")
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {key: accepted[key] for key in order if accepted.get(key) or key in ("plural", "kind")}, names_condition


def _in_use_message(names: list[str]) -> str:
    messages = list(dict.fromkeys(f"{go_quote(name)} is already in use" for name in names))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
