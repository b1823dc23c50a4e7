"""What a request needs leave for: to be taken for another, and to do what it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from polykind.auth.authorizer import Authorizer
from polykind.auth.forbidden import require
from polykind.auth.request_attributes import requested
from polykind.auth.user import User
from polykind.http.request import Request

if TYPE_CHECKING:
    from polykind.auth.impersonation import Impersonation


class Permission:
    """Asks the authorizer, before anything else is looked at."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._impersonation: Impersonation | None = None

    def check(self, request: Request, user: User, parts: list[str]) -> User:
        """Who is to be taken for the one who asks. Raises APIError where he may not do what he asks for."""
        access = requested(user, request.method, unquote(request.path), parts, request.query)
        if b"impersonate" in request.headers:
            from polykind.auth.impersonation import Impersonation, wanted

            other = wanted(request.headers)
            if other is not None:
                self._impersonation = self._impersonation or Impersonation(self._authorizer)
                access = replace(access, user=self._impersonation.taken_for(other, access))
        if not self._authorizer.everything:
            require(self._authorizer, access)
        return access.user
