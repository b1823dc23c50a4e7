"""Impersonation of another user by the Impersonate-* headers.

A mode is a set of permissions that impersonation needs (KEP-5284). The constrained modes need permission to
impersonate and permission to impersonate for the verb of the request. The legacy mode needs only the verb
`impersonate` and then allows everything that the other user may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from msgspec.structs import replace

from polykind import errors
from polykind.auth.authorizer import Access, Authorizer
from polykind.auth.forbidden import forbidden, require
from polykind.auth.user import ADMIN_GROUP, ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, service_account_groups
from polykind.bounded_cache import BoundedCache
from polykind.golang.fmt import go_quote
from polykind.golang.utf8 import decode_utf8
from polykind.names import dns1123_label, dns1123_subdomain, regex_error

_PREFIX = b"impersonate-"
_EXTRA = b"impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"
_NODE = "system:node:"
_NODES = "system:nodes"
_NODE_EXTRA = "authentication.kubernetes.io/node-name"
_NODE_KEYS_EXTRA = "authentication.kubernetes.io/associated-node-keys"
_AUTHENTICATION = "authentication.k8s.io"
_ASSOCIATED_NODE = "associated-node"
_WILDCARD_THRESHOLD = 4
"""From this many groups or extra values on, check the permission for all values (*) before that for each value."""
_CACHED_BYTES = 1024 * 1024
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path = re.compile(_PATH).fullmatch
_bad_escape = re.compile(rb"%(?![0-9A-Fa-f]{2})").search


def requested_user(headers: Mapping[bytes, bytes]) -> User | None:
    """Return the user in the Impersonate-* headers, or None without such headers.

    Raise BadRequestError if the headers contain groups, a uid or extra values but no user name.
    """
    name, uid = (_values(headers.get(_PREFIX + what))[0] for what in (b"user", b"uid"))
    groups = tuple(_values(headers[_PREFIX + b"group"])) if _PREFIX + b"group" in headers else ()
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers.items():
        if header.startswith(_EXTRA):
            key = _unescaped(header.removeprefix(_EXTRA))
            extra[key] = (*extra.get(key, ()), *_values(value))
    user = User(name, uid, groups, extra)
    if name:
        return user
    if uid or groups or extra:
        raise errors.BadRequestError(f"requested {_go_format(user)} without impersonating a user name")
    return None


def _values(value: bytes | None) -> list[str]:
    return [decode_utf8(part_access) for part_access in (value or b"").split(b"\0")]


def _unescaped(key: bytes) -> str:
    return decode_utf8(key if _bad_escape(key) else unquote_to_bytes(key))


def _go_format(user: User) -> str:
    """Format a user as Go's %#v does. kube-apiserver's error messages contain this text."""
    pairs = (f"{go_quote(key)}:{_go_strings(user.extra[key])}" for key in sorted(user.extra))
    extra = f"map[string][]string{{{', '.join(pairs)}}}" if user.extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quote(user.uid)}, Groups:{_go_strings(user.groups)}, Extra:{extra}}}'


def _go_strings(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quote, texts))}}}" if texts else "[]string(nil)"


class Impersonation:
    """Decides if one user may impersonate another user."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._latest: BoundedCache[str, _Mode] = BoundedCache(_CACHED_BYTES)
        """The mode that last succeeded, by user name. It is tried first. If all modes fail, its error is reported."""

    async def impersonate(self, other: User, access: Access) -> User:
        """Return `other` with all groups. Raise ForbiddenError if no mode allows `access.user` to impersonate it."""
        username, first_error = access.user.name, None
        for mode in self._ordered_modes(username):
            if not mode.applies_to(other, access.user):
                continue
            try:
                user = await mode.authorize(self._authorizer, other, access)
            except errors.ForbiddenError as error:
                first_error = first_error or error
                continue
            self._latest[username] = mode
            return user
        raise first_error or AssertionError("the legacy mode applies to every user")

    def latest_constraint(self, username: str) -> str:
        """Return the verb of the mode in which a user has last impersonated another user. "" is the legacy mode."""
        mode = self._latest[username]
        return f"impersonate:{mode.constraint}" if mode is not None and mode.constraint else ""

    def _ordered_modes(self, username: str) -> Iterator[_Mode]:
        latest = self._latest[username]
        if latest is not None:
            yield latest
        yield from (mode for mode in _MODES if mode is not latest)


def parse_service_account(username: str) -> tuple[str, str] | None:
    """Return the namespace and name of the service account with this user name, or None if it is another user."""
    namespace, separator, name = username.removeprefix(_ACCOUNT).partition(":")
    if not username.startswith(_ACCOUNT) or not separator or dns1123_label(namespace) or dns1123_subdomain(name):
        return None
    return namespace, name


def bound_node(user: User) -> str:
    """Return the node on which a service account's token is used, or "" if the user has no such token.

    The API server knows the node from the pod that the token is bound to.
    """
    nodes = user.extra.get(_NODE_EXTRA) or ()
    if len(nodes) != 1 or dns1123_subdomain(nodes[0]) or parse_service_account(user.name) is None:
        return ""
    return nodes[0]


def _node_name(name: str) -> str:
    """Return the name of the node with this user name, or "" if the user is not a node."""
    node = name.removeprefix(_NODE)
    return node if name.startswith(_NODE) and not dns1123_subdomain(node) else ""


