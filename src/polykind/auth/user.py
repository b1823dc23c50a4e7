"""Who is asking, once that is known."""

from __future__ import annotations

from dataclasses import dataclass

from polykind.contract import JsonObject


@dataclass(frozen=True, slots=True)
class User:
    """A user by name, with the groups that the credential vouches for."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()

    def info(self) -> JsonObject:
        """The user as reviews tell of it."""
        told = {"username": self.name, "uid": self.uid, "groups": list(self.groups)}
        return {key: value for key, value in told.items() if value}


ADMIN_GROUP = "system:masters"
AUTHENTICATED = "system:authenticated"


def service_account(name: str) -> User:
    """One of the controllers that, in the reference, come as service accounts of the system's own namespace."""
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", AUTHENTICATED)
    return User(f"system:serviceaccount:kube-system:{name}", "", groups)
