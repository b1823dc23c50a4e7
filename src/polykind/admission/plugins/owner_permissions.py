"""Plugins for all resources: OwnerReferencesPermissionEnforcement and AlwaysDeny."""

from __future__ import annotations

import asyncio

from polykind.admission.attributes import CREATE, DELETE, UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden
from polykind.auth.authorizer import Access, Decision
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.loop_calls import on_loop

_BATCH = 100
"""The number of owners that are checked before other requests can run."""


class AlwaysDeny(BuiltinPlugin):
    """Rejects all writes."""

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation in (CREATE, UPDATE, DELETE)

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        raise forbidden(attributes, "admission control is denying all modifications")

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        raise forbidden(attributes, "admission control is denying all modifications")


class OwnerReferencesPermissionEnforcement(BuiltinPlugin):
    """Requires permissions of users that change owner references.

    Users that change owner references must have permission to delete the object. Users that set blockOwnerDeletion must
    have permission to update the owner's finalizers.
    """

    def handles(self, attributes: Attributes) -> bool:
        resource = attributes.resource
        pod_status = (resource.group, resource.plural, resource.subresource) == ("", "pods", "status")
        return attributes.operation in (CREATE, UPDATE) and not pod_status

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        new, old = _owners(obj), _owners(attributes.old or {})
        if new == old or attributes.authorizer.allows_everything:
            return
        if attributes.operation != CREATE:
            decision = await on_loop(attributes.authorizer.decide(_delete_access(attributes)))
            if not decision.allowed:
                reason = "cannot set an ownerRef on a resource you can't delete"
                raise forbidden(attributes, f"{reason}: {_explained(decision)}")
        blocked = {owner.get("uid") for owner in old if owner.get("blockOwnerDeletion")}
        added = [owner for owner in new if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocked]
        everything = Access(attributes.user, "update", "*", "*", "*", "finalizers", name="*")
        if added and not (await on_loop(attributes.authorizer.decide(everything))).allowed:
            for index in range(0, len(added), _BATCH):
                await on_loop(self._check_owners(attributes, added[index : index + _BATCH]))
                await asyncio.sleep(0)

    async def _check_owners(self, attributes: Attributes, owners: list[JsonObject]) -> None:
        for owner in owners:
            await self._check_owner(attributes, owner)

    async def _check_owner(self, attributes: Attributes, owner: JsonObject) -> None:
        """Raise ForbiddenError if the user has no permission to update the finalizers of an owner."""
        api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        group, _, version = api_version.rpartition("/")
        found = self.services.objects.resource_of_kind(group, version, kind)
        if found is None:
            problem = f"cannot find RESTMapping for APIVersion {api_version} Kind {kind}"
            missing = f"no matches for kind {go_quote(kind)} in version {go_quote(api_version)}"
            raise forbidden(attributes, f"cannot set blockOwnerDeletion in this case because {problem}: {missing}")
        plural, namespaced = found
        namespace = attributes.namespace if namespaced else ""
        access = Access(
            attributes.user, "update", group, version, plural, "finalizers", namespace, owner.get("name", "")
        )
        decision = await attributes.authorizer.decide(access)
        if not decision.allowed:
            reason = (
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
            )
            raise forbidden(attributes, f"{reason}: {_explained(decision)}")


def _owners(obj: JsonObject) -> list[JsonObject]:
    return (obj.get("metadata") or {}).get("ownerReferences") or []


def _delete_access(attributes: Attributes) -> Access:
    resource = attributes.resource
    return Access(
        attributes.user,
        "delete",
        resource.group,
        resource.version,
        resource.plural,
        resource.subresource,
        attributes.namespace,
        attributes.name,
    )


def _explained(decision: Decision) -> str:
    return f"{decision.reason}, {decision.error or '<nil>'}"
