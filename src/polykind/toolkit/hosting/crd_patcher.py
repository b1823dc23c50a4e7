"""Registration of a host in one CRD: find the CRD, patch `spec.conversion` where it differs, and test it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from polykind.contract import Clock, JsonObject
from polykind.toolkit.declare.conversions import Conversions, Incomplete
from polykind.toolkit.declare.library import Library
from polykind.toolkit.hosting.cluster_client import ClusterClient, StatusError
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MAX_CONFLICTS = 5
_MAX_PATCHES, _PATCH_WINDOW_SECONDS = 6, 60.0
"""This many patches in this time mean that another writer keeps changing the CRD."""
_SERVICE_HINT = "; if the API server cannot connect, check that the Service sets publishNotReadyAddresses: true"
_COMPETING_WRITER = (
    "another writer keeps changing spec.conversion. Check whether another host is registered in this CRD, or a "
    "program applies its manifest repeatedly. Only one may set spec.conversion; remove it from the other"
)

log = logging.getLogger(__name__)


class RegistrationError(Exception):
    """The host cannot be registered in a CRD. The text is the cause and what to do."""


class CRDPatcher:
    """Registers a host in one CRD, which is given by its name or by its kind."""

    def __init__(
        self, cluster: ClusterClient, libraries: Sequence[Library], clock: Clock, *, name: str = "", kind: str = ""
    ) -> None:
        self.name = name
        """The CRD's name. Empty until the CRD of the kind is found."""
        self.patches = 0
        self._cluster, self._libraries, self._clock, self._kind = cluster, libraries, clock, kind
        self._recent: deque[float] = deque(maxlen=_MAX_PATCHES)

    @property
    def label(self) -> str:
        return self.name or self._kind

    async def find(self) -> str:
        """Return the CRD's name, from discovery if only the kind is known. Raises ClusterError or RegistrationError."""
        if not self.name:
            name, _, group = self._kind.partition(".")
            try:
                for version in (await self._cluster.get(f"/apis/{group}")).get("versions") or ():
                    served = await self._cluster.get(f"/apis/{version['groupVersion']}")
                    for resource in served.get("resources") or ():
                        if resource["kind"] == name and "/" not in resource["name"]:
                            self.name = f"{resource['name']}.{group}"
                            return self.name
            except StatusError as error:
                if error.status != 404:
                    raise
            raise RegistrationError("the API server does not serve this kind: apply its CustomResourceDefinition")
        return self.name

    async def patch_crd(self, endpoint: WebhookEndpoint, bundle: bytes, retired: bytes) -> JsonObject:
        """Patch spec.conversion if it differs, and return the CRD. Raises ClusterError or RegistrationError."""
        path = f"{CRDS_PATH}/{self.name}"
        attempt = 0
        while True:
            attempt += 1
            crd = await self._read_crd(path)
            self._check(crd["spec"])
            conversion = crd["spec"].get("conversion") or {}
            changes = endpoint.conversion_patch(conversion, bundle, retired, self._clock.now())
            if not changes:
                return crd
            if len(self._recent) == _MAX_PATCHES and self._clock.monotonic() - self._recent[0] < _PATCH_WINDOW_SECONDS:
                raise RegistrationError(_COMPETING_WRITER)
            version = crd["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "spec": {"conversion": changes}}
            try:
                patched = await self._cluster.patch(path, patch)
            except StatusError as error:
                if error.status == 409 and attempt < _MAX_CONFLICTS:
                    continue
                raise
            self.patches += 1
            self._recent.append(self._clock.monotonic())
            log.info("%s: patched %s", self.name, _changed_fields(changes))
            return patched

    async def self_test(self, crd: JsonObject, endpoint: WebhookEndpoint) -> tuple[bool, str]:
        """Let the API server convert one object to each served version that is not the storage version.

        Return whether that worked, and a message. Raises UnreachableError.
        """
        spec = crd["spec"]
        target_versions = [v["name"] for v in spec["versions"] if v["served"] and not v["storage"]]
        if not target_versions:
            return True, "registered; there is no other version to convert to"
        for version in target_versions:
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
            try:
                response = await self._cluster.get(path)
            except StatusError as error:
                message = f"registered, but the API server cannot list {version}: {self.explain(error)}"
                return False, message if endpoint.url else message + _SERVICE_HINT
            if not response.get("items"):
                return True, "registered; there is no object to test with yet"
        return True, f"registered; the API server converts to {', '.join(target_versions)}"

    def explain(self, error: Exception) -> str:
        """Describe an error and, if permissions are missing, what to do."""
        if isinstance(error, StatusError) and error.status in (401, 403):
            return f"{error}; grant the permissions that polykind host --print-manifests prints"
        if isinstance(error, StatusError | RegistrationError):
            return str(error)
        return f"{self._cluster.server} returned an unexpected response: {error!r}"

    async def _read_crd(self, path: str) -> JsonObject:
        try:
            return await self._cluster.get(path)
        except StatusError as error:
            if error.status != 404:
                raise
            if self._kind:
                self.name = ""
            raise RegistrationError("the CustomResourceDefinition does not exist: apply it") from None

    def _check(self, spec: JsonObject) -> None:
        """Raise RegistrationError unless this host converts the kind between all of its versions."""
        group, kind = spec["group"], spec["names"]["kind"]
        library = next((candidate for candidate in self._libraries if candidate.handles(group, kind)), None)
        if library is None:
            raise RegistrationError(f"this host does not convert {kind}.{group}: add a --converter for it")
        declared: Conversions | None = (library.declared or {}).get(f"{kind}.{group}")
        if declared is not None:
            try:
                declared.check(version["name"] for version in spec["versions"])
            except Incomplete as error:
                raise RegistrationError(f"{error}; declare these steps, or remove the versions from the CRD") from None


def _changed_fields(changes: JsonObject) -> str:
    """Return the names of the fields that a patch changes."""
    webhook = changes.get("webhook") or {}
    fields = [*(webhook.get("clientConfig") or {}), *(key for key in webhook if key != "clientConfig")]
    return ", ".join([*(["strategy"] if "strategy" in changes else []), *fields])
