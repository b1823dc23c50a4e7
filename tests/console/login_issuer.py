"""A program that is an OpenID Connect issuer with a sign-in page. It prints its authenticator and runs until killed.

Playwright and aiohttp cannot share a thread, and connections that a browser keeps outlive an event loop.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from tests.auth.oidc.issuer import Issuer


class LoginIssuer(Issuer):
    """An issuer whose user is always signed in. It checks the code, the client, the redirect and the PKCE verifier.

    A refresh token works once. `POST /revoke` makes all of them invalid.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self.issued = 0

    def add_endpoints(self, application: web.Application) -> None:
        application.router.add_get("/authorize", self._authorize)
        application.router.add_post("/token", self._token)
        application.router.add_post("/revoke", self._revoke)
        application.on_response_prepare.append(_allow_origin)

    async def _authorize(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        code = f"code-{len(self.requests)}"
        self.requests[code] = query
        target = f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
        raise web.HTTPFound(target)

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form["grant_type"] == "refresh_token":
            return self._refresh(str(form["refresh_token"]))
        asked = self.requests.pop(str(form["code"]))
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        checks = {
            "challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"],
            "method": asked["code_challenge_method"] == "S256",
            "client": form["client_id"] == asked["client_id"] == "polykind",
            "redirect": form["redirect_uri"] == asked["redirect_uri"],
            "secret": "client_secret" not in form,
            "scope": "offline_access" in asked["scope"].split(),
        }
        if problems := [name for name, fine in checks.items() if not fine]:
            return web.json_response({"error": "invalid_request", "error_description": " ".join(problems)}, status=400)
        return self._tokens(nonce=asked["nonce"])

    def _refresh(self, token: str) -> web.Response:
        if token not in self.refresh_tokens:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.refresh_tokens.remove(token)
        return self._tokens()

    def _tokens(self, **claims: Any) -> web.Response:
        self.issued += 1
        refresh_token = f"refresh-{self.issued}"
        self.refresh_tokens.add(refresh_token)
        token = self.token(jti=str(self.issued), **claims)
        return web.json_response({"id_token": token, "refresh_token": refresh_token, "token_type": "Bearer"})

    async def _revoke(self, request: web.Request) -> web.Response:
        self.refresh_tokens.clear()
        return web.Response()


async def _allow_origin(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Access-Control-Allow-Origin"] = request.headers.get("Origin", "*")


async def main() -> None:
    issuer = LoginIssuer()
    async with issuer.serve():
        base = issuer.url
        issuer.discovery = {
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "scopes_supported": ["openid", "profile", "offline_access"],
        }
        print(json.dumps(issuer.config()), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
