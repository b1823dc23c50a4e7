"""Routes of a service mesh: lists of objects whose items change their shape."""

from __future__ import annotations

import copy
import json

from polykind.convert import put, take
from tests.toolkit.proving.bugs.family import (
    NUMBER,
    TEXT,
    Family,
    Object,
    array,
    drop_empty_annotations,
    fields,
    mapping,
    notes_of,
    rename,
    spec,
)

GROUP = "mesh.example.com"
OLDER = {
    "spec": fields(
        hosts=array(TEXT),
        rules=array(fields(name=TEXT, service=TEXT, port=NUMBER, timeoutSeconds=NUMBER, headers=mapping(TEXT))),
    )
}
NEWER = {
    "spec": fields(
        hostnames=array(TEXT),
        rules=array(
            fields(
                name=TEXT,
                backend=fields(name=TEXT, port=NUMBER),
                timeoutSeconds=NUMBER,
                headers=mapping(TEXT),
                retries=NUMBER,
            )
        ),
    )
}


def down(obj: Object) -> None:
    """Stash the newer rules as a whole. An edit of the rules wins."""
    inner = spec(obj)
    rename(inner, "hostnames", "hosts")
    if inner.get("rules") is None:
        return
    newer = copy.deepcopy(inner["rules"])
    for rule in inner["rules"]:
        backend = rule.pop("backend", None) or {}
        rename(backend, "name", "service")
        rule.update(backend)
        rule.pop("retries", None)
    put(obj, "rules", newer, beside=["spec.rules"])


def up(obj: Object) -> None:
    stashed = take(obj, "rules")
    inner = spec(obj)
    rename(inner, "hosts", "hostnames")
    for rule in inner.get("rules") or []:
        backend = {new: rule.pop(old) for old, new in (("service", "name"), ("port", "port")) if old in rule}
        if backend:
            rule["backend"] = backend
    if stashed is not None and "rules" in inner:
        inner["rules"] = stashed


FAMILY = Family(f"Route.{GROUP}", {"v1alpha3": OLDER, "v1": NEWER}, down, up)


def plain_down(obj: Object) -> list[object]:
    """Convert without a stash. Return the retries of all rules."""
    inner = spec(obj)
    rename(inner, "hostnames", "hosts")
    retries = []
    for rule in inner.get("rules") or []:
        retries.append(rule.pop("retries", None))
        if "backend" in rule:
            backend = rule.pop("backend")
            rename(backend, "name", "service")
            rule.update(backend)
    return retries


@FAMILY.converter("hard")
def retries_are_stashed_by_index() -> object:
    def keep(obj: Object) -> None:
        empty = [at for at, rule in enumerate(spec(obj).get("rules") or []) if rule.get("backend") == {}]
        retries = plain_down(obj)
        if any(value is not None for value in retries):
            put(obj, "retries", retries)
        if empty:
            put(obj, "empty", empty, beside=["spec.rules"])

    def restore(obj: Object) -> None:
        retries, empty = take(obj, "retries", []), take(obj, "empty", [])
        up(obj)
        for rule, value in zip(spec(obj).get("rules") or [], retries, strict=False):
            if value is not None:
                rule["retries"] = value
        for at in empty:
            spec(obj)["rules"][at].setdefault("backend", {})

    return FAMILY.conversions(keep, restore)


@FAMILY.converter("hard")
def stash_by_name_of_the_rule() -> object:
    """Two rules may have the same name, or none."""
    key = f"{GROUP}/retries"

    def keep(obj: Object) -> None:
        rules = spec(obj).get("rules") or []
        stash = {str(rule.get("name")): rule["retries"] for rule in rules if "retries" in rule}
        plain_down(obj)
        if stash:
            notes_of(obj)[key] = json.dumps(stash)

    def restore(obj: Object) -> None:
        stash = json.loads(((obj.get("metadata") or {}).get("annotations") or {}).pop(key, "{}"))
        drop_empty_annotations(obj)
        up(obj)
        for rule in spec(obj).get("rules") or []:
            if str(rule.get("name")) in stash:
                rule["retries"] = stash[str(rule.get("name"))]

    return FAMILY.conversions(keep, restore)


@FAMILY.after_down("hard")
def keeps_at_most_eight_hosts(obj: Object) -> None:
    if len(spec(obj).get("hosts") or []) > 8:
        del obj["spec"]["hosts"][8:]


@FAMILY.after_down("medium")
def sorts_hosts(obj: Object) -> None:
    if "hosts" in spec(obj):
        obj["spec"]["hosts"].sort()


@FAMILY.after_down("medium")
def removes_duplicate_hosts(obj: Object) -> None:
    if "hosts" in spec(obj):
        obj["spec"]["hosts"] = list(dict.fromkeys(obj["spec"]["hosts"]))


@FAMILY.after_up("easy")
def swaps_hosts(obj: Object) -> None:
    if "hostnames" in spec(obj):
        obj["spec"]["hostnames"].reverse()


@FAMILY.before_down("easy")
def needs_a_backend(obj: Object) -> None:
    for rule in spec(obj).get("rules") or []:
        rule["backend"]["name"] = rule["backend"]["name"]


@FAMILY.converter("medium")
def any_edit_removes_retries() -> object:
    """The stash is valid only as long as nothing else in the object changes."""
    key = f"{GROUP}/v1"

    def keep(obj: Object) -> None:
        rules = copy.deepcopy(spec(obj).get("rules"))
        plain_down(obj)
        if rules is not None:
            notes_of(obj)[key] = json.dumps([rules, obj["spec"]])

    def restore(obj: Object) -> None:
        text = ((obj.get("metadata") or {}).get("annotations") or {}).pop(key, None)
        drop_empty_annotations(obj)
        rules, older = json.loads(text) if text is not None else (None, None)
        untouched = older == obj.get("spec")
        up(obj)
        if rules is not None and untouched:
            obj["spec"]["rules"] = rules

    return FAMILY.conversions(keep, restore)


@FAMILY.after_down("hard")
def folds_header_names(obj: Object) -> None:
    for rule in spec(obj).get("rules") or []:
        headers = rule.get("headers")
        if headers and len({key.lower() for key in headers}) < len(headers):
            rule["headers"] = {key.lower(): value for key, value in headers.items()}


@FAMILY.after_down("hard")
def stash_is_appended(obj: Object) -> None:
    history = notes_of(obj)
    history[f"{GROUP}/converted"] = history.get(f"{GROUP}/converted", "") + "v1;"
