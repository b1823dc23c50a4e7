"""Queues of a batch scheduler: three versions, quantities and weights."""

from __future__ import annotations

from polykind.convert import Conversions
from tests.toolkit.proving.bugs.family import NUMBER, TEXT, Family, Object, array, fields, mapping, rename, spec

GROUP = "queues.example.com"
V1 = {"spec": fields(cohort=TEXT, weight=NUMBER, quota=mapping(TEXT), checks=array(TEXT), strategy=TEXT)}
V2 = {"spec": fields(cohortName=TEXT, weight=NUMBER, quota=mapping(TEXT), checks=array(TEXT), strategy=TEXT)}
V3 = {
    "spec": fields(
        cohortName=TEXT,
        fairSharing=fields(weight=NUMBER),
        quota=mapping(TEXT),
        checks=array(fields(name=TEXT)),
        strategy=TEXT,
    )
}
V3["spec"]["properties"]["fairSharing"]["required"] = ["weight"]
V3["spec"]["properties"]["checks"]["items"]["required"] = ["name"]


def v1_to_v2(obj: Object) -> None:
    rename(spec(obj), "cohort", "cohortName")


def v2_to_v1(obj: Object) -> None:
    rename(spec(obj), "cohortName", "cohort")


def v2_to_v3(obj: Object) -> None:
    inner = spec(obj)
    if "weight" in inner:
        inner["fairSharing"] = {"weight": inner.pop("weight")}
    if "checks" in inner:
        inner["checks"] = [{"name": name} for name in inner["checks"]]


def v3_to_v2(obj: Object) -> None:
    inner = spec(obj)
    sharing = inner.pop("fairSharing", None) or {}
    if "weight" in sharing:
        inner["weight"] = sharing["weight"]
    if "checks" in inner:
        inner["checks"] = [check["name"] for check in inner["checks"] if "name" in check]


def chain(**changes: object) -> Conversions:
    functions: dict[str, object] = {
        "v1_v2": v1_to_v2,
        "v2_v1": v2_to_v1,
        "v2_v3": v2_to_v3,
        "v3_v2": v3_to_v2,
        **changes,
    }
    out = Conversions(f"Queue.{GROUP}")
    for name, function in functions.items():
        origin, _, goal = name.partition("_")
        out.add(origin, goal, function)  # type: ignore[arg-type]
    return out


FAMILY = Family(f"Queue.{GROUP}", {"v1": V1, "v2": V2, "v3": V3}, lambda obj: None, lambda obj: None)
FAMILY.correct = {"Queue as a chain": chain()}


def v1_to_v3(obj: Object) -> None:
    v1_to_v2(obj)
    v2_to_v3(obj)


def v3_to_v1(obj: Object) -> None:
    v3_to_v2(obj)
    v2_to_v1(obj)


@FAMILY.converter("hard")
def direct_path_doubles_the_weight() -> object:
    def up(obj: Object) -> None:
        v1_to_v3(obj)
        sharing = spec(obj).get("fairSharing")
        if sharing:
            sharing["weight"] *= 2

    def down(obj: Object) -> None:
        weight = (spec(obj).get("fairSharing") or {}).get("weight")
        v3_to_v1(obj)
        if weight is not None and weight % 2 == 0:
            obj["spec"]["weight"] = weight // 2

    return chain(v1_v3=up, v3_v1=down)


@FAMILY.converter("hard")
def direct_path_has_other_names_for_strategies() -> object:
    def exchange(obj: Object) -> None:
        names = {"StrictFIFO": "Strict", "Strict": "StrictFIFO"}
        if spec(obj).get("strategy") in names:
            obj["spec"]["strategy"] = names[obj["spec"]["strategy"]]

    def up(obj: Object) -> None:
        v1_to_v3(obj)
        exchange(obj)

    def down(obj: Object) -> None:
        v3_to_v1(obj)
        exchange(obj)

    return chain(v1_v3=up, v3_v1=down)


@FAMILY.converter("easy")
def middle_version_loses_the_cohort() -> object:
    def drop(obj: Object) -> None:
        spec(obj).pop("cohort", None)

    return chain(v1_v2=drop)


@FAMILY.converter("hard")
def weights_pass_through_floats() -> object:
    def divide(obj: Object) -> None:
        v2_to_v3(obj)
        sharing = spec(obj).get("fairSharing")
        if sharing:
            sharing["weight"] = int(float(sharing["weight"]))

    return chain(v2_v3=divide)


@FAMILY.converter("medium")
def weights_are_limited_to_32_bits() -> object:
    def limit(obj: Object) -> None:
        v2_to_v3(obj)
        sharing = spec(obj).get("fairSharing")
        if sharing:
            sharing["weight"] = min(sharing["weight"], 2**31 - 1)

    return chain(v2_v3=limit)


@FAMILY.converter("medium")
def default_weight_is_invented() -> object:
    def invent(obj: Object) -> None:
        v2_to_v3(obj)
        if "spec" in obj and "fairSharing" not in obj["spec"]:
            obj["spec"]["fairSharing"] = {"weight": 1}

    return chain(v2_v3=invent)


@FAMILY.converter("hard")
def qualified_resources_lose_their_domain() -> object:
    def shorten(obj: Object) -> None:
        v1_to_v2(obj)
        quota = spec(obj).get("quota")
        if quota:
            obj["spec"]["quota"] = {key.rpartition("/")[2]: value for key, value in quota.items()}

    return chain(v1_v2=shorten)


@FAMILY.converter("hard")
def whole_cores_lose_their_unit() -> object:
    """1000m becomes 1, which is equal as a quantity but not what the user wrote."""

    def canonical(obj: Object) -> None:
        v3_to_v2(obj)
        for key, value in (spec(obj).get("quota") or {}).items():
            if value.endswith("000m"):
                obj["spec"]["quota"][key] = value[:-4]

    return chain(v3_v2=canonical)
