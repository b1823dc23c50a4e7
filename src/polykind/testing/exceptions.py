"""What a test asked for and cannot have."""

from __future__ import annotations


class Refused(Exception):
    """The text says what is wrong and what to do; of an answer of the API server, it is the server's own message.

    `status` is the HTTP status of that answer, 0 if the server was not asked.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
