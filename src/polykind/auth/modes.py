"""Who decides what users may do, as the flag names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polykind.auth.authorizer import AlwaysAllow, AlwaysDeny, Authorizer

if TYPE_CHECKING:
    from polykind.auth.rbac.authorizer import RBACAuthorizer


def chosen(modes: Sequence[str]) -> tuple[Authorizer, RBACAuthorizer | None]:
    """The authorizer, and of it what is to be told of roles and bindings, if it goes by them."""
    if list(modes) == ["AlwaysAllow"]:
        return AlwaysAllow(), None
    from polykind.auth.rbac.authorizer import RBACAuthorizer
    from polykind.auth.union import Superusers, Union

    rbac = RBACAuthorizer()
    by_name: dict[str, Authorizer] = {"AlwaysAllow": AlwaysAllow(), "AlwaysDeny": AlwaysDeny(), "RBAC": rbac}
    return Union([Superusers(), *(by_name[mode] for mode in modes)]), rbac if "RBAC" in modes else None
