"""Notes of a request: warnings for its client, and what its audit events record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polykind.auth.authorizer import Decision
    from polykind.auth.user import User
    from polykind.contract import JsonObject
    from polykind.resources.resource import ServedVersion

_MAX_WARNINGS: Final = 4096
"""More warnings have no room in the headers of a response."""


class Notes:
    """Keeps the warnings of a request that is not audited, and ignores the rest. `AuditContext` records it all."""

    __slots__ = ("warnings",)

    audited = False

    def __init__(self) -> None:
        self.warnings: dict[str, None] = {}
        """The texts to send as Warning headers, in order, as the keys of a dict."""

    @property
    def records_responses(self) -> bool:
        """True if the audit event has the object of the response."""
        return False

    def warn(self, text: str) -> None:
        """Add a warning to the response, unless it has the same warning or too many warnings."""
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings[text] = None

    async def begin(self, user: User, path: str, parts: Sequence[str]) -> bool:
        """Evaluate the audit policy for an authenticated request, and emit the event of the stage RequestReceived.

        Return False if the request must be rejected, because a backend in the mode blocking-strict has failed.
        """
        return True

    def reject(self, path: str, parts: Sequence[str]) -> None:
        """Evaluate the audit policy for a request whose authentication has failed. It gets only one event."""

    def impersonate(self, user: User, constraint: str) -> None:
        """Record the impersonated user. `constraint` is the verb of a constrained impersonation, or ""."""

    def decide(self, decision: Decision) -> None:
        """Record the authorizer's decision."""

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation. Like kube-apiserver, keep the first value of a key."""

    def annotate_admission(self, key: str, value: str) -> None:
        """Add an annotation of an admission plugin. Like kube-apiserver, ignore a key that is not `prefix/name`."""

    def annotate_request_level(self, key: str, value: str) -> None:
        """Add an annotation of an admission plugin only if the level is Request or RequestResponse."""

    def track_latency(self, layer: str, seconds: float) -> None:
        """Add the time that a layer took."""

    def record_object(self, version: ServedVersion | None, obj: JsonObject) -> None:
        """Record the decoded object of a create or an update. Only the first call has an effect.

        `version` is the version of the object, or None if its fields are already in order.
        """

    def record_options(self, options: JsonObject) -> None:
        """Record the DeleteOptions in the body of a request."""

    def record_patch(self) -> None:
        """Record the patch in the body of a request. A patch in YAML is recorded in JSON."""

    def record_response(self, encoded: bytes) -> None:
        """Record the JSON of a response that is sent in another format."""

    def record_status(self, status: JsonObject) -> None:
        """Record the Status that the server responds with."""
