"""The 403 response to an access that is not allowed, in kube-apiserver's words."""

from __future__ import annotations

from polykind import errors
from polykind.auth.authorizer import Access, Authorizer, Decision
from polykind.golang.fmt import go_quote

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


async def require(authorizer: Authorizer, access: Access) -> None:
    """Raise ForbiddenError if the authorizer does not allow the access."""
    decision = await authorizer.decide(access)
    if not decision.allowed:
        raise forbidden(access, explained(decision))


def explained(decision: Decision) -> str:
    """Return the error and the reason of a decision."""
    return ": ".join(filter(None, (decision.error, decision.reason)))


def forbidden(access: Access, reason: str) -> errors.ForbiddenError:
    """Return the error for an access that is not allowed."""
    message = sanitize(_describe(access))
    message = f"{message}: {reason}" if reason else message
    return errors.ForbiddenError(access.resource, access.group, access.name, message)


def sanitize(text: str) -> str:
    """Escape a text that contains user input, so that a browser does not interpret it as HTML."""
    return text.translate(_ESCAPES)


def _describe(access: Access) -> str:
    beginning = f"User {go_quote(access.user.name)} cannot {access.verb}"
    if access.path is not None:
        return f"{beginning} path {go_quote(access.path)}"
    resource = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    scope = f"in the namespace {go_quote(access.namespace)}" if access.namespace else "at the cluster scope"
    return f"{beginning} resource {go_quote(resource)} in API group {go_quote(access.group)} {scope}"
