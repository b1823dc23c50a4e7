"""Errors returned to clients, each with the Status object that kube-apiserver sends.

APIError                        any error response; `status()` returns the Status
├── BadRequestError             400
├── UnauthorizedError           401
├── ForbiddenError              403
├── NotFoundError               404
├── MethodNotAllowedError       405
├── NotAcceptableError          406
├── AlreadyExistsError          409
├── ConflictError               409
├── ExpiredError                410
├── RequestTooLargeError        413
├── UnsupportedMediaTypeError   415
├── InvalidError                422, built from a list of FieldErrors
├── InternalError               500 with the reason InternalError
├── StorageReadError            500 with the reason StorageReadError
├── UnknownReasonError          500 with only a message: kube-apiserver's response to a plain Go error
├── ServiceUnavailableError     503
└── RequestTimeoutError         504

A FieldError is one validation error of one field. Validation functions return lists of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from polykind.contract import JsonObject
from polykind.golang.fmt import go_float, go_quote
from polykind.golang.json import encode_json, go_json


class _Omitted:
    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = _Omitted()
"""The `value` of a FieldError whose message does not contain a value."""

_REASON_TEXTS = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooShort": "Too short",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}
_REASONS_WITHOUT_VALUE = {
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueTooLong",
    "FieldValueTooShort",
    "InternalError",
}


MAX_FIELD_ERRORS: Final = 10_000
"""The maximum number of field errors in a response. kube-apiserver has no limit, but times out for too many errors."""
_MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024


class FieldError(msgspec.Struct, frozen=True):
    """A validation error of one field. `field` is a path such as spec.versions[0].name.

    `reason` is the reason of the cause in the Status, such as FieldValueInvalid.
    """

    reason: str
    field: str
    value: Any
    detail: str = ""
    privileged: bool = False
    """True for an error about privileged containers, which a server does not report if it allows them."""

    def body(self) -> str:
        text = _REASON_TEXTS[self.reason]
        if self.reason not in _REASONS_WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {_format_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"

    def cause(self) -> JsonObject:
        return {"reason": self.reason, "message": self.body(), "field": self.field}


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, str):
        return go_quote(value)
    return go_json(value)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, "", detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def invalid_struct(field: str, encoded: str, detail: str) -> FieldError:
    """Return an Invalid value error whose message contains a Go struct as JSON. `encoded` is this JSON."""
    return FieldError("FieldValueInvalid", field, OMITTED, f"{encoded}: {detail}")


def not_found(field: str, value: Any, detail: str = "") -> FieldError:
    return FieldError("FieldValueNotFound", field, value, detail)


def all_invalid(field: str, value: Any, details: Iterable[str]) -> list[FieldError]:
    """Return an Invalid value error for each detail, such as each message of a check in `names`."""
    return [invalid(field, value, detail) for detail in details]


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Return an Unsupported value error that lists `supported` in the given order.

    kube-apiserver sorts the list only for some fields, so the caller must sort it if necessary.
    """
    quoted = ", ".join(go_quote(v) for v in supported)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {quoted}" if quoted else "")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, "", detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def too_long(field: str, limit: int) -> FieldError:
    detail = f"may not be more than {limit} byte{'' if limit == 1 else 's'}" if limit >= 0 else "value is too long"
    return FieldError("FieldValueTooLong", field, OMITTED, detail)


def too_many(field: str, actual: int, limit: int) -> FieldError:
    detail = f"must have at most {limit} item{'' if limit == 1 else 's'}" if limit >= 0 else "has too many items"
    return FieldError("FieldValueTooMany", field, actual if actual >= 0 else OMITTED, detail)


def internal(field: str, detail: str) -> FieldError:
    return FieldError("InternalError", field, None, detail)


