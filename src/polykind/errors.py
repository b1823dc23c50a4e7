"""What can go wrong with a request, as Kubernetes tells it.

APIError                    any refusal; `status()` is the Status object to send
├── BadRequest              400
├── Unauthorized            401
├── Forbidden               403
├── NotFound                404
├── MethodNotAllowed        405
├── NotAcceptable           406
├── AlreadyExists           409
├── Conflicted              409
├── Expired                 410
├── TooLarge                413
├── UnsupportedMediaType    415
├── Invalid                 422, made of FieldErrors
├── InternalError           500 with the reason InternalError
├── Unexplained             500 with a message alone, as the reference answers to a plain error
├── ServiceUnavailable      503
└── Timeout                 504

A FieldError is one complaint about one field; rooms that judge values return lists of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from polykind.contract import JsonObject
from polykind.golang.text import go_float, go_json, go_quote, json_bytes


class _Omitted:
    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = _Omitted()
"""The value of a FieldError that shows none."""

_WORDS = {
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
_VALUELESS = {
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueTooLong",
    "FieldValueTooShort",
    "InternalError",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One complaint: `reason` is the cause's reason on the wire, `field` a path such as spec.versions[0].name."""

    reason: str
    field: str
    value: Any
    detail: str = ""

    def body(self) -> str:
        text = _WORDS[self.reason]
        if self.reason not in _VALUELESS and self.value is not OMITTED:
            text = f"{text}: {_shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"

    def cause(self) -> JsonObject:
        return {"reason": self.reason, "message": self.body(), "field": self.field}


def _shown(value: Any) -> str:
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


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """`supported` in the order to be shown; the reference sorts where it says so."""
    quoted = ", ".join(go_quote(v) for v in supported)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {quoted}" if quoted else "")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, "", detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def too_long(field: str, most: int) -> FieldError:
    detail = f"may not be more than {most} byte{'' if most == 1 else 's'}" if most >= 0 else "value is too long"
    return FieldError("FieldValueTooLong", field, OMITTED, detail)


def too_many(field: str, actual: int, most: int) -> FieldError:
    detail = f"must have at most {most} item{'' if most == 1 else 's'}" if most >= 0 else "has too many items"
    return FieldError("FieldValueTooMany", field, actual if actual >= 0 else OMITTED, detail)


def internal(field: str, detail: str) -> FieldError:
    return FieldError("InternalError", field, None, detail)


def aggregate(errors: Sequence[FieldError]) -> str:
    """Several errors as one text: each once, in brackets if more than one."""
    texts = list(dict.fromkeys(str(e) for e in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def qualified(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


class APIError(Exception):
    """A request that is refused: the Status to send, and what to do about it."""

    code = 500
    reason = ""
    detailed = False
    """Whether the Status has details even where there are none to tell."""

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
        if self.details or self.detailed:
            out["details"] = self.details
        out["code"] = self.code
        return out

    @property
    def said(self) -> str:
        """What the reference says of it, and no more: what others quote."""
        return self.message

    def as_event(self) -> APIError:
        """How a watch tells of it, once it has begun."""
        return self

    def encode(self) -> bytes:
        return json_bytes(self.status(), ordered=True) + b"\n"


def _about(name: str, group: str, kind: str) -> JsonObject:
    return {k: v for k, v in (("name", name), ("group", group), ("kind", kind)) if v}


class BadRequestError(APIError):
    code, reason = 400, "BadRequest"


class UnauthorizedError(APIError):
    code, reason = 401, "Unauthorized"

    def __init__(self) -> None:
        super().__init__("Unauthorized")


class ForbiddenError(APIError):
    code, reason = 403, "Forbidden"
    detailed = True

    def __init__(
        self, resource: str, group: str, name: str, why: str, *, causes: list[JsonObject] | None = None
    ) -> None:
        details = _about(name, group, resource)
        if causes:
            details["causes"] = causes
        subject = qualified(resource, group)
        if subject:
            subject = f"{subject} {go_quote(name)} is " if name else f"{subject} is "
        super().__init__(f"{subject}forbidden: {why}", details=details)


class NotFoundError(APIError):
    code, reason = 404, "NotFound"
    detailed = True

    def __init__(self, resource: str, group: str, name: str) -> None:
        text = f"{qualified(resource, group)} {go_quote(name)} not found"
        super().__init__(text, details=_about(name, group, resource))


class MethodNotAllowedError(APIError):
    code, reason = 405, "MethodNotAllowed"
    detailed = True

    def __init__(self, resource: str, group: str, verb: str) -> None:
        super().__init__(
            f'{verb} is not supported on resources of kind "{qualified(resource, group)}"',
            details=_about("", group, resource),
        )


def nothing_here() -> NotFoundError:
    """What is said of a path that no built-in resource has."""
    error = NotFoundError("", "", "")
    error.message, error.details, error.detailed = "the server could not find the requested resource", {}, True
    return error


def not_allowed_here() -> MethodNotAllowedError:
    """What is said of a method where what is asked for is no custom resource."""
    error = MethodNotAllowedError("", "", "")
    error.message, error.details = "the server does not allow this method on the requested resource", {}
    return error


class NotAcceptableError(APIError):
    code, reason = 406, "NotAcceptable"


class AlreadyExistsError(APIError):
    code, reason = 409, "AlreadyExists"
    detailed = True

    def __init__(self, resource: str, group: str, name: str) -> None:
        text = f"{qualified(resource, group)} {go_quote(name)} already exists"
        super().__init__(text, details=_about(name, group, resource))


class ConflictError(APIError):
    code, reason = 409, "Conflict"
    detailed = True


def conflict(resource: str, group: str, name: str, why: str) -> ConflictError:
    return ConflictError(
        f"Operation cannot be fulfilled on {qualified(resource, group)} {go_quote(name)}: {why}",
        details=_about(name, group, resource),
    )


class ExpiredError(APIError):
    code, reason = 410, "Expired"


class RequestTooLargeError(APIError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaTypeError(APIError):
    code, reason = 415, "UnsupportedMediaType"


class InvalidError(APIError):
    code, reason = 422, "Invalid"
    detailed = True

    def __init__(self, kind: str, group: str, name: str, errors: Sequence[FieldError]) -> None:
        details = _about(name, group, kind)
        if errors:
            details["causes"] = [e.cause() for e in errors]
        summary = f"{qualified(kind, group)} {go_quote(name)} is invalid"
        super().__init__(f"{summary}: {aggregate(errors)}" if errors else summary, details=details)
        self.errors = list(errors)


class InternalError(APIError):
    code, reason = 500, "InternalError"

    def __init__(self, why: str) -> None:
        super().__init__(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


class UnknownReasonError(APIError):
    """What the reference makes of an error that is not a Status of its own: a 500 with nothing but a message."""

    def as_event(self) -> APIError:
        return InternalError(self.message)


class ServiceUnavailableError(APIError):
    code, reason = 503, "ServiceUnavailable"


class RequestTimeoutError(APIError):
    code, reason = 504, "Timeout"
