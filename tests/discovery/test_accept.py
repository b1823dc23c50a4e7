from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.discovery.accept import (
    AGGREGATED_MEDIA_TYPE,
    aggregated_media_type,
    openapi_v2_media_type,
    openapi_v3_media_type,
)

V2BETA1 = AGGREGATED_MEDIA_TYPE.replace("v=v2", "v=v2beta1")


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (AGGREGATED_MEDIA_TYPE, "application/json"),
        (f"{AGGREGATED_MEDIA_TYPE},{V2BETA1},application/json", "application/json"),
        (f"application/json, {AGGREGATED_MEDIA_TYPE};q=0.1", "application/json"),
        ("application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io; profile=nopeer", "application/json"),
        ("application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/yaml"),
        ("*/*;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json"),
        ("application/*;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json"),
        ("*;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json"),
        (
            "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;q=0.5," + AGGREGATED_MEDIA_TYPE,
            "application/json",
        ),
        ("", None),
        ("application/json", None),
        ("*/*", None),
        (V2BETA1, None),
        ("application/json;g=apidiscovery.k8s.io;v=v1;as=APIGroupDiscoveryList", None),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", None),
        ("text/html;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", None),
        ("application/json/x;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", None),
        ("application;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", None),
    ],
)
def test_aggregated_media_type_of_accept_headers(accept: str, media_type: str | None) -> None:
    assert aggregated_media_type(accept) == media_type


@given(st.text(alphabet="*/;,=q. 01a", max_size=60))
def test_any_accept_header_can_be_parsed(accept: str) -> None:
    assert aggregated_media_type(accept) is None


PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@pytest.mark.parametrize(
    ("accept", "v2", "v3"),
    [
        ("", "application/json", "application/json"),
        ("*/*", "application/json", "application/json"),
        ("application/json, */*", "application/json", "application/json"),
        ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", PROTOBUF, None),
        (PROTOBUF, PROTOBUF, None),
        (f"application/json;q=0.5,{PROTOBUF}", PROTOBUF, "application/json"),
        (f"{PROTOBUF};q=0.5,application/json", "application/json", "application/json"),
        ("text/html", None, None),
    ],
)
def test_openapi_media_types_of_accept_headers(accept: str, v2: str | None, v3: str | None) -> None:
    assert openapi_v2_media_type(accept) == v2
    assert openapi_v3_media_type(accept) == v3
