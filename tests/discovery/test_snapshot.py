from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.discovery.builtins import builtins, default_builtins
from polykind.discovery.snapshot import Discovery
from tests.discovery.crds import crd, crontabs, version

VERBS = '["delete","deletecollection","get","list","patch","create","update","watch"]'


def decode(document: bytes | None) -> dict[str, Any]:
    assert document is not None
    assert document.endswith(b"}\n")
    decoded = json.loads(document)
    assert isinstance(decoded, dict)
    return decoded


def test_group_lists_its_versions_the_preferred_first() -> None:
    assert Discovery([crontabs()]).group("stable.example.com") == (
        b'{"kind":"APIGroup","apiVersion":"v1","name":"stable.example.com","versions":['
        b'{"groupVersion":"stable.example.com/v1","version":"v1"},'
        b'{"groupVersion":"stable.example.com/v1beta1","version":"v1beta1"}],'
        b'"preferredVersion":{"groupVersion":"stable.example.com/v1","version":"v1"}}\n'
    )


def test_resources_of_a_version_with_subresources() -> None:
    assert (
        Discovery([crontabs()]).resources("stable.example.com", "v1")
        == (
            '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"stable.example.com/v1","resources":['
            f'{{"name":"crontabs","singularName":"crontab","namespaced":true,"kind":"CronTab","verbs":{VERBS},'
            '"shortNames":["ct"],"categories":["all"],"storageVersionHash":"EdX2FP+L0js="},'
            '{"name":"crontabs/status","singularName":"","namespaced":true,"kind":"CronTab","verbs":["get","patch","update"]},'
            '{"name":"crontabs/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1",'
            '"kind":"Scale","verbs":["get","patch","update"]}]}\n'
        ).encode()
    )


def test_resources_of_a_version_without_subresources() -> None:
    assert (
        Discovery([crontabs()]).resources("stable.example.com", "v1beta1")
        == (
            '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"stable.example.com/v1beta1","resources":['
            f'{{"name":"crontabs","singularName":"crontab","namespaced":true,"kind":"CronTab","verbs":{VERBS},'
            '"shortNames":["ct"],"categories":["all"],"storageVersionHash":"EdX2FP+L0js="}]}\n'
        ).encode()
    )


def test_aggregated_describes_every_version() -> None:
    gvk = '"responseKind":{"group":"stable.example.com","version":"v1","kind":"CronTab"}'
    body, etag = Discovery([crontabs()], builtins=()).aggregated()
    assert (
        body
        == (
            '{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":['
            '{"metadata":{"name":"stable.example.com"},"versions":[{"version":"v1","resources":['
            f'{{"resource":"crontabs",{gvk},"scope":"Namespaced","singularResource":"crontab","verbs":{VERBS},'
            '"shortNames":["ct"],"categories":["all"],"subresources":['
            f'{{"subresource":"status",{gvk},"verbs":["get","patch","update"]}},'
            '{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},'
            '"verbs":["get","patch","update"]}]}],"freshness":"Current"},'
            '{"version":"v1beta1","resources":['
            '{"resource":"crontabs","responseKind":{"group":"stable.example.com","version":"v1beta1","kind":"CronTab"},'
            f'"scope":"Namespaced","singularResource":"crontab","verbs":{VERBS},"shortNames":["ct"],"categories":["all"]}}'
            '],"freshness":"Current"}]}]}\n'
        ).encode()
    )
    head = b'"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",'
    untyped = body.replace(head, b"", 1).removesuffix(b"\n")
    assert etag == hashlib.sha512(untyped).hexdigest().upper()


def test_core_group() -> None:
    discovery = Discovery([])
    assert discovery.api_versions("10.0.0.1:6443") == (
        b'{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":'
        b'[{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]}\n'
    )
    resources = discovery.resources("", "v1")
    assert resources is not None
    assert resources.startswith(
        b'{"kind":"APIResourceList","groupVersion":"v1","resources":['
        b'{"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]},'
        b'{"name":"componentstatuses","singularName":"componentstatus","namespaced":false,"kind":"ComponentStatus",'
        b'"verbs":["get","list"],"shortNames":["cs"]},'
        b'{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap",'
        b'"verbs":["create","delete","deletecollection","get","list","patch","update","watch"],'
        b'"shortNames":["cm"],"storageVersionHash":"qFsyl6wFWjQ="},'
    )
    assert (
        b'{"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1",'
        b'"kind":"Eviction","verbs":["create"]},'
    ) in resources
    core = decode(discovery.aggregated(core=True).body)["items"]
    assert [group["metadata"] for group in core] == [{}]
    assert core[0]["versions"][0]["resources"][0]["responseKind"] == {"group": "", "version": "", "kind": "Binding"}
    assert discovery.group("") is None


