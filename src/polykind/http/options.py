"""The options of a request: query parameters (or, to delete, a body) converted and judged as the reference does.

What cannot be converted is a BadRequest; what can be but must not be is an Invalid of the options' kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self

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
from polykind.golang.utf8 import decode_utf8
from polykind.http.messages import Query, bool_value, first_value, int_value, parse_query
from polykind.selectors import field_selectors, label_selectors
from polykind.selectors.field_selectors import FieldSelector
from polykind.selectors.label_selectors import LabelSelector

__all__ = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "Query",
    "UpdateOptions",
    "WriteOptions",
    "include_object",
    "manager_name",
    "parse_query",
    "request_timeout",
]

_LONGEST_MANAGER = 128


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What a list, a watch and a deletion of many ask for.

    A watch from nowhere (no resourceVersion or 0) has `send_initial_events` set, as the reference sets it.
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
        """`watch` is for the old paths that watch whatever the parameters say."""
        if not query and not watch:
            return _PLAIN_LIST
        watching = bool_value(query, "watch") or False
        timeout, limit = int_value(query, "timeoutSeconds"), int_value(query, "limit")
        version, match = first_value(query, "resourceVersion"), first_value(query, "resourceVersionMatch")
        initial = bool_value(query, "sendInitialEvents")
        if watching and initial is None and not match and version in ("", "0"):
            initial, match = True, "NotOlderThan"
        options = cls(
            label_selector=label_selectors.parse_label_selector(first_value(query, "labelSelector")),
            field_selector=field_selectors.parse_field_selector(first_value(query, "fieldSelector")),
            watch=watching or watch,
            allow_watch_bookmarks=bool_value(query, "allowWatchBookmarks") or False,
            resource_version=version,
            resource_version_match=match,
            timeout_seconds=timeout,
            limit=limit or 0,
            continue_=first_value(query, "continue"),
            send_initial_events=initial,
        )
        _refuse("ListOptions", options.watch_errors() if watching else options.list_errors())
        return options

    def list_errors(self) -> list[FieldError]:
        out = []
        match = self.resource_version_match
        if match:
            if not self.resource_version:
                out.append(_match_forbidden("is forbidden unless resourceVersion is provided"))
            if self.continue_:
                out.append(_match_forbidden("is forbidden when continue is provided"))
            if match not in ("Exact", "NotOlderThan"):
                out.append(not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
            if match == "Exact" and self.resource_version == "0":
                out.append(_match_forbidden('"exact" is forbidden for resourceVersion "0"'))
        if self.send_initial_events is not None:
            out.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return out

    def watch_errors(self) -> list[FieldError]:
        out = []
        match = self.resource_version_match
        if self.send_initial_events is not None and match != "NotOlderThan":
            says = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            out.append(forbidden("resourceVersionMatch", says))
        if match:
            if self.send_initial_events is None:
                out.append(_match_forbidden("is forbidden for watch unless sendInitialEvents is provided"))
            if match != "NotOlderThan":
                out.append(not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
            if self.continue_:
                out.append(_match_forbidden("is forbidden when continue is provided"))
        return out


def _match_forbidden(why: str) -> FieldError:
    return forbidden("resourceVersionMatch", f"resourceVersionMatch {why}")


_PLAIN_LIST: Final = ListOptions()


@dataclass(frozen=True, slots=True)
class GetOptions:
    resource_version: str = ""

    @classmethod
    def from_query(cls, query: Query) -> GetOptions:
        return cls(first_value(query, "resourceVersion")) if query else _PLAIN_GET


_PLAIN_GET: Final = GetOptions()


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """`field_validation` is Ignore, Warn or Strict; `field_manager` is "" where `manager_name` must be asked."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"

    @classmethod
    def from_query(cls, query: Query) -> Self:
        if not query:
            return cls()
        # The reference's names of the kinds are those of the classes.
        _refuse(cls.__name__, _write_errors(query))
        return cls(*_write_options(query))


class CreateOptions(WriteOptions):
    """Those of a create."""

    __slots__ = ()


