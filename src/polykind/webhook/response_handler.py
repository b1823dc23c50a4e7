"""The receiving side of a connection to a webhook, with a bound on informational (1xx) responses."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

_MAX_INFORMATIONAL = 100
"""The maximum number of informational responses to one request. Go's HTTP client accepts 10 MiB of them."""
_SLICE_BYTES = 8 * 1024


class TooManyInformationalError(aiohttp.ClientError):
    """A webhook has sent too many informational responses before the final one."""


class BoundedResponseHandler(ResponseHandler):
    """A connection that refuses many informational responses before aiohttp has parsed them.

    aiohttp accepts any number, and its work on them holds the event loop: one read receives 10,000 of them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._awaits_final = False
        self._informational = 0

    def set_response_params(self, **params: Any) -> None:
        """Prepare for the response to the next request."""
        self._awaits_final, self._informational = True, 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Parse received data: in slices until the head of the final response is complete."""
        while self._awaits_final and len(data) > _SLICE_BYTES:
            super().data_received(data[:_SLICE_BYTES])
            if self.exception() is not None:
                return
            data = data[_SLICE_BYTES:]
        super().data_received(data)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Pass the head of a final response on, and skip that of an informational one."""
        code = data[0].code
        # 101 is a final status: the connection is no longer HTTP.
        if code == 101 or not 100 <= code <= 199:
            self._awaits_final = False
            super().feed_data(data, size)
            return
        self._informational += 1
        if self._informational == _MAX_INFORMATIONAL + 1:
            self._refuse()

    def _refuse(self) -> None:
        # Go's text, from when its client counted them.
        message = "net/http: too many 1xx informational responses"
        self.set_exception(TooManyInformationalError(f"net/http: HTTP/1.x transport connection broken: {message}"))
        if self.transport is not None:
            self.transport.abort()
