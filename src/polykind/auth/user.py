"""Who is asking, once that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polykind.contract import JsonObject


@dataclass(frozen=True, slots=True)
class User:
    """A user by name, with the groups that the credential vouches for."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def info(self) -> JsonObject:
        """The user as reviews tell of it."""
        extra = {key: list(self.extra[key]) for key in sorted(self.extra)}
        told = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in told.items() if value}


ADMIN_GROUP = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
"""Who shows no credential, where such a one may ask at all."""


def service_account_name(namespace: str, name: str) -> str:
    """The name that a service account has as a user."""
    return f"system:serviceaccount:{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def service_account(name: str) -> User:
    """One of the controllers that, in the reference, come as service accounts of the system's own namespace."""
    groups = (*service_account_groups("kube-system"), AUTHENTICATED)
    return User(service_account_name("kube-system", name), "", groups)
