"""Kubernetes manifests that run a host in a cluster: ServiceAccount, RBAC, Service and Deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

_RUN_FOLDER = "/var/run/polykind"
_PORT = 8443
_RBAC = "rbac.authorization.k8s.io/v1"
_NOTE = """\
# The host patches this, with its caBundle, into {names}.
# With --wire=false, apply it yourself. The caBundle is ca.crt of the Secret {secret}:
#   kubectl patch crd {first} --type=merge --patch-file=conversion.yaml
"""


@dataclass(frozen=True, slots=True)
class HostManifests:
    """The parameters of a host that runs in a cluster."""

    image: str
    endpoint: WebhookEndpoint
    """The Service through which the API server reaches the host."""
    converters: Sequence[str]
    crds: Sequence[str]
    replicas: int = 2
    flags: Sequence[str] = ()
    """Additional flags of the host, such as --request-timeout=10s."""

    def text(self) -> str:
        """Return YAML for kubectl apply. Comments at the end show the `spec.conversion` of the CRDs."""
        documents = [self._account(), *self._roles(), *self._bindings(), self._service(), self._deployment()]
        out = "---\n".join(yaml_codec.encode_ordered(document).decode() for document in documents)
        conversion_yaml = yaml_codec.encode_ordered({"spec": {"conversion": self.endpoint.conversion(b"")}}).decode()
        comment = _NOTE.format(names=", ".join(self.crds), first=self.crds[0], secret=self._secret)
        return out + "---\n" + comment + "".join(f"# {line}\n" for line in conversion_yaml.splitlines())

    @property
    def _metadata(self) -> JsonObject:
        labels = {"app.kubernetes.io/name": "polykind-host", "app.kubernetes.io/instance": self.endpoint.name}
        return {"name": self.endpoint.name, "namespace": self.endpoint.namespace, "labels": labels}

    @property
    def _cluster_name(self) -> str:
        return f"polykind-host:{self.endpoint.namespace}:{self.endpoint.name}"

    @property
    def _secret(self) -> str:
        return f"{self.endpoint.name}-certificates"

    def _account(self) -> JsonObject:
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self._metadata}

    def _roles(self) -> list[JsonObject]:
        crd_rule = {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": list(self.crds),
            "verbs": ["get", "list", "watch", "patch"],
        }
        # The self-test lists one object, to check that the API server can convert objects through the host.
        object_rules = [
            {"apiGroups": [group], "resources": [plural], "verbs": ["list"]}
            for plural, _, group in (name.partition(".") for name in self.crds)
        ]
        # RBAC cannot restrict `create` to a resource name, because the URL of a create request has no object name.
        secret_rules = [
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [self._secret], "verbs": ["get", "patch"]},
        ]
        cluster_metadata = {"name": self._cluster_name, "labels": self._metadata["labels"]}
        return [
            {
                "apiVersion": _RBAC,
                "kind": "ClusterRole",
                "metadata": cluster_metadata,
                "rules": [crd_rule, *object_rules],
            },
            {"apiVersion": _RBAC, "kind": "Role", "metadata": self._metadata, "rules": secret_rules},
        ]

    def _bindings(self) -> list[JsonObject]:
        account = {"kind": "ServiceAccount", "name": self.endpoint.name, "namespace": self.endpoint.namespace}
        cluster_metadata = {"name": self._cluster_name, "labels": self._metadata["labels"]}
        return [
            {
                "apiVersion": _RBAC,
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["name"]},
                "subjects": [account],
            }
            for kind, metadata in (("ClusterRole", cluster_metadata), ("Role", self._metadata))
        ]

    def _service(self) -> JsonObject:
        # A host becomes ready only after the API server has called it through this Service. Therefore the Service must
        # also route to hosts that are not ready.
        spec = {
            "selector": self._metadata["labels"],
            "publishNotReadyAddresses": True,
            "ports": [{"name": "https", "port": self.endpoint.port, "targetPort": "https"}],
        }
        return {"apiVersion": "v1", "kind": "Service", "metadata": self._metadata, "spec": spec}

    def _deployment(self) -> JsonObject:
        labels = self._metadata["labels"]
        service = f"{self.endpoint.namespace}/{self.endpoint.name}:{self.endpoint.port}{self.endpoint.path}"
        arguments = [
            "host",
            *(f"--converter={spec}" for spec in self.converters),
            *(f"--crd={name}" for name in self.crds),
            f"--service={service}",
            f"--secure-port={_PORT}",
            f"--cert-secret={self.endpoint.namespace}/{self._secret}",
            *self.flags,
        ]
        if not any(flag.startswith("--shutdown-delay-duration=") for flag in self.flags):
            arguments.append("--shutdown-delay-duration=5s")
        container = {
            "name": "host",
            "image": self.image,
            "command": ["polykind"],
            "args": arguments,
            "env": [{"name": "TMPDIR", "value": _RUN_FOLDER}],
            "ports": [{"name": "https", "containerPort": _PORT}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "https", "scheme": "HTTPS"}},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "https", "scheme": "HTTPS"}, "periodSeconds": 5},
            "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": "run", "mountPath": _RUN_FOLDER}],
        }
        pod = {
            "serviceAccountName": self.endpoint.name,
            "terminationGracePeriodSeconds": 45,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
        }
        spec = {
            "replicas": self.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": self._metadata, "spec": spec}
