"""The client that sends reviews to the webhook of a kubeconfig."""

from __future__ import annotations

from pathlib import Path

from polykind.auth.webhook_authorizer import ReviewError
from polykind.cluster.cluster_access import read_kubeconfigs
from polykind.cluster.cluster_client import ClusterClient, StatusError, UnreachableError
from polykind.contract import JsonObject

_TEMPORARY = (429, 500, 504)


class ReviewClient:
    """Posts reviews to exactly the address in a kubeconfig, as kube-apiserver does."""

    def __init__(self, kubeconfig: Path) -> None:
        """Raise KubeconfigError if the kubeconfig cannot be used."""
        self._client = ClusterClient(read_kubeconfigs([kubeconfig]), "kube-apiserver")

    async def send(self, review: JsonObject) -> JsonObject:
        try:
            return await self._client.request("POST", "", review)
        except StatusError as error:
            temporary = error.status in _TEMPORARY or bool(error.retry_after)
            raise ReviewError(str(error), temporary=temporary) from None
        except UnreachableError as error:
            raise ReviewError(str(error)) from None

    async def close(self) -> None:
        await self._client.close()
