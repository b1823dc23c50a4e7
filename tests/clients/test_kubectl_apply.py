"""kubectl apply on the client side and on the server side, and kubectl diff."""

from __future__ import annotations

import json

import pytest

from tests.support.crontabs import crontab
from tests.support.kubectl import Kubectl


def test_apply_removes_fields_that_are_no_longer_applied(kubectl: Kubectl, crontabs: str, group: str) -> None:
    kubectl("apply", "-f", "-", stdin=json.dumps(crontab(group, replicas=4)))
    kubectl("patch", crontabs, "my-crontab", "--type=merge", "-p", '{"metadata":{"labels":{"mine":"yes"}}}')
    said = kubectl("apply", "-f", "-", stdin=json.dumps(crontab(group)))
    assert said.out == f"crontab.{group}/my-crontab configured\n"
    after = kubectl.json("get", crontabs, "my-crontab")
    assert after["spec"]["replicas"] == 1
    assert after["metadata"]["labels"] == {"mine": "yes"}


def test_diff_shows_the_change_without_making_it(kubectl: Kubectl, stored: str, group: str) -> None:
    before = kubectl.json("get", stored, "my-crontab")
    shown = kubectl("diff", "-f", "-", stdin=json.dumps(crontab(group, image="other")), check=False)
    assert shown.code == 1, shown.err
    assert "-  image: my-awesome-cron-image" in shown.out
    assert "+  image: other" in shown.out
    assert kubectl("diff", "-f", "-", stdin=json.dumps(crontab(group))).out == ""
    assert kubectl.json("get", stored, "my-crontab") == before


def test_dry_run_stores_nothing(kubectl: Kubectl, crontabs: str, group: str) -> None:
    said = kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(crontab(group)))
    assert said.out == f"crontab.{group}/my-crontab created (server dry run)\n"
    assert "NotFound" in kubectl("get", crontabs, "my-crontab", check=False).err


def test_server_side_apply_reports_conflicts_with_other_managers(kubectl: Kubectl, crontabs: str, group: str) -> None:
    first = json.dumps(crontab(group, replicas=2))
    other = json.dumps(crontab(group, replicas=3))
    said = kubectl("apply", "--server-side", "--field-manager=first", "-f", "-", stdin=first)
    assert said.out == f"crontab.{group}/my-crontab serverside-applied\n"
    refused = kubectl("apply", "--server-side", "--field-manager=second", "-f", "-", stdin=other, check=False)
    assert refused.code == 1
    assert 'conflict with "first"' in refused.err
    assert ".spec.replicas" in refused.err
    assert kubectl.json("get", crontabs, "my-crontab")["spec"]["replicas"] == 2
    forced = ("apply", "--server-side", "--force-conflicts", "--field-manager=second", "-f", "-")
    kubectl(*forced, stdin=other)
    path = f"/apis/{group}/v1/namespaces/default/crontabs/my-crontab"
    after = json.loads(kubectl("get", "--raw", path).out)
    assert after["spec"]["replicas"] == 3
    owners = {m["manager"]: m["fieldsV1"].get("f:spec", {}) for m in after["metadata"]["managedFields"]}
    assert "f:replicas" in owners["second"]
    assert "f:replicas" not in owners["first"]
    assert "f:image" in owners["first"]


def test_server_side_apply_after_client_side_apply_takes_over(kubectl: Kubectl, stored: str, group: str) -> None:
    if kubectl.minor() < 26:
        pytest.skip("this kubectl does not hand over what it applied on the client's side")
    said = kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(crontab(group)))
    assert said.out == f"crontab.{group}/my-crontab serverside-applied\n"
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(crontab(group, replicas=7)))
    assert kubectl.json("get", stored, "my-crontab")["spec"]["replicas"] == 7


def test_apply_at_one_version_and_read_at_another(kubectl: Kubectl, crontabs: str, group: str) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(crontab(group, version="v1beta1")))
    assert kubectl.json("get", f"crontabs.v1.{group}", "my-crontab")["apiVersion"] == f"{group}/v1"
    again = kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(crontab(group, version="v1beta1")))
    assert again.out == f"crontab.{group}/my-crontab serverside-applied\n"
    assert kubectl.json("get", crontabs, "my-crontab")["metadata"]["generation"] == 1
