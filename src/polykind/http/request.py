"""A request as it came off the socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polykind.auth.user import User


class Request:
    """One HTTP request: its head, its whole body, and who sent it once that is known."""

    __slots__ = (
        "audit_id",
        "body",
        "headers",
        "method",
        "path",
        "peer_certificate",
        "query",
        "timeout",
        "user",
        "warnings",
    )

    def __init__(self, method: str, path: str, query: str, headers: dict[bytes, bytes], body: bytes) -> None:
        self.method = method
        self.path = path
        """The path as sent: percent-encoded."""
        self.query = query
        self.headers = headers
        """Names in lower case; of a repeated header the first counts.

        Those of impersonation are joined by NUL; where there are any, there is one of the bare name, `impersonate`.
        """
        self.body = body
        self.audit_id = b""
        self.peer_certificate: dict[str, Any] | None = None
        self.user: User | None = None
        self.timeout: float | None = None
        """Seconds that the client is ready to wait; None: as long as the server allows."""
        self.warnings: list[str] = []
        """Texts for Warning headers, in the order they came up."""

    def header(self, name: bytes, default: str = "") -> str:
        value = self.headers.get(name)
        return default if value is None else value.decode("latin-1")

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
