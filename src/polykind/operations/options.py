"""Request options from query parameters or a DeleteOptions body, validated as kube-apiserver does.

Raise BadRequestError if a value cannot be parsed, and InvalidError if a parsed value is not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Self

import msgspec
from msgspec.structs import replace

from polykind.bounded_cache import remember
from polykind.codec.json_codec import read_type_meta
from polykind.errors import (
    BadRequestError,
    FieldError,
    InvalidError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from polykind.golang import duration
from polykind.golang.fmt import go_quote
from polykind.golang.json import json_float, json_type_name
from polykind.golang.query import Query, bool_value, first_value
from polykind.golang.strconv import parse_int64
from polykind.golang.utf8 import byte_length, decode_utf8
from polykind.selectors import field_selectors, label_selectors
from polykind.selectors.field_selectors import FieldSelector
from polykind.selectors.label_selectors import LabelSelector

_MAX_MANAGER_BYTES = 128
_integer = re.compile(r"[+-]?[0-9]+").fullmatch


def int_value(query: Query, name: str) -> int | None:
    """Return an int64 parameter, or None if it is absent. Raise BadRequestError if it is not an int64."""
    values = query.get(name)
    if not values:
        return None
    value = parse_int64(values[0])
    if value is None:
        reason = "value out of range" if _integer(values[0]) else "invalid syntax"
        raise BadRequestError(f"strconv.ParseInt: parsing {go_quote(values[0])}: {reason}")
    return value


class ListOptions(msgspec.Struct, frozen=True):
    """The options of a list, watch or deletecollection.

    As in kube-apiserver, `send_initial_events` is also true for a watch without a resourceVersion or with "0".
    """

    label_selector: LabelSelector = label_selectors.SELECT_ALL
    field_selector: FieldSelector = field_selectors.SELECT_ALL
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_: str = ""
    send_initial_events: bool | None = None

    @classmethod
    def from_query(cls, query: Query, *, watch: bool = False) -> ListOptions:
        """Parse and validate a query.

        `watch` is true for the deprecated /watch/ paths, which need no watch parameter.
        """
        if not query and not watch:
            return _DEFAULT_LIST
        watch_requested = bool_value(query, "watch") or False
        timeout, limit = int_value(query, "timeoutSeconds"), int_value(query, "limit")
        version, match = first_value(query, "resourceVersion"), first_value(query, "resourceVersionMatch")
        initial = bool_value(query, "sendInitialEvents")
        if watch_requested and initial is None and not match and version in ("", "0"):
            initial, match = True, "NotOlderThan"
        options = cls(
            label_selector=label_selectors.parse_label_selector(first_value(query, "labelSelector")),
            field_selector=field_selectors.parse_field_selector(first_value(query, "fieldSelector")),
            watch=watch_requested or watch,
            allow_watch_bookmarks=bool_value(query, "allowWatchBookmarks") or False,
            resource_version=version,
            resource_version_match=match,
            timeout_seconds=timeout,
            limit=limit or 0,
            continue_=first_value(query, "continue"),
            send_initial_events=initial,
        )
        _raise_if_invalid("ListOptions", options.watch_errors() if watch_requested else options.list_errors())
        return options

    def list_errors(self) -> list[FieldError]:
        field_errors = []
        match = self.resource_version_match
        if match:
            if not self.resource_version:
                field_errors.append(_forbidden_match("is forbidden unless resourceVersion is provided"))
            if self.continue_:
                field_errors.append(_forbidden_match("is forbidden when continue is provided"))
            if match not in ("Exact", "NotOlderThan"):
                field_errors.append(not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
            if match == "Exact" and self.resource_version == "0":
                field_errors.append(_forbidden_match('"exact" is forbidden for resourceVersion "0"'))
        if self.send_initial_events is not None:
            field_errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return field_errors

    def watch_errors(self) -> list[FieldError]:
        field_errors = []
        match = self.resource_version_match
        if self.send_initial_events is not None and match != "NotOlderThan":
            message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            field_errors.append(forbidden("resourceVersionMatch", message))
        if match:
            if self.send_initial_events is None:
                field_errors.append(_forbidden_match("is forbidden for watch unless sendInitialEvents is provided"))
            if match != "NotOlderThan":
                field_errors.append(not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
            if self.continue_:
                field_errors.append(_forbidden_match("is forbidden when continue is provided"))
        return field_errors


def _forbidden_match(message: str) -> FieldError:
    return forbidden("resourceVersionMatch", f"resourceVersionMatch {message}")


_DEFAULT_LIST: Final = ListOptions()


class GetOptions(msgspec.Struct, frozen=True):
    resource_version: str = ""

    @classmethod
    def from_query(cls, query: Query) -> GetOptions:
        return cls(first_value(query, "resourceVersion")) if query else _DEFAULT_GET


_DEFAULT_GET: Final = GetOptions()


class WriteOptions(msgspec.Struct, frozen=True):
    """The options of a write. `field_validation` is Ignore, Warn or Strict. `field_manager` may be ""."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"

    @classmethod
    def from_query(cls, query: Query) -> Self:
        if not query:
            return cls()
        # The class names are the kinds that kube-apiserver names in its errors.
        _raise_if_invalid(cls.__name__, _write_errors(query))
        return cls(*_write_options(query))


