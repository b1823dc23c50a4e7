from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind.toolkit.crd_versions import CRD, read_crd
from polykind.toolkit.crossplane_xrd import generated_crds, is_xrd


def xrd(api: str = "v1", **spec: Any) -> dict[str, Any]:
    def version(name: str, referenceable: bool, field: str) -> dict[str, Any]:
        properties = {"spec": {"type": "object", "properties": {field: {"type": "string"}}}}
        return {
            "name": name,
            "served": True,
            "referenceable": referenceable,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        }

    return {
        "apiVersion": f"apiextensions.crossplane.io/{api}",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xdatabases.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "XDatabase", "plural": "xdatabases"},
            "versions": [version("v1alpha1", False, "size"), version("v1", True, "storage")],
            **spec,
        },
    }


def test_composite_and_claim_of_v1() -> None:
    names = {"kind": "Database", "plural": "databases"}
    composite, claim = (CRD(each) for each in generated_crds(xrd(claimNames=names)))
    assert (composite.name, composite.namespaced, composite.storage) == ("xdatabases.example.com", False, "v1")
    assert (claim.name, claim.namespaced) == ("databases.example.com", True)
    spec = composite.versions["v1"].openapi["properties"]["spec"]["properties"]
    assert {"storage", "compositionRef", "claimRef", "resourceRefs"} <= spec.keys()
    assert "claimRef" not in claim.versions["v1"].openapi["properties"]["spec"]["properties"]


def test_composite_of_v2_is_namespaced_and_has_one_field_of_crossplane() -> None:
    (composite,) = (CRD(each) for each in generated_crds(xrd("v2")))
    assert composite.namespaced
    assert composite.versions["v1"].openapi["properties"]["spec"]["properties"].keys() == {"storage", "crossplane"}
    (cluster,) = (CRD(each) for each in generated_crds(xrd("v2", scope="Cluster")))
    assert not cluster.namespaced


def test_xrd_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "xrd.yaml"
    file.write_text(yaml.safe_dump(xrd(claimNames={"kind": "Database", "plural": "databases"})))
    assert read_crd(file).name == "xdatabases.example.com"
    broken = xrd()
    broken["spec"]["versions"][0]["referenceable"] = True
    assert is_xrd(broken)
    file.write_text(yaml.safe_dump(broken))
    with pytest.raises(ValueError, match=r"xrd\.yaml: exactly one version .* must be referenceable"):
        read_crd(file)