class UpdateOptions(WriteOptions):
    """Those of an update."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PatchOptions(WriteOptions):
    """Those of a patch, and whether an apply takes fields from other managers."""

    force: bool = False

    @classmethod
    def from_query(cls, query: Query, *, apply: bool = False) -> Self:
        """`apply` tells whether the patch is an apply, which must name its manager and may use force."""
        force = bool_value(query, "force")
        out = []
        if apply and not first_value(query, "fieldManager"):
            out.append(required("fieldManager", "is required for apply patch"))
        if not apply and force is not None:
            out.append(forbidden("force", "may not be specified for non-apply patch"))
        _refuse("PatchOptions", out + _write_errors(query))
        return cls(*_write_options(query), force or False)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete; `uid` and `resource_version` are preconditions."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    uid: str | None = None
    resource_version: str | None = None

    @classmethod
    def from_query(cls, query: Query) -> DeleteOptions:
        if not query:
            return _PLAIN_DELETE
        policies = query.get("propagationPolicy")
        return _judged(
            query.get("dryRun") or [],
            int_value(query, "gracePeriodSeconds"),
            bool_value(query, "orphanDependents"),
            policies[0] if policies else None,
            first_value(query, "uid") or None,
            first_value(query, "resourceVersion") or None,
        )

    @classmethod
    def from_body(cls, body: Any) -> DeleteOptions:
        """The options of a decoded body of kind DeleteOptions, whatever its apiVersion. Raises BadRequest."""
        version, kind = read_type_meta(body)
        if kind not in ("", "DeleteOptions"):
            raise _no_options(version or _META, kind)
        value = body or {}
        conditions = _member(value.get("preconditions"), "preconditions", dict, "v1.Preconditions") or {}
        dry_run = _member(value.get("dryRun"), "dryRun", list, "[]string") or []
        return _judged(
            [_member(item, "dryRun", str, "string") or "" for item in dry_run],
            _member(value.get("gracePeriodSeconds"), "gracePeriodSeconds", int, "int64"),
            _member(value.get("orphanDependents"), "orphanDependents", bool, "bool"),
            _member(value.get("propagationPolicy"), "propagationPolicy", str, "v1.DeletionPropagation"),
            _member(conditions.get("uid"), "preconditions.uid", str, "types.UID"),
            _member(conditions.get("resourceVersion"), "preconditions.resourceVersion", str, "string"),
        )


_META: Final = "meta.k8s.io/v1"
_OF_ANY_VERSION: Final = frozenset(
    ["Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList", "CreateOptions", "UpdateOptions"]
)
_PARTIAL: Final = "PartialObjectMetadata"
_OF_META: Final = frozenset(
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


def _no_options(version: str, kind: str) -> BadRequestError:
    """Why a body of another kind is no DeleteOptions: no such kind is known, or nobody can make options of it."""
    if kind in _OF_ANY_VERSION or (version == _META and kind in _OF_META):
        return BadRequestError(f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion")
    return BadRequestError(
        f"no kind {go_quote(kind)} is registered for version {go_quote(version)} in scheme "
        '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
    )


_PLAIN_DELETE: Final = DeleteOptions()
_POLICIES = ("Foreground", "Background", "Orphan", "nil")


def _judged(
    dry_run: Sequence[str],
    grace: int | None,
    orphan: bool | None,
    policy: str | None,
    uid: str | None,
    version: str | None,
) -> DeleteOptions:
    out = []
    if orphan is not None and policy is not None:
        says = "orphanDependents and deletionPropagation cannot be both set"
        out.append(invalid("propagationPolicy", policy, says))
    if policy is not None and policy not in _POLICIES[:3]:
        out.append(not_supported("propagationPolicy", policy, _POLICIES))
    _refuse("DeleteOptions", out + _dry_run_errors(dry_run))
    return DeleteOptions(bool(dry_run), grace, orphan, policy, uid, version)


def _member(value: Any, path: str, wanted: type, shown: str) -> Any:
    """The value if it is of the wanted type, None if there is none. Raises BadRequest in the words of Go's decoder."""
    if value is None or type(value) is wanted:
        return value
    found = json_type_name(value)
    if type(value) is float and wanted is int:
        found = f"number {json_float(value)}"
    struct, _, leaf = f"DeleteOptions.{path}".rpartition(".")
    if struct.endswith("preconditions"):
        leaf = f"preconditions.{leaf}"
        struct = "Preconditions"
    raise BadRequestError(f"json: cannot unmarshal {found} into Go struct field {struct}.{leaf} of type {shown}")


def _refuse(kind: str, errors: Sequence[FieldError]) -> None:
    if errors:
        raise InvalidError(kind, "meta.k8s.io", "", errors)


def _write_options(query: Query) -> tuple[bool, str, str]:
    return (
        bool(query.get("dryRun")),
        first_value(query, "fieldManager"),
        first_value(query, "fieldValidation") or "Warn",
    )


def _write_errors(query: Query) -> list[FieldError]:
    out = []
    manager = first_value(query, "fieldManager")
    if len(manager) * 4 > _LONGEST_MANAGER and len(manager.encode(errors="replace")) > _LONGEST_MANAGER:
        out.append(too_long("fieldManager", _LONGEST_MANAGER))
    if not manager.isprintable():
        for position, char in enumerate(manager):
            if not char.isprintable():
                at = len(manager[:position].encode(errors="replace"))
                out.append(invalid("fieldManager", manager, f"invalid character U+{ord(char):04X} (at position {at})"))
    out += _dry_run_errors(query.get("dryRun") or ())
    validation = first_value(query, "fieldValidation")
    if validation not in ("", "Ignore", "Strict", "Warn"):
        out.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    return out


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", list(values), ("All",))]


def manager_name(manager: str, user_agent: bytes) -> str:
    """Who a write is attributed to: the manager it names, or the program that its User-Agent names."""
    return manager or _program(user_agent)


@lru_cache(maxsize=256)
def _program(user_agent: bytes) -> str:
    out, size = [], 0
    for char in decode_utf8(user_agent.partition(b"/")[0]):
        if not char.isprintable():
            continue
        size += len(char.encode())
        if size > _LONGEST_MANAGER:
            break
        out.append(char)
    return "".join(out)


def include_object(query: Query) -> str:
    """What a Table's rows carry: Metadata, Object or None. Raises BadRequest."""
    policy = first_value(query, "includeObject") or "Metadata"
    if policy not in ("Metadata", "Object", "None"):
        error = invalid("includeObject", policy, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequestError(f"Unable to convert to Table as requested: {error}")
    return policy


def request_timeout(query: Query) -> float | None:
    """The seconds that a request may take by its own word; None if it leaves that to the server. Raises BadRequest."""
    text = first_value(query, "timeout")
    if not text:
        return None
    try:
        span = duration.parse_duration(text)
    except ValueError as error:
        raise BadRequestError(f"invalid timeout specified in the request URL - {error}") from None
    return span / 10**9 if span > 0 else None
