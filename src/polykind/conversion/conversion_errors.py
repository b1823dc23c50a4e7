"""Errors of conversions.

AttemptError             one attempt to convert a batch of objects failed; a smaller batch may succeed
ConversionFailedError    the error response for the client: kube-apiserver's message, then the object and the converter
"""

from __future__ import annotations

from http import HTTPStatus

from polykind.contract import JsonObject
from polykind.errors import APIError, InternalError, UnknownReasonError
from polykind.webhook.target import string_or_empty

CALL = "conversion_webhook_call_failure"
MALFORMED = "conversion_webhook_malformed_response_failure"
PARTIAL = "conversion_webhook_partial_response_failure"
INVALID_OBJECT = "conversion_webhook_invalid_converted_object_failure"

_MAX_MESSAGE_CHARS = 16 * 1024
"""The maximum length of a converter's error text in a response. Longer texts are truncated."""


class AttemptError(Exception):
    """An attempt to convert some objects failed.

    `message` is the complete message as in kube-apiserver, `kind` the failure type in kube-apiserver's metrics, and
    `cause` one of HTTPStatus, Timeout, TLS, Connection, Size, Answer, Refused, Exception. `divisible` is true if an
    attempt with fewer objects could succeed. `detail` is what the converter has said besides, and `hint` what to do.
    """

    review = ""
    """The uid of the ConversionReview, by which the webhook's log can be searched."""

    def __init__(
        self,
        message: str,
        kind: str,
        cause: str,
        *,
        status: int = 0,
        divisible: bool = True,
        explanation: str = "",
        detail: str = "",
        hint: str = "",
    ) -> None:
        message = message if len(message) <= _MAX_MESSAGE_CHARS else f"{message[:_MAX_MESSAGE_CHARS]}..."
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.cause = cause
        self.status = status
        self.divisible = divisible
        self.explanation = explanation
        self.detail = detail
        self.hint = hint

    @property
    def timed_out(self) -> bool:
        return self.cause == "Timeout"

    def explain(self) -> str:
        """Return a short explanation of the failure for the user."""
        explanation = self.explanation or self._explain_cause()
        return f"{explanation}: {self.detail}" if self.detail else explanation

    def _explain_cause(self) -> str:
        if self.cause != "HTTPStatus":
            return _EXPLANATIONS[self.cause]
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return f"{self.status}"


_EXPLANATIONS = {
    "Timeout": "no answer in time",
    "TLS": "no trusted TLS connection",
    "Connection": "no connection, or it broke",
    "Size": "the answer is too large",
    "Answer": "the answer is not acceptable",
    "Refused": "the webhook reports a failure",
    "Exception": "the converter raised an exception",
}


_OUTAGES = frozenset({"Connection", "TLS", "Timeout", "HTTPStatus"})


class ConversionFailedError(UnknownReasonError):
    """A response with status 500. Its message is kube-apiserver's, followed by what helps to find the fault.

    This is the object, the versions, the answer, the address, the uid of the review, and a hint.
    """

    def __init__(self, failure: AttemptError, obj: JsonObject, to: str, address: str) -> None:
        identity = ObjectIdentity(obj)
        explanation = failure.explain()
        causes = [
            {"reason": "FromVersion", "message": identity.api_version},
            {"reason": "ToVersion", "message": to},
            {"reason": "Converter", "message": address},
            {"reason": failure.cause, "message": str(failure.status) if failure.status else explanation},
        ]
        optional = {"Body": failure.detail, "Review": failure.review, "Hint": failure.hint}
        causes += [{"reason": reason, "message": text} for reason, text in optional.items() if text]
        details = {"name": identity.name, "group": identity.group, "kind": identity.kind, "uid": identity.uid}
        review = f" (review {failure.review})" if failure.review else ""
        super().__init__(
            f"{failure.message}; conversion from version {identity.version} to version {version_of(to)} for {identity}:"
            f' "{explanation}" while calling {address}{review}{f"; {failure.hint}" if failure.hint else ""}',
            details={**{k: v for k, v in details.items() if v}, "causes": causes},
        )
        self.failure = failure
        self.address = address

    @property
    def is_outage(self) -> bool:
        """True if the converter was not reached or did not answer, so that the object is not at fault."""
        return self.failure.cause in _OUTAGES

    @property
    def upstream_message(self) -> str:
        return self.failure.message

    def as_watch_error(self) -> APIError:
        # kube-apiserver's Status with its cause. Only the message goes on.
        error = InternalError(self.message)
        error.details = InternalError(self.upstream_message).details
        return error


class ObjectIdentity:
    """The identity fields of an object, such as its name and uid. As in kube-apiserver, values that are not strings are
    read as "".
    """

    __slots__ = ("api_version", "kind", "name", "namespace", "uid")

    def __init__(self, obj: JsonObject) -> None:
        metadata = obj.get("metadata")
        fields: JsonObject = metadata if isinstance(metadata, dict) else {}
        self.api_version = string_or_empty(obj.get("apiVersion"))
        self.kind = string_or_empty(obj.get("kind"))
        self.name = string_or_empty(fields.get("name"))
        self.namespace = string_or_empty(fields.get("namespace"))
        self.uid = string_or_empty(fields.get("uid"))

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


def version_of(api_version: str) -> str:
    return api_version.rpartition("/")[2]


def error_prefix(obj: JsonObject) -> str:
    """Return the beginning of every error message about converting this object."""
    return f"conversion webhook for {string_or_empty(obj.get('apiVersion'))}, Kind={string_or_empty(obj.get('kind'))}"
