"""What an answer to a review says it is, read as the reference's client reads it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from polykind.apis import machinery
from polykind.apis.machinery import Struct
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.conversion.failure import text
from polykind.errors import BadRequestError
from polykind.golang.fmt import go_quote

_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_SUPPORTED = ("v1", "v1beta1")
_UNVERSIONED = frozenset({"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})
_OPTIONS = frozenset(f"{verb}Options" for verb in ("List", "Get", "Delete", "Create", "Update", "Patch"))
_EVERYWHERE = _OPTIONS | {"WatchEvent"}
"""What every version of every group has."""

raw_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Malformed(Exception):
    """The answer is no review that can be read."""


class Reviews(NamedTuple):
    """A kind of review: its group, its name, and what else its group has."""

    group: str
    kind: str
    registered: frozenset[str]


class Header(NamedTuple):
    """The fields of an answer, and the apiVersion and kind that it states."""

    fields: dict[str, Raw]
    api_version: str
    kind: str

    def complaint(self, reviews: Reviews) -> str | None:
        """What v1 has against an answer that does not state what it is."""
        if (self.api_version, self.kind) == (f"{reviews.group}/v1", reviews.kind):
            return None
        got = self.api_version if "/" in self.api_version else f"/{self.api_version}"
        return f"expected webhook response of {reviews.group}/v1, Kind={reviews.kind}, got {got}, Kind={self.kind}"


def supported(versions: list[str] | tuple[str, ...]) -> str | None:
    """The first version of a review that both sides speak."""
    return next((v for v in versions if v in _SUPPORTED), None)


def header(reviews: Reviews, version: str, body: bytes) -> Header:
    """The head of an answer that is a review of a version. Raises Malformed."""
    fields = _fields(body)
    api_version, kind = _stated(
        {name: decoded(raw) for name, raw in fields.items() if json_codec.type_meta_field(name)}
    )
    group, _, given = api_version.rpartition("/")
    if not group and not given:
        group, given = reviews.group, version
    elif not given and group == reviews.group:
        given = version
    full = f"{group}/{given}" if group else given
    actual = kind or reviews.kind
    if (group, given, actual) != (reviews.group, version, reviews.kind):
        wanted = f"({version}.{reviews.kind})"
        if actual in _UNVERSIONED:
            raise Malformed(f"converting (v1.{actual}) to {wanted}: unknown conversion")
        if group == reviews.group and given in _SUPPORTED and actual in reviews.registered | _EVERYWHERE:
            package = "v1" if actual in _EVERYWHERE else given
            raise Malformed(f"converting ({package}.{actual}) to {wanted}: unknown conversion")
        named = go_quote(full)
        raise Malformed(f"no kind {go_quote(actual)} is registered for version {named} in scheme {go_quote(_SCHEME)}")
    return Header(fields, text(decoded(fields.get("apiVersion"))), text(decoded(fields.get("kind"))))


def read(review: Struct, fields: dict[str, Raw], closed: Collection[str]) -> JsonObject:
    """An answer as its type has it; of what is `closed` in its parts nothing is looked at but what it is.

    Raises Malformed.
    """
    parts = {name: _opened(raw, closed) for name, raw in fields.items() if name in ("request", "response")}
    try:
        return machinery.decode(parts, review, report=False)[0]
    except machinery.Undecodable as error:
        raise Malformed(error.why) from None


def _opened(raw: Raw, closed: Collection[str]) -> Any:
    try:
        inner = raw_fields(raw)
    except msgspec.ValidationError:
        return decoded(raw)
    return {name: _unopened(item) if name in closed else decoded(item) for name, item in inner.items()}


def _unopened(raw: Raw) -> Any:
    first = bytes(memoryview(raw)[:1])
    return [] if first == b"[" else {} if first == b"{" else decoded(raw)


def _stated(value: Any) -> tuple[str, str]:
    """The apiVersion and kind by which the reference chooses what to decode."""
    try:
        return json_codec.read_type_meta(value)
    except BadRequestError as error:
        raise Malformed(error.message) from None


def _fields(body: bytes) -> dict[str, Raw]:
    try:
        return raw_fields(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        # As the reference does: what begins like an object is JSON, all else is YAML whatever the headers say.
        value = json_codec.decode(body) if body.lstrip().startswith(b"{") else yaml_codec.decode(body)
    except (json_codec.MalformedJSONError, yaml_codec.MalformedYAMLError) as error:
        raise Malformed(str(error)) from None
    if not isinstance(value, dict):
        # Nothing but a null is taken for one.
        _stated(value)
        return {}
    return {k: Raw(json_codec.encode(v)) for k, v in value.items()}


def decoded(raw: Raw | None) -> Any:
    return json_codec.decode(bytes(raw or b"null"))
