"""Every rule passes its own proof, whatever the parents of its fields are: optional, required, nullable, nested, empty.

The schemas restrict values to those that both versions can represent, as real schemas do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.convert import (
    Conversions,
    absent_means,
    drop,
    duration,
    first,
    join,
    list_to_map,
    map_to_list,
    move,
    only,
    quantity,
    rename_values,
    split,
    unwrap,
    wrap,
)
from polykind.declare.field_rules import FieldRule
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.reporting.source_positions import SourcePosition

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "integer"}
PORT: JsonObject = {"type": "integer", "minimum": 0, "maximum": 9999}
HOST: JsonObject = {"type": "string", "pattern": "^[a-z]{1,5}$"}
ADDRESS: JsonObject = {"type": "string", "pattern": "^[a-z]{0,5}(:[0-9]{1,4})?$"}
DURATION: JsonObject = {"type": "string", "pattern": "^-?([0-9]{1,9}(.[0-9]{1,9})?(ns|us|µs|ms|s|m|h)){1,4}$"}
QUANTITY: JsonObject = {"type": "string", "pattern": "^-?[0-9]{1,30}(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"}
SMALL_QUANTITY: JsonObject = {
    "type": "string",
    "pattern": "^-?([0-9]{1,12}|[0-9]{1,15}m|[0-9]{1,18}u|[0-9]{1,21}n|[0-9]{1,9}k|[0-9]{1,6}M|[0-9]{1,3}G|1T)$",
}
ON: JsonObject = {"type": "string", "enum": ["On", "Off"]}
YES: JsonObject = {"type": "string", "enum": ["Yes", "No"]}


def obj(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties}


def listed(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def keyed(**properties: JsonObject) -> JsonObject:
    items = {**obj(name=TEXT, **properties), "required": ["name"]}
    return {**listed(items), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def mapped(values: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": values}


def defaulted(value: str) -> JsonObject:
    return {"type": "string", "default": value}


Rules = Callable[[str], FieldRule]
CASES: dict[str, tuple[dict[str, JsonObject], dict[str, JsonObject], Rules]] = {
    "move": ({"a": TEXT}, {"b": TEXT}, lambda p: move(f"{p}a", f"{p}b")),
    "move into a new object": ({"a": TEXT}, {"s": obj(a=TEXT)}, lambda p: move(f"{p}a", f"{p}s.a")),
    "move into an object": (
        {"a": TEXT, "s": obj(x=TEXT)},
        {"s": obj(a=TEXT, x=TEXT)},
        lambda p: move(f"{p}a", f"{p}s.a"),
    ),
    "rename_values": ({"a": ON}, {"a": YES}, lambda p: rename_values(f"{p}a", {"On": "Yes", "Off": "No"})),
    "first": ({"a": TEXT}, {"all": listed(TEXT)}, lambda p: first(f"{p}a", f"{p}all")),
    "only": ({"z": TEXT}, {"z": TEXT, "a": TEXT}, lambda p: only("v2", f"{p}a")),
    "only older": ({"z": TEXT, "a": TEXT}, {"z": TEXT}, lambda p: only("v1", f"{p}a")),
    "only with default": ({"z": TEXT}, {"z": TEXT, "a": defaulted("q")}, lambda p: only("v2", f"{p}a", default="q")),
    "only, an object": ({"z": TEXT}, {"z": TEXT, "s": obj(a=TEXT)}, lambda p: only("v2", f"{p}s")),
    "only in an object": ({"s": obj(x=TEXT)}, {"s": obj(x=TEXT, a=TEXT)}, lambda p: only("v2", f"{p}s.a")),
    "only in an object, with default": (
        {"s": obj(x=TEXT)},
        {"s": obj(x=TEXT, a=defaulted("q"))},
        lambda p: only("v2", f"{p}s.a", default="q"),
    ),
    "drop": ({"z": TEXT}, {"z": TEXT, "a": TEXT}, lambda p: drop("v2", f"{p}a", why="unused")),
    "drop older": ({"z": TEXT, "a": TEXT}, {"z": TEXT}, lambda p: drop("v1", f"{p}a", why="unused")),
    "drop in an object": (
        {"s": obj(x=TEXT)},
        {"s": obj(x=TEXT, a=TEXT)},
        lambda p: drop("v2", f"{p}s.a", why="unused"),
    ),
    "split": (
        {"a": ADDRESS},
        {"host": HOST, "port": PORT},
        lambda p: split(f"{p}a", f"{p}host", f"{p}port", separator=":", integers=[f"{p}port"]),
    ),
    "join": (
        {"host": HOST, "port": PORT},
        {"a": ADDRESS},
        lambda p: join(f"{p}host", f"{p}port", into=f"{p}a", separator=":", integers=[f"{p}port"], at="last"),
    ),
    "duration": ({"t": NUMBER}, {"d": DURATION}, lambda p: duration(f"{p}t", f"{p}d", units=("s", "text"))),
    "duration of numbers": ({"t": NUMBER}, {"t": NUMBER}, lambda p: duration(f"{p}t", f"{p}t", units=("s", "ms"))),
    "quantity": ({"m": NUMBER}, {"q": QUANTITY}, lambda p: quantity(f"{p}m", f"{p}q", units=("Mi", "text"))),
    "quantity of numbers": (
        {"q": SMALL_QUANTITY},
        {"n": {"type": "number", "minimum": -1e12, "maximum": 1e12}},
        lambda p: quantity(f"{p}q", f"{p}n", units=("text", "number")),
    ),
    "absent_means": ({"a": TEXT}, {"a": defaulted("B")}, lambda p: absent_means(f"{p}a", old="A")),
    "list_to_map": (
        {"l": keyed(port=NUMBER)},
        {"m": mapped(obj(port=NUMBER))},
        lambda p: list_to_map(f"{p}l", f"{p}m", key="name"),
    ),
    "map_to_list": (
        {"m": mapped(obj(port=NUMBER))},
        {"l": keyed(port=NUMBER)},
        lambda p: map_to_list(f"{p}m", f"{p}l", key="name"),
    ),
    "list_to_map of values": (
        {"env": keyed(value=TEXT)},
        {"env": mapped(TEXT)},
        lambda p: list_to_map(f"{p}env", f"{p}env", key="name", value="value"),
    ),
    "wrap": ({"i": TEXT}, {"i": obj(name=TEXT, tag=TEXT)}, lambda p: wrap(f"{p}i", f"{p}i.name")),
    "unwrap": ({"i": obj(name=TEXT, tag=TEXT)}, {"i": TEXT}, lambda p: unwrap(f"{p}i.name", f"{p}i")),
    "duration in a list": (
        {"jobs": listed(obj(t=NUMBER, n=TEXT))},
        {"jobs": listed(obj(d=DURATION, n=TEXT))},
        lambda p: duration(f"{p}jobs[*].t", f"{p}jobs[*].d", units=("s", "text")),
    ),
}
PARENTS = ("optional", "nullable", "nested")


def manifest(old: dict[str, JsonObject], new: dict[str, JsonObject], parents: str) -> JsonObject:
    def version(name: str, properties: dict[str, JsonObject]) -> JsonObject:
        spec = obj(**({"inner": obj(**properties), "other": TEXT} if parents == "nested" else properties))
        if parents == "nullable":
            spec["nullable"] = True
        root: JsonObject = {"type": "object", "properties": {"spec": spec}}
        if parents == "required":
            root["required"] = ["spec"]
        return {"name": name, "served": True, "storage": name == "v2", "schema": {"openAPIV3Schema": root}}

    webhook = {"clientConfig": {"url": "https://localhost/convert"}, "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tests.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "tests", "kind": "Test"},
            "versions": [version("v1", old), version("v2", new)],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def prove(rule: FieldRule, crd: JsonObject, examples: int = 12) -> list[str]:
    conversions = Conversions("Test.example.com")
    conversions.between("v1", "v2", rule)
    run = ProofRun(CRD(crd), Library("rules", conversions), examples=examples)
    out = [
        proof_report.failure(run, pair, finding)
        for name, pair in run.cases()
        if (finding := run.finding(name, pair)) is not None
    ]
    remarks = [*proof_report.stale_acknowledgements(run), *proof_report.unknown_paths(run)]
    return out + [remark.message for remark in remarks]


@pytest.mark.parametrize("parents", PARENTS)
@pytest.mark.parametrize("name", CASES)
def test_a_rule_passes_its_proof(name: str, parents: str) -> None:
    old, new, rule = CASES[name]
    prefix = "spec.inner." if parents == "nested" else "spec."
    failures = prove(rule(prefix), manifest(old, new, parents))
    assert not failures, "\n\n".join(failures)


def test_a_proof_names_a_path_that_no_schema_has() -> None:
    crd = manifest({"timeout": TEXT}, {"timeoutText": TEXT}, "optional")
    failures = prove(move("spec.timeout", "spec.timeoutTxt"), crd, examples=3)
    assert any("spec.timeoutTxt of v2" in each and "did you mean spec.timeoutText?" in each for each in failures)


def test_a_rule_that_fails_names_its_line() -> None:
    crd = manifest({"a": TEXT, "b": TEXT}, {"b": obj(a=TEXT)}, "optional")
    failures = prove(move("spec.a", "spec.b.a"), crd)
    place = f"raised at {SourcePosition(__file__)}:"
    assert any("never-fails" in each and place in each for each in failures)


def convert(rule: FieldRule, spec: Any, to: str, *more: tuple[str, Any]) -> Any:
    conversions = Conversions("Test.example.com")
    conversions.between("v1", "v2", rule)
    origin = "v1" if to == "v2" else "v2"
    given = {"apiVersion": f"example.com/{origin}", "kind": "Test", "metadata": {"name": "a"}, "spec": spec}
    out = conversions.convert(given, to)
    for field, value in more:
        out["spec"][field] = value
    return conversions.convert(out, origin)["spec"] if more else out["spec"]


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        (split("spec.a", "spec.h", "spec.p", separator=":", integers=["spec.p"]), {"a": "x:80"}, {"h": "x", "p": 80}),
        (split("spec.a", "spec.h", "spec.p", separator="/", at="last"), {"a": "x/y/z"}, {"h": "x/y", "p": "z"}),
        (split("spec.a", "spec.h", "spec.p", separator="/"), {"a": "x/y/z"}, {"h": "x", "p": "y/z"}),
        (join("spec.h", "spec.p", into="spec.a", separator="-"), {"h": "x", "p": "y"}, {"a": "x-y"}),
        (duration("spec.t", "spec.d", units=("s", "text")), {"t": 90}, {"d": "1m30s"}),
        (duration("spec.t", "spec.d", units=("text", "ms")), {"t": "1.5s"}, {"d": 1500}),
        (quantity("spec.m", "spec.q", units=("Mi", "text")), {"m": 1024}, {"q": "1Gi"}),
        (quantity("spec.m", "spec.q", units=("text", "number")), {"m": "500m"}, {"q": 0.5}),
        (quantity("spec.m", "spec.q", units=("m", "text")), {"m": 1500}, {"q": "1500m"}),
        (absent_means("spec.a", old="Always"), {}, {"a": "Always"}),
        (
            list_to_map("spec.l", "spec.m", key="name"),
            {"l": [{"name": "b", "x": 1}, {"name": "a"}]},
            {"m": {"b": {"x": 1}, "a": {}}},
        ),
        (wrap("spec.i", "spec.i.name"), {"i": "nginx"}, {"i": {"name": "nginx"}}),
        (unwrap("spec.i.name", "spec.i"), {"i": {"name": "nginx"}}, {"i": "nginx"}),
    ],
)
def test_values(rule: FieldRule, old: Any, new: Any) -> None:
    assert convert(rule, old, "v2") == new
    assert convert(rule, old, "v2", ("other", 1)) == {**old, "other": 1}


def test_the_spelling_comes_back_unless_the_value_was_edited() -> None:
    rule = duration("spec.t", "spec.d", units=("text", "s"))
    assert convert(rule, {"t": "90s"}, "v2", ("other", 1)) == {"t": "90s", "other": 1}
    assert convert(rule, {"t": "90s"}, "v2", ("d", 120)) == {"t": "2m0s"}


def test_the_order_of_a_list_survives_an_edit_of_the_map() -> None:
    rule = list_to_map("spec.l", "spec.m", key="name")
    given = {"l": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}
    assert convert(rule, given, "v2", ("m", {"a": {"x": 1}, "c": {}, "d": {}})) == {
        "l": [{"name": "c"}, {"name": "a", "x": 1}, {"name": "d"}]
    }


def test_other_fields_of_a_wrapped_value_survive_an_edit() -> None:
    rule = wrap("spec.i", "spec.i.name")
    assert convert(rule, {"i": {"name": "nginx", "tag": "1"}}, "v1", ("i", "httpd")) == {
        "i": {"name": "httpd", "tag": "1"}
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: split("spec.a", "spec.b", separator=":"), "at least two parts"),
        (lambda: split("spec.a", "spec.b", "spec.c", separator=":", at="middle"), "first or last"),
        (lambda: split("spec.a", "spec.b", "spec.c", separator=":", integers=["spec.d"]), "spec.d is not a part"),
        (lambda: duration("spec.a", "spec.b", units=("s", "days")), "'days' is not a unit"),
        (lambda: quantity("spec.a", "spec.b", units=("s", "text")), "'s' is not a unit"),
        (lambda: absent_means("spec.a"), "no rule is needed"),
        (lambda: list_to_map("spec.a", "spec.b", key=""), "name the field"),
        (lambda: wrap("spec.a", "spec"), "not a field of an object"),
        (lambda: duration("spec.a[*].b", "spec.c", units=("s", "ms")), "same lists"),
    ],
)
def test_invalid_rules_are_refused(make: Callable[[], FieldRule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_rules_remember_where_they_are_declared() -> None:
    one, two = move("spec.a", "spec.b"), wrap("spec.c", "spec.c.d")
    assert one.place.startswith(f"{__file__}:")
    assert two.place == one.place
    conversions = Conversions("Test.example.com")
    conversions.between("v1", "v2", one, two)
    assert {place for _, _, place in conversions.named_paths} == {one.place}
