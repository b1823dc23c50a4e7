"""The names of a definition: their syntax, and who gets which where several of a group want the same."""

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
    """The names asked for: all are needed, and well-formed."""
    missing = [
        required(f"spec.names.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)
    ]
    return missing + validate_names(names, "spec.names")


def validate_names(names: JsonObject, path: str) -> list[FieldError]:
    """What is wrong with the syntax of names that are given."""
    errors: list[FieldError] = []
    for key in ("plural", "singular", "kind", "listKind"):
        name = names.get(key)
        if not name:
            continue
        kind = key in ("kind", "listKind")
        whys = dns1035_label(name.lower() if kind else name)
        if whys:
            errors.append(invalid(f"{path}.{key}", name, f"{_MIXED_CASE if kind else ''}{','.join(whys)}"))
    errors += _list_problems(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors + _list_problems(names.get("categories"), f"{path}.categories")


def _list_problems(names: list[str] | None, path: str) -> list[FieldError]:
    found = ((index, name, dns1035_label(name)) for index, name in enumerate(names or ()))
    return [invalid(f"{path}[{index}]", name, ",".join(whys)) for index, name, whys in found if whys]


def accept_names(crd: JsonObject, others: Iterable[JsonObject] | AcceptedNames, now: str) -> JsonObject:
    """The definition's next status: names that no other of its group holds are accepted, and it is established.

    `others` may be all definitions, those of other groups included; what counts of them is what they were accepted.
    Who keeps account of the names that are taken, this definition's included, gives that.
    """
    return establish(crd, _named(crd, others, now), now)


def establish(crd: JsonObject, status: JsonObject, now: str) -> JsonObject:
    """The status once the accepted names are served; a webhook's certificates must be readable first."""
    if _is_true(status, ESTABLISHED) or not _is_true(status, NAMES_ACCEPTED):
        return status
    if has_invalid_ca_bundle(crd["spec"]):
        reason, message = "InvalidCABundle", "The conversion webhook CABundle is invalid"
        return conditions.set_condition(status, condition(ESTABLISHED, "False", reason, message), now)
    message = "the initial names have been accepted"
    return conditions.set_condition(status, condition(ESTABLISHED, "True", "InitialNamesAccepted", message), now)


def _is_true(status: JsonObject, type_: str) -> bool:
    found = find_condition(status, type_)
    return found is not None and found["status"] == "True"


def _named(crd: JsonObject, others: Iterable[JsonObject] | AcceptedNames, now: str) -> JsonObject:
    wanted, status = crd["spec"]["names"], crd["status"]
    had = status["acceptedNames"]
    if wanted == had:
        return dict(status)
    taken = others if isinstance(others, AcceptedNames) else AcceptedNames([crd, *others])
    accepted, verdict = _decide(wanted, had, taken.names_in(crd["spec"]["group"]))
    if accepted == had and equivalent(verdict, find_condition(status, NAMES_ACCEPTED)):
        return dict(status)
    established = find_condition(status, ESTABLISHED) or condition(
        ESTABLISHED, "False", "NotAccepted", "not all names are accepted"
    )
    if established["status"] != "True" and verdict["status"] == "True":
        message = "the initial names have been accepted"
        established = condition(ESTABLISHED, "False", "Installing", message)
    status = conditions.set_condition({**status, "acceptedNames": accepted}, verdict, now)
    return conditions.set_condition(status, established, now)


class GroupNames(NamedTuple):
    """The names that the definitions of one group hold, and how often each."""

    resources: Counter[str]
    kinds: Counter[str]


class AcceptedNames:
    """The names that definitions hold, by their groups."""

    def __init__(self, crds: Iterable[JsonObject] = ()) -> None:
        self._groups: dict[str, GroupNames] = {}
        for crd in crds:
            self.add(crd)

    def names_in(self, group: str) -> GroupNames:
        return self._groups.get(group) or GroupNames(Counter(), Counter())

    def add(self, crd: JsonObject) -> None:
        held = self._groups.setdefault(crd["spec"]["group"], GroupNames(Counter(), Counter()))
        for count, names in zip(held, _accepted(crd), strict=True):
            for name in names:
                count[name] += 1

    def remove(self, crd: JsonObject) -> None:
        """Forget what a definition held when it was added."""
        group = crd["spec"]["group"]
        held = self._groups[group]
        for count, names in zip(held, _accepted(crd), strict=True):
            for name in names:
                count[name] -= 1
                if not count[name]:
                    del count[name]
        if not held.kinds:
            del self._groups[group]


def _accepted(crd: JsonObject) -> tuple[list[str], list[str]]:
    names = (crd.get("status") or {}).get("acceptedNames") or {}
    resources = [names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())]
    return resources, [names.get("kind", ""), names.get("listKind", "")]


def _decide(wanted: JsonObject, had: JsonObject, taken: GroupNames) -> tuple[JsonObject, JsonObject]:
    """Each name is accepted by itself; of several conflicts the last is told."""
    accepted = dict(had)
    verdict = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    checks = (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    )
    for key, reason, used in checks:
        if key == "shortNames":
            mine = had.get(key) or ()
            clashes = [name for name in wanted.get(key) or () if name not in mine and name and name in used]
        else:
            name = wanted.get(key, "")
            clashes = [name] if name != had.get(key, "") and name in used else []
        if clashes:
            verdict = condition(NAMES_ACCEPTED, "False", reason, _in_use(clashes))
        else:
            accepted[key] = wanted.get(key)
    accepted["categories"] = wanted.get("categories")
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {key: accepted[key] for key in order if accepted.get(key) or key in ("plural", "kind")}, verdict


def _in_use(names: list[str]) -> str:
    texts = list(dict.fromkeys(f"{go_quote(name)} is already in use" for name in names))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
