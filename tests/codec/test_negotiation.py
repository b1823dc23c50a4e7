from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.codec import negotiation
from polykind.codec.negotiation import ResponseFormat
from polykind.errors import NotAcceptableError, UnsupportedMediaTypeError

PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
NOT_ACCEPTABLE = (
    "only the following media types are accepted: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)


@pytest.mark.parametrize(
    ("accept", "accepted"),
    [
        ("", ResponseFormat()),
        ("*/*", ResponseFormat()),
        ("*", ResponseFormat()),
        ("application/json", ResponseFormat()),
        ("application/json, */*", ResponseFormat()),
        ("application/yaml", ResponseFormat("yaml")),
        ("application/vnd.kubernetes.protobuf, application/json", ResponseFormat()),
        ("text/html, application/*;q=0.5", ResponseFormat()),
        ("application/json;q=0.1,application/yaml", ResponseFormat("yaml")),
        ("application/json;pretty=1", ResponseFormat(pretty=True)),
        ("application/json;stream=watch", ResponseFormat(stream="watch")),
        ("application/json;sv=v1", ResponseFormat()),
        ("application/json;charset=utf-8", ResponseFormat()),
        (
            f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            ResponseFormat("json", "Table", "meta.k8s.io", "v1"),
        ),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", ResponseFormat("yaml", "Table", "meta.k8s.io", "v1")),
        (f"application/json, {TABLE}", ResponseFormat()),
        ("application/json;as=Table;v=v2;g=meta.k8s.io, application/json", ResponseFormat()),
        (
            "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
            ResponseFormat("json", "PartialObjectMetadata", "meta.k8s.io", "v1beta1"),
        ),
    ],
)
def test_accepted_formats(accept: str, accepted: ResponseFormat) -> None:
    assert negotiation.negotiate(accept) == accepted


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Chart;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1;g=other.example.com",
        "application/json;as=Table",
        "application/json;v=v1",
        "application/json;stream=other",
        "application/yaml;stream=watch",
        "application/json;sv=v2",
        "APPLICATION/JSON",
    ],
)
def test_not_acceptable_formats(accept: str) -> None:
    with pytest.raises(NotAcceptableError) as raised:
        negotiation.negotiate(accept)
    assert raised.value.message == NOT_ACCEPTABLE


def test_watches_do_not_support_yaml() -> None:
    assert negotiation.negotiate_watch("*/*") == ResponseFormat()
    with pytest.raises(NotAcceptableError) as raised:
        negotiation.negotiate_watch("application/yaml")
    assert raised.value.message == (
        "only the following media types are accepted: "
        "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    )


@pytest.mark.parametrize("accept", ["", "*/*;q=0.1", "application/json;q=0", "text/html, application/yaml;foo"])
def test_builtin_resources_accept_named_media_types(accept: str) -> None:
    negotiation.check_names_media_type(accept, streams=False)


@pytest.mark.parametrize("accept", ["text/html", "application/*", "*", "application/JSON", ","])
def test_builtin_resources_reject_unnamed_media_types(accept: str) -> None:
    with pytest.raises(NotAcceptableError) as raised:
        negotiation.check_names_media_type(accept, streams=True)
    assert raised.value.message == (
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch"
    )


PROTOBUF = "application/vnd.kubernetes.protobuf"


def test_protobuf_is_for_builtin_objects_and_partial_metadata() -> None:
    partial = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert negotiation.negotiate(PROTOBUF, offers=negotiation.BUILTIN_MEDIA) == ResponseFormat("protobuf")
    assert negotiation.negotiate(partial) == ResponseFormat("protobuf", "PartialObjectMetadata", "meta.k8s.io", "v1")
    assert negotiation.negotiate_watch(f"{PROTOBUF};stream=watch", offers=negotiation.BUILTIN_MEDIA).media == "protobuf"
    assert negotiation.negotiate_error(PROTOBUF) == ResponseFormat("protobuf")
    assert negotiation.negotiate_error(partial) is None
    for raised in (PROTOBUF, f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"):
        with pytest.raises(NotAcceptableError):
            negotiation.negotiate(raised)


def test_errors_are_negotiated_without_transforms() -> None:
    assert negotiation.negotiate_error("application/yaml") == ResponseFormat("yaml")
    assert negotiation.negotiate_error(f"{TABLE},application/yaml") == ResponseFormat("yaml")
    assert negotiation.negotiate_error(TABLE) is None


@pytest.mark.parametrize(
    ("content_type", "media"),
    [
        ("", "json"),
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("Application/JSON;", "json"),
        ('application/yaml; charset="utf-8"', "yaml"),
    ],
)
def test_body_media(content_type: str, media: str) -> None:
    assert negotiation.body_media(content_type) == media


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/xml", "application/merge-patch+json", "application/json; charset", "json", "a=1;;"],
)
def test_unsupported_body_media(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError) as raised:
        negotiation.body_media(content_type)
    assert raised.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_patch_media_type() -> None:
    merge = "application/merge-patch+json"
    assert negotiation.patch_media_type(f"{merge}; charset=utf-8", offers=PATCHES) == merge


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "application/yaml",
        "APPLICATION/MERGE-PATCH+JSON",
        "application/strategic-merge-patch+json",
    ],
)
def test_unsupported_patch_media_type(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError) as raised:
        negotiation.patch_media_type(content_type, offers=PATCHES)
    assert raised.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


@pytest.mark.parametrize(
    ("parameter", "agent", "pretty"),
    [
        ("", "kubectl/v1", False),
        ("", "curl/8.0", True),
        ("", "Wget/1", True),
        ("", "Mozilla/5.0 (X11)", True),
        ("false", "curl/8.0", False),
        ("yes", "curl/8.0", False),
        ("true", "kubectl/v1", True),
        ("1", "", True),
    ],
)
def test_is_pretty(parameter: str, agent: str, pretty: bool) -> None:
    assert negotiation.is_pretty({"pretty": [parameter]} if parameter else {}, agent.encode()) is pretty


def test_wants_gzip() -> None:
    assert negotiation.wants_gzip("deflate, gzip", 131073)
    assert not negotiation.wants_gzip("gzip", 131072)
    assert not negotiation.wants_gzip("gzip;q=1", 1 << 20)
    assert not negotiation.wants_gzip("", 1 << 20)


@given(st.text(alphabet="application/json*;=, qas0.5/", max_size=40))
def test_arbitrary_header_negotiates_or_raises(header: str) -> None:
    with contextlib.suppress(NotAcceptableError):
        assert negotiation.negotiate(header).media in ("json", "yaml")
    with contextlib.suppress(UnsupportedMediaTypeError):
        assert negotiation.body_media(header) in ("json", "yaml")


@pytest.mark.parametrize("transforms", [negotiation.OBJECT_TRANSFORMS, negotiation.VERSION_TRANSFORMS])
def test_formats_are_remembered(transforms: frozenset[negotiation.Transform]) -> None:
    accept = "application/vnd.kubernetes.protobuf, application/json"
    assert negotiation.negotiate(accept, transforms=transforms) is negotiation.negotiate(accept, transforms=transforms)