@dataclass(frozen=True)
class _Mode:
    """One impersonation mode. `constraint` is the name of a constrained mode, or "" for the legacy mode."""

    constraint: str = ""

    def applies_to(self, other: User, requestor: User) -> bool:
        only_name = not (other.uid or other.groups or other.extra)
        account = parse_service_account(other.name) is not None
        if self.constraint == _ASSOCIATED_NODE:
            node = _node_name(other.name)
            return only_name and bool(node) and node == bound_node(requestor)
        if self.constraint == "arbitrary-node":
            return only_name and bool(_node_name(other.name))
        if self.constraint == "serviceaccount":
            return only_name and account
        return not self.constraint or not (_node_name(other.name) or account)

    async def authorize(self, authorizer: Authorizer, other: User, access: Access) -> User:
        """Return the impersonated user. Raise ForbiddenError if one of its attributes is not allowed."""
        if self.constraint == _ASSOCIATED_NODE:
            access = replace(access, user=_without_node(access.user))
        if self.constraint:
            await require(authorizer, replace(access, verb=f"impersonate-on:{self.constraint}:{access.verb}"))
        verb = f"impersonate:{self.constraint}" if self.constraint else "impersonate"
        group, version = (_AUTHENTICATION, "v1") if self.constraint else ("", "v1")
        part_access = Access(access.user, verb, group, version)
        user = await self._authorize_name(authorizer, other, part_access)
        if other.uid:
            await require(authorizer, replace(part_access, group=_AUTHENTICATION, resource="uids", name=other.uid))
        if other.groups:
            await self._authorize_groups(authorizer, other.groups, replace(part_access, resource="groups"))
        if other.extra:
            await self._authorize_extra(
                authorizer, other.extra, replace(part_access, group=_AUTHENTICATION, resource="userextras")
            )
        return _with_authenticated_group(user)

    async def _authorize_name(self, authorizer: Authorizer, other: User, part_access: Access) -> User:
        node, account = _node_name(other.name) if self.constraint else "", parse_service_account(other.name)
        if node:
            # kube-apiserver's authorizers do not learn which node an associated service account becomes.
            name = "*" if self.constraint == _ASSOCIATED_NODE else node
            await require(authorizer, replace(part_access, resource="nodes", name=name))
            return replace(other, groups=(_NODES,))
        if account is None:
            await require(authorizer, replace(part_access, resource="users", name=other.name))
            return other
        namespace, name = account
        await require(authorizer, replace(part_access, resource="serviceaccounts", namespace=namespace, name=name))
        return other if other.groups else replace(other, groups=service_account_groups(namespace))

    async def _authorize_groups(self, authorizer: Authorizer, groups: tuple[str, ...], part_access: Access) -> None:
        if self.constraint:
            if "" in groups:
                raise forbidden(part_access, "impersonating the empty string group is not allowed")
            if ADMIN_GROUP in groups:
                message = f"impersonating the {ADMIN_GROUP} group is not allowed"
                raise forbidden(replace(part_access, name=ADMIN_GROUP), message)
            if len(groups) >= _WILDCARD_THRESHOLD and (await authorizer.decide(replace(part_access, name="*"))).allowed:
                return
        for group in groups:
            await require(authorizer, replace(part_access, name=group))

    async def _authorize_extra(
        self, authorizer: Authorizer, extra: Mapping[str, tuple[str, ...]], part_access: Access
    ) -> None:
        if self.constraint:
            if message := _validate_extra(extra):
                raise forbidden(part_access, message)
            many = len(extra) >= _WILDCARD_THRESHOLD or sum(map(len, extra.values())) >= _WILDCARD_THRESHOLD
            if many and (await authorizer.decide(replace(part_access, subresource="*", name="*"))).allowed:
                return
        for key, values in extra.items():
            for value in values:
                await require(authorizer, replace(part_access, subresource=key, name=value))


_MODES = tuple(map(_Mode, (_ASSOCIATED_NODE, "arbitrary-node", "serviceaccount", "user-info", "")))
"""All modes, in the order in which they are tried."""


def _without_node(user: User) -> User:
    """Return a service account with only the keys of its extra attributes, as authorizers see it in associated-node."""
    return replace(user, extra={_NODE_KEYS_EXTRA: tuple(sorted(user.extra))})


def _with_authenticated_group(user: User) -> User:
    """Return the user with the group system:authenticated, or system:unauthenticated for the anonymous user."""
    if user.name == ANONYMOUS.name:
        group = UNAUTHENTICATED
    elif UNAUTHENTICATED in user.groups:
        return user
    else:
        group = AUTHENTICATED
    return user if group in user.groups else replace(user, groups=(*user.groups, group))


def _validate_extra(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return the reason why the constrained modes reject these extra attributes. Return "" if they accept them."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if field_errors := _validate_extra_key(key):
            return f"impersonating an invalid key in extra is not allowed: {errors.aggregate_message(field_errors)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {go_quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _validate_extra_key(key: str) -> list[errors.FieldError]:
    host, _, path = key.partition("/")
    if not host or not path:
        return [errors.invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    field_errors = [errors.invalid("extra.key", host, message) for message in dns1123_subdomain(host)]
    if not _is_path(path):
        field_errors.append(errors.invalid("extra.key", path, regex_error("Invalid path", _PATH)))
    return field_errors
