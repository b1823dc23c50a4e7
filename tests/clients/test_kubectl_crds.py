"""kubectl with CustomResourceDefinitions."""

from __future__ import annotations

import json
import re

from tests.support.crontabs import crontab, definition
from tests.support.kubectl import Kubectl


def test_apply_prints_created_then_unchanged_then_configured(kubectl: Kubectl, group: str) -> None:
    crd, name = definition(group), f"crontabs.{group}"
    said = f"customresourcedefinition.apiextensions.k8s.io/{name}"
    assert kubectl("apply", "-f", "-", stdin=json.dumps(crd)).out == f"{said} created\n"
    assert kubectl("apply", "-f", "-", stdin=json.dumps(crd)).out == f"{said} unchanged\n"
    crd["metadata"]["labels"] = {"tier": "test"}
    assert kubectl("apply", "-f", "-", stdin=json.dumps(crd)).out == f"{said} configured\n"
    assert kubectl("wait", "--for=condition=Established", f"crd/{name}").out == f"{said} condition met\n"
    assert kubectl("delete", "crd", name).out == f'{said.replace("/", " ", 1).replace(name, "")}"{name}" deleted\n'
    assert "NotFound" in kubectl("get", "crd", name, check=False).err


def test_get_crd_shows_name_and_stored_versions(kubectl: Kubectl, crontabs: str) -> None:
    header, row = kubectl("get", "crd", crontabs).rows
    assert header == ["NAME", "CREATED AT"]
    assert row[0] == crontabs
    crd = kubectl.json("get", "crd", crontabs)
    assert crd["status"]["storedVersions"] == ["v1"]
    conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
    assert conditions["NamesAccepted"] == conditions["Established"] == "True"
    assert crd["spec"]["conversion"] == {"strategy": "None"}


def test_resource_is_discovered_at_both_versions(kubectl: Kubectl, crontabs: str, group: str) -> None:
    header, row = kubectl("api-resources", f"--api-group={group}").rows
    assert header == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert row == ["crontabs", f"{group}/v1", "true", "CronTab"]
    verbs = kubectl("api-resources", f"--api-group={group}", "-o", "wide").out
    assert all(verb in verbs for verb in ("create", "delete", "deletecollection", "get", "list", "patch", "watch"))
    versions = kubectl("api-versions").out.split()
    assert {f"{group}/v1", f"{group}/v1beta1", "apiextensions.k8s.io/v1", "v1"} <= set(versions)


def test_explain_reads_the_schema(kubectl: Kubectl, crontabs: str, group: str) -> None:
    document = f"/openapi/v3/apis/{group}/v1"
    published = f"kubectl get --raw {document}"
    assert any("What is wanted." in kubectl("get", "--raw", document, check=False).out for _ in range(50)), published
    whole = kubectl("explain", "crontabs.spec", f"--api-version={group}/v1").out
    assert "What is wanted." in whole
    assert "cronSpec" in whole
    assert "-required-" in whole
    field = kubectl("explain", "crontabs.spec.replicas", f"--api-version={group}/v1beta1").out
    assert "How many at a time." in field
    assert "<integer>" in field
    standard = kubectl("explain", "crontabs", f"--api-version={group}/v1").out
    assert re.search(r"(?s)apiVersion.*<string>.*APIVersion defines", standard)
    metadata = kubectl("explain", "crontabs.metadata", f"--api-version={group}/v1").out
    assert re.search(r"(?s)Standard object's metadata.*CreationTimestamp is a timestamp", metadata)
    missing = kubectl("explain", "crontabs.spec.nothing", f"--api-version={group}/v1", check=False)
    assert missing.code == 1
    assert 'field "nothing" does not exist' in missing.err


def test_deleting_the_crd_deletes_its_objects(kubectl: Kubectl, stored: str, group: str) -> None:
    assert kubectl("get", stored, "-o", "name").out == f"crontab.{group}/my-crontab\n"
    kubectl("delete", "crd", stored)
    gone = kubectl("get", stored, check=False)
    assert gone.code == 1
    assert "the server doesn't have a resource type" in gone.err
    kubectl("apply", "-f", "-", stdin=json.dumps(definition(group)))
    kubectl("wait", "--for=condition=Established", f"crd/{stored}")
    assert "No resources found" in kubectl("get", stored).err


def test_invalid_crd_is_rejected_with_the_field(kubectl: Kubectl, group: str) -> None:
    crd = definition(group)
    crd["spec"]["versions"][1]["storage"] = True
    refused = kubectl("apply", "-f", "-", stdin=json.dumps(crd), check=False)
    assert refused.code == 1
    assert "must have exactly one version marked as storage version" in refused.err


def test_unknown_field_gives_a_warning_or_an_error(kubectl: Kubectl, crontabs: str, group: str) -> None:
    strange = json.dumps(crontab(group, color="red"))
    refused = kubectl("create", "-f", "-", stdin=strange, check=False)
    assert refused.code == 1
    assert "color" in refused.err
    kubectl("create", "-f", "-", "--validate=false", stdin=strange)
    assert "color" not in kubectl.json("get", crontabs, "my-crontab")["spec"]