class CreateOptions(WriteOptions, frozen=True):
    """Options of a create."""


class UpdateOptions(WriteOptions, frozen=True):
    """Options of an update."""


class PatchOptions(WriteOptions, frozen=True):
    """Options of a patch. `force` lets server-side apply take over fields of other field managers."""

    force: bool = False

    @classmethod
    def from_query(cls, query: Query, *, apply: bool = False) -> Self:
        """Parse and validate a query. Server-side apply (`apply`) requires a fieldManager and allows `force`."""
        force = bool_value(query, "force")
        field_errors = []
        if apply and not first_value(query, "fieldManager"):
            field_errors.append(required("fieldManager", "is required for apply patch"))
        if not apply and force is not None:
            field_errors.append(forbidden("force", "may not be specified for non-apply patch"))
        _raise_if_invalid("PatchOptions", field_errors + _write_errors(query))
        return cls(*_write_options(query), force or False)


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of a delete. `uid` and `resource_version` are preconditions."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    ignore_read_error: bool = False
    """True if the client wants to delete an object that cannot be read from the store."""
    read_error_conflicts: tuple[str, ...] = ()
    """The names of options that the client has set although they must not be combined with `ignore_read_error`."""

    @classmethod
    def from_query(cls, query: Query) -> DeleteOptions:
        if not query:
            return _DEFAULT_DELETE
        policies = query.get("propagationPolicy")
        return _validated_delete_options(
            query.get("dryRun") or [],
            int_value(query, "gracePeriodSeconds"),
            bool_value(query, "orphanDependents"),
            policies[0] if policies else None,
            first_value(query, "uid") or None,
            first_value(query, "resourceVersion") or None,
            bool_value(query, _IGNORE_READ_ERROR),
        )

    @classmethod
    def from_body(cls, body: Any) -> DeleteOptions:
        """Read a decoded body of kind DeleteOptions in any API version. Raise BadRequestError if it is invalid."""
        version, kind = read_type_meta(body)
        if kind not in ("", "DeleteOptions"):
            raise _not_delete_options(version or _META_API_VERSION, kind)
        value = body or {}
        preconditions = _typed_field(value.get("preconditions"), "preconditions", dict, "v1.Preconditions") or {}
        dry_run = _typed_field(value.get("dryRun"), "dryRun", list, "[]string") or []
        return _validated_delete_options(
            [_typed_field(item, "dryRun", str, "string") or "" for item in dry_run],
            _typed_field(value.get("gracePeriodSeconds"), "gracePeriodSeconds", int, "int64"),
            _typed_field(value.get("orphanDependents"), "orphanDependents", bool, "bool"),
            _typed_field(value.get("propagationPolicy"), "propagationPolicy", str, "v1.DeletionPropagation"),
            _typed_field(preconditions.get("uid"), "preconditions.uid", str, "types.UID"),
            _typed_field(preconditions.get("resourceVersion"), "preconditions.resourceVersion", str, "string"),
            _typed_field(value.get(_IGNORE_READ_ERROR), _IGNORE_READ_ERROR, bool, "bool"),
            has_preconditions=value.get("preconditions") is not None,
        )


_IGNORE_READ_ERROR: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_META_API_VERSION: Final = "meta.k8s.io/v1"
_UNVERSIONED_KINDS: Final = frozenset(
    ["Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList", "CreateOptions", "UpdateOptions"]
)
_META_KINDS: Final = frozenset(
    [
        "WatchEvent",
        "ListOptions",
        "GetOptions",
        "PatchOptions",
        "Table",
        "TableOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
    ]
)


