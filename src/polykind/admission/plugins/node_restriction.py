"""The NodeRestriction plugin: a kubelet may change only its own node and the objects of its own pods."""

from __future__ import annotations

from collections.abc import Iterable

from polykind import errors
from polykind.admission.attributes import CREATE, DELETE, UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden
from polykind.admission.plugins.pod_references import references_config_maps, references_secrets
from polykind.auth.authorizer import Access
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.loop_calls import on_loop

_USER_PREFIX = "system:node:"
_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
_LEASE_NAMESPACE = "kube-node-lease"
_RESTRICTED = "node-restriction.kubernetes.io"
_KUBELET_LABELS = frozenset(
    (
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"),
        *("beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"),
        *("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "node.kubernetes.io/instance-type"),
        *("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"),
    )
)
_KUBELET_LABEL_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_VOLUME_REFERENCES = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
}
_PROJECTED_REFERENCES = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def node_name(user: User) -> str | None:
    """Return the node of a kubelet. Return None if the user is not a kubelet."""
    if not user.name.startswith(_USER_PREFIX) or "system:nodes" not in user.groups:
        return None
    return user.name.removeprefix(_USER_PREFIX)


class NodeRestriction(BuiltinPlugin):
    """Restricts the writes of kubelets. The plugin ignores other users."""

    operations = (CREATE, UPDATE, DELETE)

    def handles(self, attributes: Attributes) -> bool:
        return node_name(attributes.user) is not None

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        await self._check(attributes)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        # Creates and updates are already checked in `mutate`. The server does not call `mutate` for a delete.
        if attributes.operation == DELETE:
            await self._check(attributes)

    async def _check(self, attributes: Attributes) -> None:
        node = node_name(attributes.user) or ""
        if not node:
            user = go_quote(attributes.user.name)
            raise forbidden(attributes, f"could not determine node from user {user}")
        check = {
            "pods": self._check_pod,
            "nodes": self._check_node,
            "persistentvolumeclaims": self._check_claim,
            "serviceaccounts": self._check_token,
            "leases": self._check_lease,
            "csinodes": self._check_csi_node,
            "resourceslices": self._check_resource_slice,
        }[attributes.resource.plural]
        reason = await check(node, attributes)
        if reason:
            raise forbidden(attributes, reason)

    async def _check_pod(self, node: str, attributes: Attributes) -> str:
        subresource, operation, name = attributes.resource.subresource, attributes.operation, go_quote(node)
        if subresource == "status":
            return _check_pod_status(node, attributes)
        if subresource == "eviction":
            pod = await self._find("pods", attributes.namespace, attributes.name)
            return "" if _runs_on(pod, node) else f"node {node} can only evict pods with spec.nodeName set to itself"
        if subresource:
            quoted = go_quote(subresource)
            return f"unexpected pod subresource {quoted}, only 'status' and 'eviction' are allowed"
        if operation == CREATE:
            return await self._check_mirror_pod(node, attributes.obj or {})
        if operation == DELETE:
            own = _runs_on(attributes.old or {}, node)
            return "" if own else f"node {name} can only delete pods with spec.nodeName set to itself"
        return f"unexpected operation {go_quote(operation)}, node {name} can only create and delete mirror pods"

    async def _check_mirror_pod(self, node: str, pod: JsonObject) -> str:
        name, meta = go_quote(node), pod["metadata"]
        if _MIRROR_ANNOTATION not in (meta.get("annotations") or {}):
            annotation = go_quote(_MIRROR_ANNOTATION)
            return f"pod does not have {annotation} annotation, node {name} can only create mirror pods"
        if not _runs_on(pod, node):
            return f"node {name} can only create pods with spec.nodeName set to itself"
        owners = meta.get("ownerReferences") or []
        if len(owners) > 1:
            return f"node {name} can only create pods with a single owner reference set to itself"
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            return f"node {name} can only create pods with an owner reference set to itself"
        if not owner.get("controller"):
            return f"node {name} can only create pods with a controller owner reference set to itself"
        if owner.get("blockOwnerDeletion"):
            return f"node {name} must not set blockOwnerDeletion on an owner reference"
        uid = (await self._find("nodes", "", node))["metadata"]["uid"]
        if owner.get("uid") != uid:
            return f"node {node} UID mismatch: expected {owner.get('uid')} got {uid}"
        reference = _api_reference(pod.get("spec") or {})
        return f"node {name} can not create pods that reference {reference}" if reference else ""

    async def _check_node(self, node: str, attributes: Attributes) -> str:
        name = go_quote(node)
        if attributes.name != node:
            return f"node {name} is not allowed to modify node {go_quote(attributes.name)}"
        new, old = attributes.obj or {}, attributes.old or {}
        new_meta, old_meta = new.get("metadata") or {}, old.get("metadata") or {}
        labels = _forbidden_labels(new_meta.get("labels") or {}, old_meta.get("labels") or {})
        if attributes.operation == CREATE:
            if (new.get("spec") or {}).get("configSource") is not None:
                return f"node {name} is not allowed to create pods with a non-nil configSource"
            return f"node {name} is not allowed to set the following labels: {', '.join(labels)}" if labels else ""
        if attributes.operation == DELETE:
            return ""
        changed = _forbidden_change(new, old)
        if changed:
            return f"node {name} is not allowed to {changed}"
        return f"is not allowed to modify labels: {', '.join(labels)}" if labels else ""

    async def _check_claim(self, node: str, attributes: Attributes) -> str:
        if attributes.resource.subresource != "status":
            return "may only update PVC status"
        if attributes.operation != UPDATE:
            return f"unexpected operation {go_quote(attributes.operation)}"
        new, old = (_without_volume_status(claim or {}) for claim in (attributes.obj, attributes.old))
        allowed = "status.quantity and status.conditions"
        return "" if new == old else f"node {go_quote(node)} is not allowed to update fields other than {allowed}"

    async def _check_token(self, node: str, attributes: Attributes) -> str:
        if attributes.operation != CREATE or attributes.resource.subresource != "token":
            return ""
        spec = (attributes.obj or {}).get("spec") or {}
        reference = spec.get("boundObjectRef") or {}
        if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not reference.get("name"):
            return "node requested token not bound to a pod"
        uid = reference.get("uid")
        if not uid:
            return "node requested token with a pod binding without a uid"
        pod = await self._find("pods", attributes.namespace, reference["name"])
        if uid != pod["metadata"]["uid"]:
            return (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
        if not _runs_on(pod, node):
            return "node requested token bound to a pod scheduled on a different node"
        return await self._check_audience(spec.get("audiences") or [], pod, attributes)

    async def _tokens(self, volume: JsonObject) -> list[JsonObject]:
        """Return the tokens that a volume projects, or that its CSI driver requests."""
        sources = (volume.get("projected") or {}).get("sources") or ()
        tokens = [source["serviceAccountToken"] for source in sources if "serviceAccountToken" in source]
        driver_name = (volume.get("csi") or {}).get("driver", "")
        driver = await self.services.objects.get("storage.k8s.io", "csidrivers", "", driver_name)
        return [*tokens, *(((driver or {}).get("spec") or {}).get("tokenRequests") or ())]

    async def _check_audience(self, audiences: list[str], pod: JsonObject, attributes: Attributes) -> str:
        """Return the reason why a kubelet may not request a token with these audiences. Return "" if it may.

        The pod's token volumes, its CSI drivers and the authorizer can each allow an audience.
        """
        if len(audiences) > 1:
            return "node may only request 0 or 1 audiences"
        audience = audiences[0] if audiences else ""
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            tokens = await self._tokens(volume)
            if any(token.get("audience", "") == audience for token in tokens):
                return ""
        verb, user = "request-serviceaccounts-token-audience", attributes.user
        access = Access(user, verb, "", "v1", audience, namespace=attributes.namespace, name=attributes.name)
        if (await on_loop(attributes.authorizer.decide(access))).allowed:
            return ""
        return (
            f"audience {go_quote(audience)} not found in pod spec volume, "
            f"{user.name} is not authorized to request tokens for this audience"
        )

    async def _check_lease(self, node: str, attributes: Attributes) -> str:
        if attributes.namespace != _LEASE_NAMESPACE:
            return f"can only access leases in the {go_quote(_LEASE_NAMESPACE)} system namespace"
        own = attributes.name == node
        return "" if own else "can only access node lease with the same name as the requesting node"

    async def _check_csi_node(self, node: str, attributes: Attributes) -> str:
        own = attributes.name == node
        return "" if own else "can only access CSINode with the same name as the requesting node"

    async def _check_resource_slice(self, node: str, attributes: Attributes) -> str:
        verbs = {CREATE: "create", DELETE: "delete"}
        obj = attributes.obj if attributes.operation == CREATE else attributes.old
        own = ((obj or {}).get("spec") or {}).get("nodeName") == node
        if own or attributes.operation not in verbs:
            return ""
        verb = verbs[attributes.operation]
        return f"can only {verb} ResourceSlice with the same NodeName as the requesting node"

    async def _find(self, plural: str, namespace: str, name: str) -> JsonObject:
        found = await self.services.objects.get("", plural, namespace, name)
        if found is None:
            raise errors.NotFoundError(plural.removesuffix("s"), "", name)
        return found


def _runs_on(pod: JsonObject, node: str) -> bool:
    return bool((pod.get("spec") or {}).get("nodeName", "") == node)


def _check_pod_status(node: str, attributes: Attributes) -> str:
    name, new, old = go_quote(node), attributes.obj or {}, attributes.old or {}
    if attributes.operation != UPDATE:
        return f"unexpected operation {go_quote(attributes.operation)}"
    if not _runs_on(old, node):
        own = "pods with spec.nodeName set to itself"
        return f"node {name} can only update pod status for {own}"
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        return f"node {name} cannot update labels through pod status"
    new_status, old_status = new.get("status") or {}, old.get("status") or {}
    if (new_status.get("resourceClaimStatuses") or []) != (old_status.get("resourceClaimStatuses") or []):
        return f"node {name} cannot update resource claim statues"
    if new_status.get("extendedResourceClaimStatus") != old_status.get("extendedResourceClaimStatus"):
        return f"node {name} cannot update extended resource claim status"
    return ""


def _in_domain(domain: str, parents: Iterable[str]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)


def _forbidden_labels(new: JsonObject, old: JsonObject) -> list[str]:
    """Return the changed labels that a kubelet must not set."""
    changed = {key for key in new.keys() | old.keys() if new.get(key) != old.get(key)}
    return sorted(key for key in changed if _is_forbidden_label(key))


def _is_forbidden_label(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    if _in_domain(domain, (_RESTRICTED,)):
        return True
    own = key in _KUBELET_LABELS or _in_domain(domain, _KUBELET_LABEL_DOMAINS)
    return _in_domain(domain, ("kubernetes.io", "k8s.io")) and not own


def _api_reference(spec: JsonObject) -> str:
    """Return the plural of the first resource that a pod refers to, such as secrets, or "" if it refers to none."""
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if references_secrets(spec):
        return "secrets"
    if references_config_maps(spec):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        projected = (volume.get("projected") or {}).get("sources") or ()
        found = [text for field, text in _VOLUME_REFERENCES.items() if field in volume]
        found += [text for source in projected for field, text in _PROJECTED_REFERENCES.items() if field in source]
        if found:
            return found[0]
    return ""


def _without_volume_status(claim: JsonObject) -> JsonObject:
    """Return a claim without the fields that a kubelet may update, to compare the other fields."""
    updatable = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")
    meta = {k: v for k, v in (claim.get("metadata") or {}).items() if k not in ("resourceVersion", "managedFields")}
    status = {k: v for k, v in (claim.get("status") or {}).items() if k not in updatable}
    return {**claim, "metadata": meta, "status": status}


def _forbidden_change(new: JsonObject, old: JsonObject) -> str:
    """Return the change of a node that its kubelet must not make, or "" if there is none."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    source = spec.get("configSource")
    if source is not None and source != old_spec.get("configSource"):
        return "update configSource to a new non-nil configSource"
    if (spec.get("taints") or []) != (old_spec.get("taints") or []):
        return "modify taints"
    owners, old_owners = ((each.get("metadata") or {}).get("ownerReferences") or [] for each in (new, old))
    return "modify ownerReferences" if owners != old_owners else ""
