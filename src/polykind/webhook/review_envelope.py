"""Decoding of a webhook's review response: its apiVersion, kind and top-level fields, as in kube-apiserver."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from polykind.apis import machinery
from polykind.apis.machinery import Struct
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.errors import BadRequestError
from polykind.golang.fmt import go_quote
from polykind.webhook.target import string_or_empty

_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_SUPPORTED = ("v1", "v1beta1")
_UNVERSIONED = frozenset({"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})
_OPTIONS = frozenset(f"{verb}Options" for verb in ("List", "Get", "Delete", "Create", "Update", "Patch"))
_COMMON_KINDS = _OPTIONS | {"WatchEvent"}
"""The kinds that kube-apiserver registers in every version of every group."""

raw_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class MalformedReviewError(Exception):
    """The body of a webhook's response cannot be decoded as a review. The message is kube-apiserver's."""


class ReviewKind(NamedTuple):
    """A kind of review, such as ConversionReview: its group, its kind, and the other kinds of the group."""

    group: str
    kind: str
    registered: frozenset[str]


class Header(NamedTuple):
    """The top-level fields of a response, and its apiVersion and kind."""

    fields: dict[str, Raw]
    api_version: str
    kind: str

    def type_meta_error(self, review_kind: ReviewKind) -> str | None:
        """Return an error message if this is not the header of a v1 review of `review_kind`, else None."""
        if (self.api_version, self.kind) == (f"{review_kind.group}/v1", review_kind.kind):
            return None
        expected = f"{review_kind.group}/v1, Kind={review_kind.kind}"
        api_version = self.api_version if "/" in self.api_version else f"/{self.api_version}"
        return f"expected webhook response of {expected}, got {api_version}, Kind={self.kind}"


def choose_version(versions: list[str] | tuple[str, ...]) -> str | None:
    """Return the first of the webhook's review versions that this server supports, or None if it supports none."""
    return next((v for v in versions if v in _SUPPORTED), None)


def decode_header(review_kind: ReviewKind, version: str, body: bytes) -> Header:
    """Decode the apiVersion, the kind and the undecoded top-level fields of a response body.

    Raise MalformedReviewError if the body is not a review of this kind at `version`.
    """
    fields = _top_level_fields(body)
    api_version, kind = _read_type_meta(
        {name: decode_raw(raw) for name, raw in fields.items() if json_codec.type_meta_field(name)}
    )
    group, _, api_version_name = api_version.rpartition("/")
    if not group and not api_version_name:
        group, api_version_name = review_kind.group, version
    elif not api_version_name and group == review_kind.group:
        api_version_name = version
    group_version = f"{group}/{api_version_name}" if group else api_version_name
    actual = kind or review_kind.kind
    if (group, api_version_name, actual) != (review_kind.group, version, review_kind.kind):
        go_type = f"({version}.{review_kind.kind})"
        if actual in _UNVERSIONED:
            raise MalformedReviewError(f"converting (v1.{actual}) to {go_type}: unknown conversion")
        if (
            group == review_kind.group
            and api_version_name in _SUPPORTED
            and actual in review_kind.registered | _COMMON_KINDS
        ):
            package = "v1" if actual in _COMMON_KINDS else api_version_name
            raise MalformedReviewError(f"converting ({package}.{actual}) to {go_type}: unknown conversion")
        quoted_version = go_quote(group_version)
        raise MalformedReviewError(
            f"no kind {go_quote(actual)} is registered for version {quoted_version} in scheme {go_quote(_SCHEME)}"
        )
    return Header(
        fields, string_or_empty(decode_raw(fields.get("apiVersion"))), string_or_empty(decode_raw(fields.get("kind")))
    )


def decode_review(review: Struct, fields: dict[str, Raw], unparsed: Collection[str]) -> JsonObject:
    """Decode the fields `request` and `response` of a review.

    Of the fields inside them that are named in `unparsed`, only the JSON type is checked.

    Raise MalformedReviewError if a field cannot be decoded.
    """
    parts = {name: _decode_part(raw, unparsed) for name, raw in fields.items() if name in ("request", "response")}
    try:
        return machinery.decode(parts, review, report=False)[0]
    except machinery.UndecodableObjectError as error:
        raise MalformedReviewError(error.detail) from None


def _decode_part(raw: Raw, unparsed: Collection[str]) -> Any:
    try:
        inner = raw_fields(raw)
    except msgspec.ValidationError:
        return decode_raw(raw)
    return {name: _decode_unparsed(item) if name in unparsed else decode_raw(item) for name, item in inner.items()}


def _decode_unparsed(raw: Raw) -> Any:
    first = bytes(memoryview(raw)[:1])
    return [] if first == b"[" else {} if first == b"{" else decode_raw(raw)


def _read_type_meta(value: Any) -> tuple[str, str]:
    """Return the apiVersion and kind of a decoded response. Raise MalformedReviewError if they are not strings."""
    try:
        return json_codec.read_type_meta(value)
    except BadRequestError as error:
        raise MalformedReviewError(error.message) from None


def _top_level_fields(body: bytes) -> dict[str, Raw]:
    try:
        return raw_fields(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        # Like kube-apiserver, ignore the Content-Type. A body that starts with `{` is JSON, and any other body is YAML.
        value = json_codec.decode(body) if body.lstrip().startswith(b"{") else yaml_codec.decode(body)
    except (json_codec.MalformedJSONError, yaml_codec.MalformedYAMLError) as error:
        raise MalformedReviewError(str(error)) from None
    if not isinstance(value, dict):
        # The body `null` is decoded as an empty review. For any other value, `_read_type_meta` raises an error.
        _read_type_meta(value)
        return {}
    return {k: Raw(json_codec.encode(v)) for k, v in value.items()}


def decode_raw(raw: Raw | None) -> Any:
    return json_codec.decode(bytes(raw or b"null"))