def _not_delete_options(version: str, kind: str) -> BadRequestError:
    """Return the error for a body of another kind than DeleteOptions. The text depends on the kind."""
    if kind in _UNVERSIONED_KINDS or (version == _META_API_VERSION and kind in _META_KINDS):
        return BadRequestError(f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion")
    return BadRequestError(
        f"no kind {go_quote(kind)} is registered for version {go_quote(version)} in scheme "
        '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
    )


_DEFAULT_DELETE: Final = DeleteOptions()
_POLICIES = ("Foreground", "Background", "Orphan", "nil")


def _validated_delete_options(
    dry_run: Sequence[str],
    grace: int | None,
    orphan: bool | None,
    policy: str | None,
    uid: str | None,
    version: str | None,
    ignore_read_error: bool | None,
    *,
    has_preconditions: bool = False,
) -> DeleteOptions:
    field_errors = []
    if orphan is not None and policy is not None:
        message = "orphanDependents and deletionPropagation cannot be both set"
        field_errors.append(invalid("propagationPolicy", policy, message))
    if policy is not None and policy not in _POLICIES[:3]:
        field_errors.append(not_supported("propagationPolicy", policy, _POLICIES))
    _raise_if_invalid("DeleteOptions", field_errors + _dry_run_errors(dry_run))
    options = DeleteOptions(bool(dry_run), grace, orphan, policy, uid, version)
    if not ignore_read_error:
        return options
    excluded = {
        "dryRun": bool(dry_run),
        "propagationPolicy": policy is not None,
        "orphanDependents": orphan is not None,
        "gracePeriodSeconds": grace is not None,
        "preconditions": has_preconditions,
    }
    conflicts = tuple(name for name, present in excluded.items() if present)
    return replace(options, ignore_read_error=True, read_error_conflicts=conflicts)


def _typed_field(value: Any, path: str, expected: type, go_type: str) -> Any:
    """Return the value if it has the expected type or is None. Otherwise raise BadRequestError with the text of Go's
    decoder.
    """
    if value is None or type(value) is expected:
        return value
    type_name = json_type_name(value)
    if type(value) is float and expected is int:
        type_name = f"number {json_float(value)}"
    struct, _, leaf = f"DeleteOptions.{path}".rpartition(".")
    if struct.endswith("preconditions"):
        leaf = f"preconditions.{leaf}"
        struct = "Preconditions"
    raise BadRequestError(f"json: cannot unmarshal {type_name} into Go struct field {struct}.{leaf} of type {go_type}")


def _raise_if_invalid(kind: str, errors: Sequence[FieldError]) -> None:
    if errors:
        raise InvalidError(kind, "meta.k8s.io", "", errors)


def _write_options(query: Query) -> tuple[bool, str, str]:
    return (
        bool(query.get("dryRun")),
        first_value(query, "fieldManager"),
        first_value(query, "fieldValidation") or "Warn",
    )


def _write_errors(query: Query) -> list[FieldError]:
    field_errors = []
    manager = first_value(query, "fieldManager")
    if len(manager) * 4 > _MAX_MANAGER_BYTES and byte_length(manager) > _MAX_MANAGER_BYTES:
        field_errors.append(too_long("fieldManager", _MAX_MANAGER_BYTES))
    if not manager.isprintable():
        for position, char in enumerate(manager):
            if not char.isprintable():
                at = byte_length(manager[:position])
                field_errors.append(
                    invalid("fieldManager", manager, f"invalid character U+{ord(char):04X} (at position {at})")
                )
    field_errors += _dry_run_errors(query.get("dryRun") or ())
    validation = first_value(query, "fieldValidation")
    if validation not in ("", "Ignore", "Strict", "Warn"):
        field_errors.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    return field_errors


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", list(values), ("All",))]


def manager_name(manager: str, user_agent: bytes) -> str:
    """Return the field manager of a write: `manager` or, if it is empty, the program in the User-Agent header."""
    return manager or _user_agent_program(user_agent)


@remember(256 * 1024)
def _user_agent_program(user_agent: bytes) -> str:
    out, size = [], 0
    for char in decode_utf8(user_agent.partition(b"/")[0]):
        if not char.isprintable():
            continue
        size += len(char.encode())
        if size > _MAX_MANAGER_BYTES:
            break
        out.append(char)
    return "".join(out)


def include_object(query: Query) -> str:
    """Return how much of each object the rows of a Table include: Metadata, Object or None.

    Raise BadRequestError if the query has another value.
    """
    policy = first_value(query, "includeObject") or "Metadata"
    if policy not in ("Metadata", "Object", "None"):
        error = invalid("includeObject", policy, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequestError(f"Unable to convert to Table as requested: {error}")
    return policy


_MAX_TIMEOUT_TEXT: Final = 256
"""Characters. The timeout is parsed before the client is authenticated."""


def request_timeout(query: Query) -> float | None:
    """Return the client's timeout in seconds, or None if the query has none. Raise BadRequestError if it is invalid."""
    text = first_value(query, "timeout")
    if not text:
        return None
    if len(text) > _MAX_TIMEOUT_TEXT:
        raise BadRequestError("invalid timeout specified in the request URL - time: the duration is too long")
    try:
        span = duration.parse_duration(text)
    except ValueError as error:
        raise BadRequestError(f"invalid timeout specified in the request URL - {error}") from None
    return span / 10**9 if span > 0 else None
