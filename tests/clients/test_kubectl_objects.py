"""kubectl reads, changes and deletes custom objects at every version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.crontabs import crontab
from tests.support.kubectl import Kubectl


def test_get_prints_the_columns_of_the_crd(kubectl: Kubectl, stored: str) -> None:
    header, row = kubectl("get", stored).rows
    assert header == ["NAME", "SCHEDULE", "REPLICAS", "AGE"]
    assert row[:3] == ["my-crontab", "* * * * */5", "1"]
    header, row = kubectl("get", stored, "-o", "wide").rows
    assert header == ["NAME", "SCHEDULE", "REPLICAS", "IMAGE", "AGE"]
    assert row[3] == "my-awesome-cron-image"


def test_object_is_served_at_each_version(kubectl: Kubectl, stored: str, group: str) -> None:
    new = kubectl.json("get", f"crontabs.v1.{group}", "my-crontab")
    old = kubectl.json("get", f"crontabs.v1beta1.{group}", "my-crontab")
    assert new["apiVersion"] == f"{group}/v1"
    assert old["apiVersion"] == f"{group}/v1beta1"
    assert new["spec"] == old["spec"] == crontab(group)["spec"] | {"replicas": 1}
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert new["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]


def test_yaml_contains_applied_and_server_set_fields(kubectl: Kubectl, stored: str) -> None:
    text = kubectl("get", stored, "-o", "yaml").out
    for line in ("cronSpec: '* * * * */5'", "image: my-awesome-cron-image", "replicas: 1", "generation: 1", "uid: "):
        assert line in text
    assert "kubectl.kubernetes.io/last-applied-configuration" in text


def test_watch_prints_each_change(kubectl: Kubectl, stored: str, group: str, tmp_path: Path) -> None:
    with kubectl.follow("get", f"crontabs.v1beta1.{group}", "-w", log=tmp_path / "watch.log") as watch:
        watch.until("my-crontab")
        kubectl("patch", stored, "my-crontab", "--type=merge", "-p", '{"spec":{"cronSpec":"5 5 5 5 5"}}')
        watch.until("5 5 5 5 5")
        kubectl("apply", "-f", "-", stdin=json.dumps(crontab(group, "second")))
        watch.until("second")
        kubectl("delete", stored, "my-crontab")
        printed = watch.until("second").splitlines()
    assert printed[0].split() == ["NAME", "SCHEDULE", "REPLICAS", "AGE"]
    assert sum(line.startswith("NAME") for line in printed) == 1


def test_edit_changes_the_object_and_its_generation(kubectl: Kubectl, stored: str, group: str) -> None:
    said = kubectl("edit", stored, "my-crontab", editor="sed -i s/awesome/shiny/")
    assert said.out == f"crontab.{group}/my-crontab edited\n"
    after = kubectl.json("get", stored, "my-crontab")
    assert after["spec"]["image"] == "my-shiny-cron-image"
    assert after["metadata"]["generation"] == 2
    untouched = kubectl("edit", stored, "my-crontab", editor="sed -i s/absent/present/")
    assert "cancelled, no changes made" in untouched.out + untouched.err


def test_merge_and_json_patches(kubectl: Kubectl, stored: str, group: str) -> None:
    operations = '[{"op":"replace","path":"/spec/replicas","value":5}]'
    kubectl("patch", stored, "my-crontab", "--type=json", "-p", operations)
    kubectl("patch", stored, "my-crontab", "--type=merge", "-p", '{"spec":{"image":"other"}}')
    spec = kubectl.json("get", stored, "my-crontab")["spec"]
    assert spec == {"cronSpec": "* * * * */5", "image": "other", "replicas": 5}
    same = kubectl("patch", stored, "my-crontab", "--type=merge", "-p", '{"spec":{"image":"other"}}')
    assert same.out == f"crontab.{group}/my-crontab patched (no change)\n"
    bad = kubectl("patch", stored, "my-crontab", "--type=merge", "-p", '{"spec":{"replicas":50}}', check=False)
    assert "spec.replicas in body should be less than or equal to 10" in bad.err


def test_replace_needs_the_current_resource_version(kubectl: Kubectl, stored: str, group: str) -> None:
    live = kubectl.json("get", stored, "my-crontab")
    live["spec"]["replicas"] = 2
    assert kubectl("replace", "-f", "-", stdin=json.dumps(live)).out == f"crontab.{group}/my-crontab replaced\n"
    stale = kubectl(
        "replace", "-f", "-", stdin=json.dumps(live | {"spec": live["spec"] | {"replicas": 3}}), check=False
    )
    assert stale.code == 1
    assert "the object has been modified; please apply your changes to the latest version and try again" in stale.err
    assert kubectl.json("get", stored, "my-crontab")["spec"]["replicas"] == 2


def test_label_and_annotate_and_select(kubectl: Kubectl, stored: str, group: str) -> None:
    kubectl("apply", "-f", "-", stdin=json.dumps(crontab(group, "second")))
    assert kubectl("label", stored, "my-crontab", "tier=gold").out == f"crontab.{group}/my-crontab labeled\n"
    kubectl("annotate", stored, "my-crontab", "note=seen")
    kept = kubectl("label", stored, "my-crontab", "tier=silver", check=False)
    assert "already has a value (gold)" in kept.err
    assert kubectl("get", stored, "-l", "tier=gold", "-o", "name").out == f"crontab.{group}/my-crontab\n"
    assert kubectl("get", stored, "-l", "tier notin (gold)", "-o", "name").out == f"crontab.{group}/second\n"
    chosen = kubectl("get", stored, "--field-selector=metadata.name=second", "-o", "name")
    assert chosen.out == f"crontab.{group}/second\n"
    meta = kubectl.json("get", stored, "my-crontab")["metadata"]
    assert meta["annotations"]["note"] == "seen"
    kubectl("label", stored, "my-crontab", "tier-")
    assert "labels" not in kubectl.json("get", stored, "my-crontab")["metadata"]


def test_scale_reads_and_writes_replicas(kubectl: Kubectl, stored: str, group: str) -> None:
    assert kubectl("scale", stored, "my-crontab", "--replicas=3").out == f"crontab.{group}/my-crontab scaled\n"
    assert kubectl.json("get", stored, "my-crontab")["spec"]["replicas"] == 3
    guarded = kubectl("scale", stored, "my-crontab", "--replicas=4", "--current-replicas=9", check=False)
    assert guarded.code == 1
    assert "Expected replicas to be 9, was 3" in guarded.err


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl, stored: str, group: str) -> None:
    said = kubectl("delete", stored, "my-crontab")
    assert said.out.startswith(f'crontab.{group} "my-crontab" deleted')
    missing = kubectl("get", stored, "my-crontab", check=False)
    assert missing.err == f'Error from server (NotFound): {stored} "my-crontab" not found\n'
    kubectl("delete", stored, "my-crontab", "--ignore-not-found")


def test_foreground_delete_waits_for_dependents(kubectl: Kubectl, stored: str) -> None:
    said = kubectl("delete", stored, "my-crontab", "--cascade=foreground", "--wait=false")
    assert '"my-crontab" deleted' in said.out
    left = kubectl("get", stored, "my-crontab", "-o", "json", check=False)
    if left.code == 0:
        meta = json.loads(left.out)["metadata"]
        assert meta["finalizers"] == ["foregroundDeletion"]
        assert meta["deletionTimestamp"]
        kubectl("patch", stored, "my-crontab", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert "NotFound" in kubectl("get", stored, "my-crontab", check=False).err


def test_finalizer_keeps_the_object(kubectl: Kubectl, stored: str) -> None:
    hold = '{"metadata":{"finalizers":["example.com/hold"]}}'
    kubectl("patch", stored, "my-crontab", "--type=merge", "-p", hold)
    kubectl("delete", stored, "my-crontab", "--wait=false")
    assert kubectl.json("get", stored, "my-crontab")["metadata"]["deletionTimestamp"]
    kubectl("patch", stored, "my-crontab", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert "NotFound" in kubectl("get", stored, "my-crontab", check=False).err


def test_namespaces_separate_objects_of_the_same_name(kubectl: Kubectl, stored: str, group: str) -> None:
    space = group.split(".")[0]
    assert kubectl("create", "namespace", space).out == f"namespace/{space} created\n"
    kubectl("apply", "-n", space, "-f", "-", stdin=json.dumps(crontab(group, image="there")))
    header, *rows = kubectl("get", stored, "-A").rows
    assert header[:2] == ["NAMESPACE", "NAME"]
    assert sorted(row[0] for row in rows) == sorted(["default", space])
    assert kubectl.json("get", stored, "my-crontab", "-n", space)["spec"]["image"] == "there"
    missing = kubectl("apply", "-n", f"{space}-no", "-f", "-", stdin=json.dumps(crontab(group)), check=False)
    assert f'namespaces "{space}-no" not found' in missing.err
    kubectl("delete", stored, "--all", "-n", space)
    assert "No resources found" in kubectl("get", stored, "-n", space).err
    kubectl("delete", "namespace", space, "--wait=false")


def test_status_is_edited_separately_from_the_spec(kubectl: Kubectl, stored: str) -> None:
    if kubectl.minor() < 24:
        pytest.skip("this kubectl has no --subresource")
    editor = r"sed -i -e s/awesome/ignored/ -e '$a\status: {replicas: 2}'"
    kubectl("edit", stored, "my-crontab", "--subresource=status", editor=editor)
    after = kubectl.json("get", stored, "my-crontab")
    assert after["status"] == {"replicas": 2}
    assert after["spec"]["image"] == "my-awesome-cron-image"
    assert after["metadata"]["generation"] == 1
    patch = '{"status":{"labelSelector":"a=b"}}'
    kubectl("patch", stored, "my-crontab", "--subresource=status", "--type=merge", "-p", patch)
    assert kubectl.json("get", stored, "my-crontab")["status"] == {"replicas": 2, "labelSelector": "a=b"}