def aggregate_message(errors: Sequence[FieldError]) -> str:
    """Join the messages of the errors without duplicates. Like Go's Aggregate, put several messages in brackets."""
    texts = list(dict.fromkeys(str(e) for e in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def qualified_resource(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


class APIError(Exception):
    """An error response to a client. `status()` returns the Status to send.

    If `retry_after` is given, it tells the client after how many seconds to retry.
    """

    code = 500
    reason = ""
    include_details = False
    """True if the Status has a `details` object even when it is empty."""

    from_router = False
    """True if kube-apiserver's router raises the error. Then the resource's handler sends no warnings."""

    def __init__(self, message: str, *, details: JsonObject | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: JsonObject = dict(details) if details else {}
        if retry_after is not None:
            self.details["retryAfterSeconds"] = retry_after
        self.metadata: JsonObject = {}

    def status(self) -> JsonObject:
        out: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.details or self.include_details:
            out["details"] = self.details
        out["code"] = self.code
        return out

    @property
    def upstream_message(self) -> str:
        """The message without the text that Polykind adds to kube-apiserver's message. Other messages quote this."""
        return self.message

    def as_watch_error(self) -> APIError:
        """Return the error whose Status is sent as an ERROR event if this error ends a watch."""
        return self

    def encode(self) -> bytes:
        return encode_json(self.status(), sort_keys=False) + b"\n"


def _status_details(name: str, group: str, kind: str) -> JsonObject:
    return {k: v for k, v in (("name", name), ("group", group), ("kind", kind)) if v}


class BadRequestError(APIError):
    code, reason = 400, "BadRequest"


class UnauthorizedError(APIError):
    code, reason = 401, "Unauthorized"

    def __init__(self) -> None:
        super().__init__("Unauthorized")


class ForbiddenError(APIError):
    code, reason = 403, "Forbidden"
    include_details = True

    def __init__(
        self, resource: str, group: str, name: str, reason: str, *, causes: list[JsonObject] | None = None
    ) -> None:
        details = _status_details(name, group, resource)
        if causes:
            details["causes"] = causes
        subject = qualified_resource(resource, group)
        if subject:
            subject = f"{subject} {go_quote(name)} is " if name else f"{subject} is "
        super().__init__(f"{subject}forbidden: {reason}", details=details)


class NotFoundError(APIError):
    code, reason = 404, "NotFound"
    include_details = True

    def __init__(self, resource: str, group: str, name: str) -> None:
        text = f"{qualified_resource(resource, group)} {go_quote(name)} not found"
        super().__init__(text, details=_status_details(name, group, resource))


class MethodNotAllowedError(APIError):
    code, reason = 405, "MethodNotAllowed"
    include_details = True

    def __init__(self, resource: str, group: str, verb: str) -> None:
        super().__init__(
            f'{verb} is not supported on resources of kind "{qualified_resource(resource, group)}"',
            details=_status_details("", group, resource),
        )


def unknown_resource() -> NotFoundError:
    """Return the 404 error for a path that names no served resource."""
    error = NotFoundError("", "", "")
    error.message, error.details, error.include_details = "the server could not find the requested resource", {}, True
    return error


def method_not_allowed() -> MethodNotAllowedError:
    """Return the 405 error for a method that a path does not allow. Not used for custom resources."""
    error = MethodNotAllowedError("", "", "")
    error.message, error.details = "the server does not allow this method on the requested resource", {}
    return error


class NotAcceptableError(APIError):
    code, reason = 406, "NotAcceptable"


class AlreadyExistsError(APIError):
    code, reason = 409, "AlreadyExists"
    include_details = True

    def __init__(self, resource: str, group: str, name: str) -> None:
        text = f"{qualified_resource(resource, group)} {go_quote(name)} already exists"
        super().__init__(text, details=_status_details(name, group, resource))


class ConflictError(APIError):
    code, reason = 409, "Conflict"
    include_details = True


def conflict(resource: str, group: str, name: str, reason: str) -> ConflictError:
    return ConflictError(
        f"Operation cannot be fulfilled on {qualified_resource(resource, group)} {go_quote(name)}: {reason}",
        details=_status_details(name, group, resource),
    )


class ExpiredError(APIError):
    code, reason = 410, "Expired"


class RequestTooLargeError(APIError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaTypeError(APIError):
    code, reason = 415, "UnsupportedMediaType"


class TooManyRequestsError(APIError):
    code, reason = 429, "TooManyRequests"


class InvalidError(APIError):
    code, reason = 422, "Invalid"
    include_details = True

    def __init__(self, kind: str, group: str, name: str, errors: Sequence[FieldError]) -> None:
        details = _status_details(name, group, kind)
        errors = _reportable(errors)
        if errors:
            details["causes"] = [e.cause() for e in errors]
        summary = f"{qualified_resource(kind, group)} {go_quote(name)} is invalid"
        super().__init__(f"{summary}: {aggregate_message(errors)}" if errors else summary, details=details)
        self.errors = list(errors)


def _reportable(errors: Sequence[FieldError]) -> Sequence[FieldError]:
    """Return the errors, without the last ones if there are too many or if their texts are too long in total."""
    if len(errors) < _FEW_ERRORS:
        return errors
    size = 0
    for count, error in enumerate(errors[:MAX_FIELD_ERRORS]):
        size += len(error.field) + len(error.detail)
        if size > _MAX_MESSAGE_BYTES and count:
            return errors[:count]
    return errors[:MAX_FIELD_ERRORS]


_FEW_ERRORS: Final = 16


class InternalError(APIError):
    code, reason = 500, "InternalError"

    def __init__(self, reason: str) -> None:
        super().__init__(f"Internal error occurred: {reason}", details={"causes": [{"message": reason}]})
        self.reason_text = reason
        """The message without the prefix that the constructor adds."""


class StorageReadError(APIError):
    """A list contains objects that cannot be decoded. The causes of the Status name these objects."""

    code, reason = 500, "StorageReadError"
    include_details = True

    def __init__(self, resource: str, group: str, causes: list[JsonObject]) -> None:
        details = {**_status_details("list", group, resource), "causes": causes}
        text = f"failed to read one or more {qualified_resource(resource, group)} from the storage"
        super().__init__(text, details=details)


class UnknownReasonError(APIError):
    """A 500 with only a message, as kube-apiserver sends for a Go error that is not a Status."""

    def as_watch_error(self) -> APIError:
        return InternalError(self.message)


class ServiceUnavailableError(APIError):
    code, reason = 503, "ServiceUnavailable"


class RequestTimeoutError(APIError):
    code, reason = 504, "Timeout"
