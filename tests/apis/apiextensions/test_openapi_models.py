from __future__ import annotations

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1BETA1
from polykind.apis.machinery.openapi_models import models

PREFIX = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1."


def test_v1beta1_is_published_with_its_fields() -> None:
    published = models([CUSTOM_RESOURCE_DEFINITION_V1BETA1])
    definition = published[f"{PREFIX}CustomResourceDefinition"]
    assert definition["required"] == ["spec"]
    assert "x-kubernetes-preserve-unknown-fields" not in definition
    spec = published[f"{PREFIX}CustomResourceDefinitionSpec"]
    assert spec["required"] == ["group", "names", "scope"]
    assert {"validation", "version", "versions"} <= spec["properties"].keys()
