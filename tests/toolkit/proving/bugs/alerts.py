"""Alert routing: booleans become enumerations, and strings become lists."""

from __future__ import annotations

from polykind.convert import put, take
from tests.toolkit.proving.bugs.family import FLAG, TEXT, Family, Object, array, fields, rename, spec

GROUP = "alerts.example.com"
MATCH = {"type": "string", "enum": ["=", "=~", "!=", "!~"]}
OLDER = {
    "spec": fields(
        receiver=TEXT,
        groupBy=array(TEXT),
        matchers=array(fields(name=TEXT, value=TEXT, regex=FLAG)),
        muteTimes=array(TEXT),
    )
}
NEWER = {
    "spec": fields(
        receiver=TEXT,
        groupBy=array(TEXT),
        matchers=array(fields(name=TEXT, value=TEXT, matchType=MATCH)),
        timeIntervals=array(TEXT),
    )
}


def down(obj: Object) -> None:
    inner = spec(obj)
    rename(inner, "timeIntervals", "muteTimes")
    types = [matcher.get("matchType") for matcher in inner.get("matchers") or []]
    for matcher in inner.get("matchers") or []:
        kind = matcher.pop("matchType", None)
        if kind in ("=~", "!~"):
            matcher["regex"] = True
        elif kind == "=":
            matcher["regex"] = False
    if any(kind in ("!=", "!~") for kind in types):
        put(obj, "types", types, beside=["spec.matchers"])


def up(obj: Object) -> None:
    types = take(obj, "types")
    inner = spec(obj)
    rename(inner, "muteTimes", "timeIntervals")
    for at, matcher in enumerate(inner.get("matchers") or []):
        regex = matcher.pop("regex", None)
        if types is not None:
            regex, kind = None, types[at]
            if kind is not None:
                matcher["matchType"] = kind
        if regex is not None:
            matcher["matchType"] = "=~" if regex else "="


FAMILY = Family(f"AlertRoute.{GROUP}", {"v1alpha1": OLDER, "v1beta1": NEWER}, down, up)


@FAMILY.after_down("easy")
def regex_is_always_false(obj: Object) -> None:
    for matcher in spec(obj).get("matchers") or []:
        if "regex" in matcher:
            matcher["regex"] = False


@FAMILY.converter("medium")
def negative_matches_become_positive() -> object:
    def keep(obj: Object) -> None:
        down(obj)
        take(obj, "types")

    return FAMILY.conversions(keep)


@FAMILY.after_up("hard")
def three_dots_group_by_all(obj: Object) -> None:
    if "..." in (spec(obj).get("groupBy") or []):
        obj["spec"]["groupBy"] = ["..."]


@FAMILY.after_down("medium")
def receivers_are_trimmed_to_their_name(obj: Object) -> None:
    if "/" in spec(obj).get("receiver", ""):
        obj["spec"]["receiver"] = obj["spec"]["receiver"].rpartition("/")[2]


@FAMILY.converter("hard")
def types_are_restored_after_any_edit() -> object:
    def keep(obj: Object) -> None:
        types = [matcher.get("matchType") for matcher in spec(obj).get("matchers") or []]
        down(obj)
        take(obj, "types")
        if types:
            put(obj, "types", types)

    def restore(obj: Object) -> None:
        types = take(obj, "types", [])
        up(obj)
        for matcher, kind in zip(spec(obj).get("matchers") or [], types, strict=False):
            if kind in ("!=", "!~") and "matchType" in matcher:
                matcher["matchType"] = kind

    return FAMILY.conversions(keep, restore)
