"""How somebody is told that he may not do something."""

from __future__ import annotations

from polykind import errors
from polykind.auth.authorizer import Access, Authorizer
from polykind.golang.text import go_quote

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def require(authorizer: Authorizer, access: Access) -> None:
    """Raise Forbidden unless it is allowed."""
    decision = authorizer.decide(access)
    if not decision.allowed:
        raise forbidden(access, decision.reason)


def forbidden(access: Access, why: str) -> errors.ForbiddenError:
    """The refusal of an access."""
    told = sanitized(_told(access))
    return errors.ForbiddenError(access.resource, access.group, access.name, f"{told}: {why}" if why else told)


def sanitized(text: str) -> str:
    """A text with what users have chosen, so that no browser takes it for HTML."""
    return text.translate(_ESCAPES)


def _told(access: Access) -> str:
    beginning = f"User {go_quote(access.user.name)} cannot {access.verb}"
    if access.path is not None:
        return f"{beginning} path {go_quote(access.path)}"
    part = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    where = f"in the namespace {go_quote(access.namespace)}" if access.namespace else "at the cluster scope"
    return f"{beginning} resource {go_quote(part)} in API group {go_quote(access.group)} {where}"
