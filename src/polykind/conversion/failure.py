"""How a conversion fails: first in the reference's words, then with what a person needs to find the fault.

Failure             one attempt went wrong; another, smaller one may do better
ConversionFailed    what the client is told
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from polykind.contract import JsonObject
from polykind.errors import APIError, InternalError, UnknownReasonError

CALL = "conversion_webhook_call_failure"
MALFORMED = "conversion_webhook_malformed_response_failure"
PARTIAL = "conversion_webhook_partial_response_failure"
INVALID_OBJECT = "conversion_webhook_invalid_converted_object_failure"

_LONGEST = 16 * 1024
"""A converter may answer with megabytes of complaint; a client is shown the beginning."""


class Failure(Exception):
    """An attempt to convert some objects failed.

    `said` is the reference's whole text, `kind` its type in the metrics, `cause` one of HTTPStatus, Timeout, TLS,
    Connection, Answer, Exception. `divisible` says that fewer objects at a time could succeed.
    """

    def __init__(
        self, said: str, kind: str, cause: str, *, status: int = 0, divisible: bool = True, explained: str = ""
    ) -> None:
        said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
        super().__init__(said)
        self.said = said
        self.kind = kind
        self.cause = cause
        self.status = status
        self.divisible = divisible
        self.explained = explained

    @property
    def timed_out(self) -> bool:
        return self.cause == "Timeout"

    def explanation(self) -> str:
        if self.explained:
            return self.explained
        if self.cause == "HTTPStatus":
            try:
                return f"{self.status} {HTTPStatus(self.status).phrase}"
            except ValueError:
                return f"{self.status}"
        return _EXPLANATIONS[self.cause]


_EXPLANATIONS = {
    "Timeout": "no answer in time",
    "TLS": "no trusted TLS connection",
    "Connection": "no connection, or it broke",
    "Answer": "the answer is not acceptable",
    "Exception": "the converter raised an exception",
}


class ConversionFailedError(UnknownReasonError):
    """A 500 that begins as the reference's does and goes on to name the object, the versions and the converter."""

    def __init__(self, failure: Failure, obj: JsonObject, to: str, address: str) -> None:
        subject = Subject(obj)
        explanation = failure.explanation()
        causes = [
            {"reason": "FromVersion", "message": subject.api_version},
            {"reason": "ToVersion", "message": to},
            {"reason": "Converter", "message": address},
            {"reason": failure.cause, "message": str(failure.status) if failure.status else explanation},
        ]
        about = {"name": subject.name, "group": subject.group, "kind": subject.kind, "uid": subject.uid}
        super().__init__(
            f"{failure.said}; conversion from version {subject.version} to version {version_of(to)} for {subject}:"
            f' "{explanation}" while calling {address}',
            details={**{k: v for k, v in about.items() if v}, "causes": causes},
        )
        self.failure = failure

    @property
    def upstream_message(self) -> str:
        return self.failure.said

    def as_watch_error(self) -> APIError:
        return InternalError(self.upstream_message)


class Subject:
    """Who an object says it is; whatever is not a string counts as empty, as in the reference."""

    __slots__ = ("api_version", "kind", "name", "namespace", "uid")

    def __init__(self, obj: JsonObject) -> None:
        metadata = obj.get("metadata")
        fields: JsonObject = metadata if isinstance(metadata, dict) else {}
        self.api_version = text(obj.get("apiVersion"))
        self.kind = text(obj.get("kind"))
        self.name = text(fields.get("name"))
        self.namespace = text(fields.get("namespace"))
        self.uid = text(fields.get("uid"))

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return version_of(self.api_version)

    def __str__(self) -> str:
        name = self.name or "an object without a name"
        full = f"{self.namespace}/{name}" if self.namespace else name
        return f"{full} (uid {self.uid})" if self.uid else full


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def version_of(api_version: str) -> str:
    return api_version.rpartition("/")[2]


def frame(obj: JsonObject) -> str:
    """How every complaint about a conversion of this object begins."""
    return f"conversion webhook for {text(obj.get('apiVersion'))}, Kind={text(obj.get('kind'))}"