def test_crd_resource_is_listed() -> None:
    assert Discovery([]).resources("apiextensions.k8s.io", "v1") == (
        b'{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apiextensions.k8s.io/v1","resources":['
        b'{"name":"customresourcedefinitions","singularName":"customresourcedefinition","namespaced":false,'
        b'"kind":"CustomResourceDefinition",'
        b'"verbs":["create","delete","deletecollection","get","list","patch","update","watch"],'
        b'"shortNames":["crd","crds"],"categories":["api-extensions"],"storageVersionHash":"jfWCUB31mvA="},'
        b'{"name":"customresourcedefinitions/status","singularName":"","namespaced":false,'
        b'"kind":"CustomResourceDefinition","verbs":["get","patch","update"]}]}\n'
    )


def test_apiextensions_v1beta1_is_listed_on_demand() -> None:
    assert Discovery([]).resources("apiextensions.k8s.io", "v1beta1") is None
    discovery = Discovery([], builtins())
    assert discovery.resources("apiextensions.k8s.io", "v1beta1") is not None
    assert [v["version"] for v in decode(discovery.group("apiextensions.k8s.io"))["versions"]] == ["v1", "v1beta1"]


def test_versions_of_a_group_are_in_order_of_preference() -> None:
    names = ["foo10", "v1alpha1", "v3beta1", "v2", "foo1", "v12alpha1", "v10", "v11beta2", "v1gamma", "v3beta10"]
    cards = crd("cards", "Card", *(version(name) for name in names), version("v9", served=False))
    group = decode(Discovery([cards]).group("example.com"))
    assert [v["version"] for v in group["versions"]] == [
        *("v10", "v2", "v11beta2", "v3beta10", "v3beta1", "v12alpha1", "v1alpha1", "foo1", "foo10", "v1gamma")
    ]
    assert group["preferredVersion"] == {"groupVersion": "example.com/v10", "version": "v10"}


def test_group_has_the_versions_of_all_its_crds() -> None:
    anvils = crd("anvils", "Anvil", version("v2", storage=True), version("v1beta1"), version("v1", served=False))
    tables = crd("tables", "Table", version("v1", storage=True), version("v1beta1"))
    discovery = Discovery([tables, anvils])
    assert [v["version"] for v in decode(discovery.group("example.com"))["versions"]] == ["v2", "v1", "v1beta1"]
    assert [r["name"] for r in decode(discovery.resources("example.com", "v1"))["resources"]] == ["tables"]
    assert [r["name"] for r in decode(discovery.resources("example.com", "v1beta1"))["resources"]] == [
        "anvils",
        "tables",
    ]
    assert discovery.resources("example.com", "v3") is None


