"""Somebody who asks to be taken for another: by headers, if he may.

It is tried in several ways. One that is constrained to what the request does needs rights of its own for that, the old
one lets him do whatever the other may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote_to_bytes

from polykind import errors
from polykind.auth.authorizer import Access, Authorizer
from polykind.auth.forbidden import forbidden, require
from polykind.auth.user import ADMIN_GROUP, ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, service_account_groups
from polykind.golang.text import go_quote
from polykind.golang.utf8 import lenient
from polykind.schema.names import dns1123_label, dns1123_subdomain, regex_error

_PREFIX = b"impersonate-"
_EXTRA = b"impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"
_NODE = "system:node:"
_NODES = "system:nodes"
_AUTHENTICATION = "authentication.k8s.io"
_MANY = 4
"""So many groups, or values of extras, are first asked for all at once."""
_REMEMBERED = 10_000
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path = re.compile(_PATH).fullmatch
_bad_escape = re.compile(rb"%(?![0-9A-Fa-f]{2})").search


def wanted(headers: Mapping[bytes, bytes]) -> User | None:
    """Whom the headers name, with nothing but what they say; None: nobody. Raises BadRequest."""
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
        raise errors.BadRequestError(f"requested {_shown(user)} without impersonating a user name")
    return None


def _values(value: bytes | None) -> list[str]:
    return [lenient(part) for part in (value or b"").split(b"\0")]


def _unescaped(key: bytes) -> str:
    return lenient(key if _bad_escape(key) else unquote_to_bytes(key))


def _shown(user: User) -> str:
    """As the reference shows it: by the names of Go's fields."""
    pairs = (f"{go_quote(key)}:{_texts(user.extra[key])}" for key in sorted(user.extra))
    extra = f"map[string][]string{{{', '.join(pairs)}}}" if user.extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quote(user.uid)}, Groups:{_texts(user.groups)}, Extra:{extra}}}'


def _texts(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quote, texts))}}}" if texts else "[]string(nil)"


class Impersonation:
    """Who may be taken for whom."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._latest: dict[str, _Way] = {}
        """The way in which somebody was successful last: it is tried first, and what is wrong with it told."""

    def taken_for(self, other: User, access: Access) -> User:
        """Whom to take somebody for who asks to be another, complete. Raises Forbidden."""
        who, refusal = access.user.name, None
        for way in self._ways(who):
            if not way.fits(other):
                continue
            try:
                user = way.taken(self._authorizer, other, access)
            except errors.ForbiddenError as error:
                refusal = refusal or error
                continue
            if who not in self._latest and len(self._latest) >= _REMEMBERED:
                self._latest.clear()
            self._latest[who] = way
            return user
        raise refusal or AssertionError("the old way fits everybody")

    def _ways(self, who: str) -> Iterator[_Way]:
        latest = self._latest.get(who)
        if latest is not None:
            yield latest
        yield from (way for way in _WAYS if way is not latest)


def account_of(username: str) -> tuple[str, str] | None:
    """The namespace and the name of the service account that a user is; None if he is none."""
    namespace, separator, name = username.removeprefix(_ACCOUNT).partition(":")
    if not username.startswith(_ACCOUNT) or not separator or dns1123_label(namespace) or dns1123_subdomain(name):
        return None
    return namespace, name


def _node(name: str) -> str:
    """The node that a user is, "" if he is none."""
    node = name.removeprefix(_NODE)
    return node if name.startswith(_NODE) and not dns1123_subdomain(node) else ""


@dataclass(frozen=True)
class _Way:
    """A way to be another: the constrained ones by the sort of user that the other is, the old one by none."""

    sort: str = ""

    def fits(self, other: User) -> bool:
        bare = not (other.uid or other.groups or other.extra)
        account = account_of(other.name) is not None
        if self.sort == "arbitrary-node":
            return bare and bool(_node(other.name))
        if self.sort == "serviceaccount":
            return bare and account
        return not self.sort or not (_node(other.name) or account)

    def taken(self, authorizer: Authorizer, other: User, access: Access) -> User:
        """The other, once every part of him is allowed."""
        if self.sort:
            require(authorizer, replace(access, verb=f"impersonate-on:{self.sort}:{access.verb}"))
        verb = f"impersonate:{self.sort}" if self.sort else "impersonate"
        group, version = (_AUTHENTICATION, "v1") if self.sort else ("", "v1")
        part = Access(access.user, verb, group, version)
        found = self._demand_name(authorizer, other, part)
        if other.uid:
            require(authorizer, replace(part, group=_AUTHENTICATION, resource="uids", name=other.uid))
        if other.groups:
            self._demand_groups(authorizer, other.groups, replace(part, resource="groups"))
        if other.extra:
            self._demand_extra(authorizer, other.extra, replace(part, group=_AUTHENTICATION, resource="userextras"))
        return _completed(found)

    def _demand_name(self, authorizer: Authorizer, other: User, part: Access) -> User:
        node, account = _node(other.name) if self.sort else "", account_of(other.name)
        if node:
            require(authorizer, replace(part, resource="nodes", name=node))
            return replace(other, groups=(_NODES,))
        if account is None:
            require(authorizer, replace(part, resource="users", name=other.name))
            return other
        namespace, name = account
        require(authorizer, replace(part, resource="serviceaccounts", namespace=namespace, name=name))
        return other if other.groups else replace(other, groups=service_account_groups(namespace))

    def _demand_groups(self, authorizer: Authorizer, groups: tuple[str, ...], part: Access) -> None:
        if self.sort:
            if "" in groups:
                raise forbidden(part, "impersonating the empty string group is not allowed")
            if ADMIN_GROUP in groups:
                why = f"impersonating the {ADMIN_GROUP} group is not allowed"
                raise forbidden(replace(part, name=ADMIN_GROUP), why)
            if len(groups) >= _MANY and authorizer.decide(replace(part, name="*")).allowed:
                return
        for group in groups:
            require(authorizer, replace(part, name=group))

    def _demand_extra(self, authorizer: Authorizer, extra: Mapping[str, tuple[str, ...]], part: Access) -> None:
        if self.sort:
            if why := _extra_problem(extra):
                raise forbidden(part, why)
            many = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
            if many and authorizer.decide(replace(part, subresource="*", name="*")).allowed:
                return
        for key, values in extra.items():
            for value in values:
                require(authorizer, replace(part, subresource=key, name=value))


_WAYS = tuple(map(_Way, ("arbitrary-node", "serviceaccount", "user-info", "")))
"""In the order in which they are tried. Nobody here comes as a service account that is bound to a node."""


def _completed(user: User) -> User:
    """With the group of all who are known, or of all who are not."""
    if user.name == ANONYMOUS.name:
        group = UNAUTHENTICATED
    elif UNAUTHENTICATED in user.groups:
        return user
    else:
        group = AUTHENTICATED
    return user if group in user.groups else replace(user, groups=(*user.groups, group))


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """What the constrained ways have against extras; "" if nothing."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if found := _path_problems(key):
            return f"impersonating an invalid key in extra is not allowed: {errors.aggregate_message(found)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {go_quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _path_problems(key: str) -> list[errors.FieldError]:
    host, _, path = key.partition("/")
    if not host or not path:
        return [errors.invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [errors.invalid("extra.key", host, why) for why in dns1123_subdomain(host)]
    if not _is_path(path):
        found.append(errors.invalid("extra.key", path, regex_error("Invalid path", _PATH)))
    return found
