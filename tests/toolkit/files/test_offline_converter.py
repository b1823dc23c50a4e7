"""Offline conversion, by the functions alone and with the API server's rules."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from polykind.convert import ConversionError, Conversions, put, take
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.files.normalization import LAST_APPLIED
from polykind.toolkit.files.offline_converter import ConvertedDocument, OfflineConverter
from tests.toolkit.crds import GROUP, HOST, HOSTS, crd_manifest

crontabs = Conversions(f"CronTab.{GROUP}")


@crontabs.step("v1", "v2", loses={"spec.debug": "nobody used it"})
def up(obj: Any) -> None:
    spec = obj.get("spec", {})
    hosts = take(obj, "hosts")
    host = spec.pop("host", None)
    spec.pop("debug", None)
    if host == "bad":
        raise ValueError("no such host")
    if hosts is not None or host is not None:
        spec["hosts"] = hosts if hosts is not None else [host]


@crontabs.step("v2", "v1")
def down(obj: Any) -> None:
    hosts = obj.get("spec", {}).pop("hosts", None)
    if hosts:
        obj["spec"]["host"] = hosts[0]
        put(obj, "hosts", hosts, beside=["spec.host"])


def library(converter: Any = crontabs) -> Library:
    return Library("m:o", converter)


def crontab(spec: Any = None, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "CronTab",
        "metadata": {"name": "c", **metadata},
        "spec": {"host": "a"} if spec is None else spec,
    }


def converted(obj: Any, *crds: Any, to: str = "v2", by: Any = crontabs, **options: Any) -> ConvertedDocument:
    found = [CRD(crd) for crd in crds]
    return OfflineConverter(library(by), to, found, **options).document(obj)


def test_without_crd_only_the_functions_convert() -> None:
    before = crontab({"host": "a", "unknown": 1})
    out = converted(before)
    assert out.value == crontab({"unknown": 1, "hosts": ["a"]}, "v2")
    assert out.changes == ["CronTab c: v1 to v2"]
    assert out.warnings == []
    assert before == crontab({"host": "a", "unknown": 1})


def test_current_and_foreign_objects_are_unchanged() -> None:
    current, other, text = crontab({}, "v2"), {"apiVersion": "v1", "kind": "Pod"}, "text"
    assert converted(current) == ConvertedDocument(current, current=1)
    assert converted(other) == ConvertedDocument(other)
    assert converted(text).value == "text"


@pytest.mark.parametrize(("to", "changes"), [(f"{GROUP}/v2", 1), ("other.example.com/v2", 0)])
def test_group_limits_the_converted_kinds(to: str, changes: int) -> None:
    assert len(converted(crontab(), to=to).changes) == changes


def test_object_without_metadata_stays_without() -> None:
    bare = {"apiVersion": f"{GROUP}/v1", "kind": "CronTab", "spec": {"host": "a"}}
    wanted = {"apiVersion": f"{GROUP}/v2", "kind": "CronTab", "spec": {"hosts": ["a"]}}
    assert converted(bare).value == wanted
    assert converted(bare, crd_manifest(HOST, HOSTS)).value == wanted


def test_only_labels_and_annotations_of_metadata_change() -> None:
    def convert(obj: Any, to: str) -> Any:
        obj["metadata"] = {"name": "c", "labels": {"new": "1"}, "generation": 9}
        return obj

    managed = [{"manager": "m", "operation": "Update", "apiVersion": f"{GROUP}/v1"}]
    out = converted(crontab(uid="", resourceVersion="7", managedFields=managed), to=f"{GROUP}/v2", by=convert)
    assert out.value["metadata"] == {
        "name": "c",
        "uid": "",
        "resourceVersion": "7",
        "managedFields": managed,
        "labels": {"new": "1"},
    }


def test_list_items_are_converted() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [crontab(), {"kind": "Pod"}, crontab({}, "v2"), 7]}
    out = converted(listed)
    assert out.value["items"] == [crontab({"hosts": ["a"]}, "v2"), {"kind": "Pod"}, crontab({}, "v2"), 7]
    assert (len(out.changes), out.current) == (1, 1)


def test_typed_list_is_converted_with_its_items() -> None:
    listed = {"apiVersion": f"{GROUP}/v1", "kind": "CronTabList", "metadata": {}, "items": [{"spec": {"host": "a"}}]}
    out = converted(listed)
    assert out.value == {**listed, "apiVersion": f"{GROUP}/v2", "items": [{"spec": {"hosts": ["a"]}}]}
    assert converted({**listed, "items": []}).value["apiVersion"] == f"{GROUP}/v2"


def test_failing_list_item_is_named() -> None:
    with pytest.raises(ConversionError, match=r"^items\[1\]: CronTab c cannot be converted from v1 to v2: ValueError"):
        converted({"apiVersion": "v1", "kind": "List", "items": [crontab(), crontab({"host": "bad"})]})


def test_kind_that_ends_in_list_is_not_a_list() -> None:
    lists = Conversions(f"AllowList.{GROUP}")
    lists.add("v1", "v2", lambda obj: obj.update(names=obj.pop("items")))
    out = converted({"apiVersion": f"{GROUP}/v1", "kind": "AllowList", "items": ["a"]}, by=lists)
    assert out.value == {"apiVersion": f"{GROUP}/v2", "kind": "AllowList", "names": ["a"]}


def test_losses_of_an_object_are_warnings() -> None:
    assert converted(crontab({"debug": True})).warnings == ["spec.debug: lost in v2: nobody used it"]


def test_strategic_merge_patch_is_rejected() -> None:
    with pytest.raises(
        ConversionError, match=r"it is a strategic merge patch \(\$patch\); only whole objects can be converted"
    ):
        converted(crontab({"jobs": [{"$patch": "delete"}]}))


def test_deeply_nested_object_is_rejected() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(ConversionError, match="nested too deeply"):
        converted(crontab({"deep": deep}))
    while deep:
        deep = deep["a"]


def test_equal_defaults_are_not_written() -> None:
    out = converted(crontab(), crd_manifest(HOST, HOSTS))
    assert out.value["spec"] == {"hosts": ["a"]}
    assert out.warnings == []


def test_all_defaults_are_written_on_request() -> None:
    assert converted(crontab(), crd_manifest(HOST, HOSTS), defaults=True).value["spec"] == {"hosts": ["a"], "port": 80}


def test_differing_default_is_written_out() -> None:
    properties: Any = HOSTS["properties"]
    other = {**HOSTS, "properties": {**properties, "port": {"type": "integer", "default": 443}}}
    out = converted(crontab(), crd_manifest(HOST, other))
    assert out.value["spec"] == {"hosts": ["a"], "port": 80}
    assert out.warnings == ["spec.port: written out, because the defaults of v2 differ from those of v1"]
    message = converted(crontab({"host": "a", "port": 443}), crd_manifest(HOST, other))
    assert (message.value["spec"], message.warnings) == ({"port": 443, "hosts": ["a"]}, [])


def test_functions_that_rely_on_defaults_get_them() -> None:
    counting = Conversions(f"CronTab.{GROUP}")
    counting.add("v1", "v2", lambda obj: obj["spec"].update(port=obj["spec"]["port"] + 1))
    out = converted(crontab({}), crd_manifest(HOST, HOSTS), by=counting)
    assert out.value["spec"] == {"port": 81}


def test_unknown_fields_are_dropped_with_a_warning() -> None:
    def convert(obj: Any, to: str) -> Any:
        obj["spec"]["invented"] = 1
        return obj

    out = converted(crontab({"port": 1, "unknown": 1}, odd=1), crd_manifest(HOST, HOSTS), by=convert)
    assert out.value == crontab({"port": 1}, "v2")
    assert out.warnings == [
        "metadata.odd: not in the schema of v1, dropped",
        "spec.unknown: not in the schema of v1, dropped",
        "spec.invented: written by the converter, not in the schema of v2, dropped",
    ]


def test_unserved_version_is_a_warning() -> None:
    crd = crd_manifest(HOST, HOSTS)
    crd["spec"]["versions"][1]["served"] = False
    assert converted(crontab(), crd).warnings == ["v2 is not served: the API server does not accept it yet"]


def test_object_rejected_only_by_the_target_version_fails() -> None:
    with pytest.raises(ConversionError, match=r"v2 rejects the result: spec\.port: Invalid value: 0: "):
        converted(crontab({"port": 0}), crd_manifest(HOST, HOSTS))


def test_cel_rules_of_the_target_version_apply() -> None:
    emptying = Conversions(f"CronTab.{GROUP}")
    emptying.add("v1", "v2", lambda obj: obj["spec"].update(hosts=[]))
    with pytest.raises(ConversionError, match="hosts is empty"):
        converted(crontab({}), crd_manifest(HOST, HOSTS), by=emptying)


def test_object_rejected_by_both_versions_is_a_warning() -> None:
    needs: list[Any] = [{**schema, "required": ["port", "name"]} for schema in (HOST, HOSTS)]
    for schema in needs:
        schema["properties"] = {**schema["properties"], "name": {"type": "string"}}
    out = converted(crontab(), crd_manifest(*needs))
    assert out.value["spec"] == {"hosts": ["a"]}
    assert out.warnings == ["rejected by v1 and by v2: spec.name: Required value"]


def test_unknown_versions_are_named() -> None:
    more = Conversions(f"CronTab.{GROUP}")
    more.add("v1", "v3", up)
    more.add("v0", "v1", up)
    with pytest.raises(ConversionError, match=f"crontabs.{GROUP} has no version v3, only v1, v2"):
        converted(crontab(), crd_manifest(HOST, HOSTS), by=more, to="v3")
    with pytest.raises(ConversionError, match=f"CronTab of {GROUP}/v0 is not a CronTab.{GROUP} of v1, v2"):
        converted(crontab(version="v0"), crd_manifest(HOST, HOSTS), by=more, to="v1")


@pytest.mark.parametrize("crds", [[], [crd_manifest(HOST, HOSTS)]])
def test_last_applied_annotation_is_converted(crds: list[Any]) -> None:
    noted = {**crontab(), "metadata": {"name": "c", "annotations": {}}}
    out = converted(crontab(annotations={LAST_APPLIED: json.dumps(noted) + "\n"}), *crds)
    text = out.value["metadata"]["annotations"][LAST_APPLIED]
    assert text.endswith("}\n")
    assert json.loads(text)["apiVersion"] == f"{GROUP}/v2"
    assert json.loads(text)["spec"] == {"hosts": ["a"]}


@pytest.mark.parametrize("text", ["{", '{"kind": "Pod"}', json.dumps(crontab({"host": "bad"}))])
def test_unconvertible_last_applied_annotation_is_dropped(text: str) -> None:
    out = converted(crontab(annotations={LAST_APPLIED: text, "a": "b"}))
    assert out.value["metadata"]["annotations"] == {"a": "b"}
    assert out.warnings[0].startswith(f"the annotation {LAST_APPLIED} cannot be converted and is dropped: ")


def test_stash_survives_defaulting() -> None:
    crd = crd_manifest(HOST, HOSTS)
    old = converted(crontab({"hosts": ["a", "b"]}, "v2"), crd, to="v1").value
    assert old["spec"] == {"host": "a"}
    assert converted(old, crd).value == crontab({"hosts": ["a", "b"]}, "v2")


async def asynchronous(obj: Any, to: str) -> Any:
    return obj


@pytest.mark.parametrize(
    ("converter", "to", "message"),
    [
        (lambda obj, to: obj, "v2", r"m:o converts every kind: select kinds with a group"),
        (asynchronous, f"{GROUP}/v2", "an async function cannot convert files"),
        (crontabs, "v7", "--to v7: no step of --converter m:o leads there, only to v1, v2"),
        (crontabs, f"{GROUP}/", "must be a version such as v2"),
    ],
)
def test_ambiguous_arguments_are_rejected(converter: Any, to: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OfflineConverter(library(converter), to)


def test_function_that_calls_sys_exit_fails_its_object() -> None:
    with pytest.raises(ConversionError, match=f"CronTab c cannot be converted to {GROUP}/v2: SystemExit: 3"):
        converted(crontab(), to=f"{GROUP}/v2", by=lambda obj, to: sys.exit(3))


def test_catch_all_function_converts_only_kinds_of_crds() -> None:
    offline = OfflineConverter(library(lambda obj, to: obj), "v2", [CRD(crd_manifest(HOST, HOSTS))])
    assert offline.applies_to(GROUP, "CronTab")
    assert not offline.applies_to("apps", "Deployment")
    assert offline.groups == {GROUP}


def test_crds_do_not_limit_a_converter_with_handles() -> None:
    class Choosy:
        def handles(self, group: str, kind: str) -> bool:
            return group == GROUP

        def convert(self, obj: Any, to: str) -> Any:
            return obj

    offline = OfflineConverter(library(Choosy()), "v2", [CRD(crd_manifest(HOST, HOSTS))])
    assert offline.applies_to(GROUP, "Other")
    assert offline.groups == set()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "the converter returned NoneType, not an object"),
        (
            {"apiVersion": f"{GROUP}/v2", "kind": "CronTab", "metadata": {"name": "d"}},
            "must have the same name: c != d",
        ),
        ({"apiVersion": f"{GROUP}/v3", "kind": "CronTab", "metadata": {"name": "c"}}, "invalid groupVersion"),
        (
            {"apiVersion": f"{GROUP}/v2", "metadata": {"name": "c"}, "kind": object()},
            "returned a value that is not JSON",
        ),
    ],
)
def test_result_that_the_api_server_rejects_fails(returned: Any, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        converted(crontab(), to=f"{GROUP}/v2", by=lambda obj, to: returned)
