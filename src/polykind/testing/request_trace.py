"""The requests that a test server has answered, for the report of a failed test."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import NamedTuple

from polykind.http.connection import App
from polykind.http.messages import Request
from polykind.operations.responses import Response, Stream

_MAX_REQUESTS = 2000
"""The number of requests to remember. A trace starts with the oldest one of them."""
_NOT_SERVED = "the server could not find the requested resource"
"""The message for resources that are not served. `UnservedRequests` describes those requests."""
_MAX_REFUSALS = 20
"""The number of refused requests in the report of a failed test."""


class TracedRequest(NamedTuple):
    """One request and its response. A watch has the status 200 as soon as it starts."""

    method: str
    path: str
    status: int
    user_agent: str
    message: str
    """The server's message if the request was refused."""

    def __str__(self) -> str:
        agent = f"  [{self.user_agent}]" if self.user_agent else ""
        problem = f": {self.message}" if self.message else ""
        return f"{self.status} {self.method} {self.path}{problem}{agent}"


class RequestTrace:
    """Records the newest requests."""

    def __init__(self) -> None:
        self.requests: deque[TracedRequest] = deque(maxlen=_MAX_REQUESTS)

    def around(self, app: App) -> App:
        """Return an application that records the requests to another one."""

        async def traced(request: Request) -> Response | Stream:
            response = await app(request)
            self._record(request, response)
            return response

        return traced

    def refusals(self) -> list[str]:
        """Describe the requests with an error status, the first ones first. Equal ones are counted."""
        refused = [one for one in self.requests if one.status >= 400 and one.message != _NOT_SERVED]
        counts = Counter(one._replace(user_agent="") for one in refused)
        lines = [f"refused: {one}{f' ({count} times)' if count > 1 else ''}" for one, count in counts.items()]
        more = len(lines) - _MAX_REFUSALS
        return [*lines[:_MAX_REFUSALS], f"... and {more} more refused requests"] if more > 0 else lines

    def _record(self, request: Request, response: Response | Stream) -> None:
        status = response.status if isinstance(response, Response) else 200
        message = _message(response.body) if isinstance(response, Response) and status >= 400 else ""
        path = f"{request.path}?{request.query}" if request.query else request.path
        agent = request.headers.get(b"user-agent", b"").decode("latin-1")
        self.requests.append(TracedRequest(request.method, path, status, agent, message))


def _message(body: object) -> str:
    """Return the message of a Status in JSON; "" if the body is something else, such as protobuf."""
    try:
        status = json.loads(body) if isinstance(body, bytes) else None
    except ValueError:
        return ""
    return str(status.get("message", "")) if isinstance(status, dict) else ""
