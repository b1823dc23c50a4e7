"""The ServiceAccount plugin: gives pods a service account and mounts its token."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden, replace_spec
from polykind.admission.plugins.pod_references import container_references, references_secrets
from polykind.contract import JsonObject, copy_json
from polykind.golang.fmt import go_quote
from polykind.loop_calls import on_loop

_DEFAULT = "default"
_ATTEMPTS = 10
"""The number of lookups of the service account `default` before the plugin rejects the pod."""
_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
_MOUNTABLE_ANNOTATION = "kubernetes.io/enforce-mountable-secrets"
_VOLUME_PREFIX = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_TOKEN_VOLUME: JsonObject = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ],
    "defaultMode": 420,
}


class ServiceAccountPlugin(BuiltinPlugin):
    """Requires the service account of a new pod to exist. Mounts its token and adds its image pull secrets."""

    subresources = ("", "ephemeralcontainers")
    retry_delay = 0.1
    """Seconds between two lookups of the account `default`, which a controller creates in each new namespace."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        if attributes.operation != CREATE or attributes.resource.subresource:
            return
        if not _is_mirror(obj):
            spec = dict(obj.get("spec") or {})
            name = spec.get("serviceAccountName") or _DEFAULT
            # The deprecated field serviceAccount always has the same value as serviceAccountName.
            spec["serviceAccountName"] = spec["serviceAccount"] = name
            account = await self._account(attributes, name)
            if spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True)):
                self._mount_token(spec)
            if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
                spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]
            replace_spec(attributes, spec)
        await self.validate(attributes, attributes.obj or {})

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec, ephemeral = obj.get("spec") or {}, attributes.resource.subresource == "ephemeralcontainers"
        if not ephemeral and attributes.operation != CREATE:
            return
        if not ephemeral and _is_mirror(obj):
            _check_mirror(attributes, spec)
            return
        name = spec.get("serviceAccountName")
        if not name:
            pod = f"{attributes.namespace}/{obj['metadata'].get('name', '')}"
            raise forbidden(attributes, f"no service account specified for pod {pod}")
        account = await self._account(attributes, name)
        annotations = account["metadata"].get("annotations") or {}
        if annotations.get(_MOUNTABLE_ANNOTATION) in _TRUE:
            for reason in _secret_problems(account, spec, ephemeral=ephemeral):
                raise forbidden(attributes, reason)

    async def _account(self, attributes: Attributes, name: str) -> JsonObject:
        for attempt in range(_ATTEMPTS if name == _DEFAULT else 1):
            if attempt:
                await on_loop(asyncio.sleep(self.retry_delay))
            account = await self.services.objects.get("", "serviceaccounts", attributes.namespace, name)
            if account is not None:
                return account
        missing = f"serviceaccount {go_quote(name)} not found"
        raise forbidden(attributes, f"error looking up service account {attributes.namespace}/{name}: {missing}")

    def _mount_token(self, spec: JsonObject) -> None:
        """Mount the token into all containers that have no other mount at the token's path."""
        volumes = spec.get("volumes") or []
        existing = next((v["name"] for v in volumes if v["name"].startswith(_VOLUME_PREFIX)), "")
        name = existing or _VOLUME_PREFIX + self.services.ids.suffix()
        mount = {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}
        mounted = False
        for field in ("initContainers", "containers"):
            containers = []
            for container in spec.get(field) or ():
                mounts = container.get("volumeMounts") or []
                needed = not any(one.get("mountPath") == _MOUNT_PATH for one in mounts)
                containers.append({**container, "volumeMounts": [*mounts, dict(mount)]} if needed else container)
                mounted |= needed
            if containers:
                spec[field] = containers
        if mounted and not existing:
            spec["volumes"] = [*volumes, {"name": name, "projected": copy_json(_TOKEN_VOLUME)}]


def _is_mirror(pod: JsonObject) -> bool:
    """True for a mirror pod: the API object that a kubelet creates for a static pod."""
    return _MIRROR_ANNOTATION in (pod["metadata"].get("annotations") or {})


def _check_mirror(attributes: Attributes, spec: JsonObject) -> None:
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    if references_secrets(spec):
        raise forbidden(attributes, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(source.get("serviceAccountToken") is not None for source in sources):
            raise forbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _secret_problems(account: JsonObject, spec: JsonObject, *, ephemeral: bool) -> Iterator[str]:
    """Yield a reason for each secret of a pod that the service account does not list."""
    suffix = f"is not allowed because service account {account['metadata']['name']} does not reference that"
    mountable = _names(account, "secrets")
    fields = {"initContainers": "init container", "containers": "container"}
    if ephemeral:
        fields = {"ephemeralContainers": "ephemeral container"}
    else:
        names = [v["secret"].get("secretName", "") for v in spec.get("volumes") or () if v.get("secret") is not None]
        yield from (f'volume with secret.secretName="{n}" {suffix} secret' for n in names if n not in mountable)
    for field, noun in fields.items():
        for container in spec.get(field) or ():
            for reference, secret in container_references(container, "secret"):
                if secret not in mountable:
                    subject = f"{noun} {container['name']} with {reference}"
                    yield f'{subject} referencing secret.secretName="{secret}" {suffix} secret'
    if not ephemeral:
        yield from _pull_secret_problems(_names(account, "imagePullSecrets"), spec, suffix)


def _pull_secret_problems(known: set[str], spec: JsonObject, suffix: str) -> Iterator[str]:
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        name = secret.get("name", "")
        if name not in known:
            yield f'imagePullSecrets[{index}].name="{name}" {suffix} imagePullSecret'


def _names(account: JsonObject, field: str) -> set[str]:
    """Return the names of the secrets in a list of a service account."""
    return {secret.get("name", "") for secret in account.get(field) or ()}
