"""The user that makes a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from polykind.contract import JsonObject


class User(msgspec.Struct, frozen=True):
    """An authenticated user: name, uid, groups and extra attributes."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    def __hash__(self) -> int:
        return hash((self.name, self.uid, self.groups))

    def info(self) -> JsonObject:
        """Return the user as the userInfo of a review, without empty fields."""
        extra = {key: list(self.extra[key]) for key in sorted(self.extra)}
        info = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in info.items() if value}


ADMIN_GROUP = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
"""The user of requests without credentials, if the server allows anonymous requests."""


def authenticated_groups(name: str, groups: Iterable[str]) -> tuple[str, ...]:
    """Return the groups of an authenticated user, with system:authenticated unless the user is anonymous."""
    given = tuple(groups)
    if name == ANONYMOUS.name or UNAUTHENTICATED in given or AUTHENTICATED in given:
        return given
    return *given, AUTHENTICATED


def service_account_name(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def service_account(name: str) -> User:
    """Return the user of the controller `name`. In Kubernetes, this is a service account in kube-system."""
    groups = (*service_account_groups("kube-system"), AUTHENTICATED)
    return User(service_account_name("kube-system", name), "", groups)