def test_terminating_crd_has_no_write_verbs() -> None:
    going = crontabs(conditions=("NamesAccepted", "Established", "Terminating"))
    main, status, scale = decode(Discovery([going]).resources("stable.example.com", "v1"))["resources"]
    assert main["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
    assert status["verbs"] == scale["verbs"] == ["get", "patch", "update"]


def test_unestablished_crd_is_listed_in_its_group_only() -> None:
    discovery = Discovery([crontabs(conditions=("NamesAccepted",))])
    assert decode(discovery.group("stable.example.com"))["preferredVersion"]["version"] == "v1"
    assert b"stable.example.com" in discovery.groups()
    assert discovery.resources("stable.example.com", "v1") is None
    assert b"stable.example.com" not in discovery.aggregated().body
    assert "/apis/stable.example.com/v1" in discovery.paths()


def test_crd_without_a_served_version_has_no_group() -> None:
    discovery = Discovery([crd("nones", "None", version("v1", served=False, storage=True))])
    assert discovery.group("example.com") is None
    assert discovery.resources("example.com", "v1") is None
    assert b"example.com" not in discovery.groups()


def test_discovery_has_the_accepted_names() -> None:
    requested = crontabs()
    requested["spec"]["names"] = {**requested["spec"]["names"], "shortNames": ["taken"]}
    assert decode(Discovery([requested]).resources("stable.example.com", "v1"))["resources"][0]["shortNames"] == ["ct"]


def test_storage_hash_is_missing_while_the_storage_version_is_not_served() -> None:
    jars = crd("jars", "Jar", version("v1"), version("v2", served=False, storage=True))
    assert "storageVersionHash" not in decode(Discovery([jars]).resources("example.com", "v1"))["resources"][0]


def test_groups_are_ordered_by_priority_then_by_version_name() -> None:
    crds = [
        crd("zoos", "Zoo", version("v3"), group="a.example.com"),
        crd("meals", "Meal", version("v1alpha1"), group="food.k8s.io"),
        crd("units", "Unit", version("v2"), version("v1"), group="stable.example.com"),
        crd("many", "Many", version("foo"), group="kinds.io"),
    ]
    plain = [group["name"] for group in decode(Discovery(crds).groups())["groups"]]
    builtin = [
        *("apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"),
        *("autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"),
        *("storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io"),
        *("coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io"),
        *("flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io"),
    ]
    assert plain == [*builtin, "kinds.io", "stable.example.com", "food.k8s.io", "a.example.com"]
    aggregated = [group["metadata"]["name"] for group in decode(Discovery(crds).aggregated().body)["items"]]
    assert aggregated == [*builtin, "a.example.com", "food.k8s.io", "kinds.io", "stable.example.com"]


def test_paths_of_groups_and_versions() -> None:
    paths = Discovery([crontabs()]).paths()
    assert paths == sorted(paths)
    assert paths[:6] == [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/admissionregistration.k8s.io",
        "/apis/admissionregistration.k8s.io/v1",
    ]
    assert [path for path in paths if "example" in path] == [
        "/apis/stable.example.com",
        "/apis/stable.example.com/v1",
        "/apis/stable.example.com/v1beta1",
    ]
    assert {"/apis/autoscaling", "/apis/autoscaling/v1", "/apis/autoscaling/v2"} <= set(paths)


def test_etag_changes_only_with_the_content() -> None:
    first = Discovery([crontabs(revision="1")])
    touched = Discovery([crontabs(revision="2")], previous=first)
    assert touched.aggregated() == first.aggregated()
    grown = Discovery([crontabs(revision="2"), crd("jars", "Jar", version("v1"))], previous=touched)
    assert grown.aggregated().etag != first.aggregated().etag
    assert grown.aggregated(core=True) == first.aggregated(core=True)
    shrunk = Discovery([crontabs(revision="2")], previous=grown)
    assert shrunk.aggregated() == first.aggregated()


def test_changed_crd_is_updated_while_others_are_reused() -> None:
    jars, old, new = (
        crd("jars", "Jar", version("v1")),
        crontabs(revision="1"),
        crontabs(revision="2", shortNames=["cr"]),
    )
    first = Discovery([jars, old])
    assert b'"ct"' in first.aggregated().body
    idle = Discovery([jars, new], previous=first)
    second = Discovery([jars, new], previous=idle)
    assert second.aggregated() == Discovery([jars, new]).aggregated()
    assert second.group("example.com") is first.group("example.com")


def test_crd_with_the_same_resource_version_is_reused() -> None:
    first = Discovery([crontabs(revision="1")])
    first.groups()
    second = Discovery([crontabs(revision="1")], previous=first)
    assert second.group("stable.example.com") is first.group("stable.example.com")


@pytest.mark.parametrize("core", [True, False])
def test_empty_snapshot(core: bool) -> None:
    empty = Discovery([], builtins=())
    expected = b'{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}\n'
    assert empty.aggregated(core=core).body == expected
    assert empty.groups() == b'{"kind":"APIGroupList","apiVersion":"v1","groups":[]}\n'


NAMES = st.sampled_from(["v1", "v2", "v1beta1", "v2alpha1", "foo"])
DEFINITIONS = st.lists(
    st.builds(
        lambda plural, group, names, scope: crd(plural, plural.title(), *map(version, names), group=group, scope=scope),
        st.sampled_from(["as", "bs", "cs"]),
        st.sampled_from(["a.example.com", "b.example.com"]),
        st.lists(NAMES, unique=True),
        st.sampled_from(["Namespaced", "Cluster"]),
    ),
    unique_by=lambda decoded: decoded["metadata"]["name"],
)


@given(DEFINITIONS, DEFINITIONS)
def test_documents_do_not_depend_on_order_or_history(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    earlier = Discovery(before)
    earlier.aggregated()
    fresh = Discovery(after, default_builtins())
    for other in (Discovery(reversed(after)), Discovery(after, previous=earlier)):
        assert other.aggregated() == fresh.aggregated()
        assert other.groups() == fresh.groups()
        for item in decode(fresh.groups())["groups"]:
            assert other.group(item["name"]) == fresh.group(item["name"])
            for one in item["versions"]:
                assert other.resources(item["name"], one["version"]) == fresh.resources(item["name"], one["version"])
