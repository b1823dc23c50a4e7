"""The attributes of a test server that its blocking face and its async face share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.testing import client_libraries
from polykind.testing.exceptions import Refused, raise_at_caller
from polykind.testing.hosted_converter import Converter
from polykind.testing.request_trace import TracedRequest
from polykind.testing.server_instance import ServerInstance

if TYPE_CHECKING:
    import kubernetes.client


class ServerDetails:
    """Addresses, credentials and reports of a test server. Reading them sends no request."""

    def __init__(self, instance: ServerInstance) -> None:
        self._instance = instance

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url or 'stopped'}>"

    @property
    def url(self) -> str:
        return self._instance.url

    @property
    def token(self) -> str:
        """The admin's bearer token."""
        return self._instance.token

    @property
    def ca(self) -> Path:
        """The CA certificate that clients must trust, as a PEM file."""
        return self._instance.ca

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file of the admin."""
        return self._instance.folder / "admin.kubeconfig"

    @property
    def data_dir(self) -> Path:
        return self._instance.folder

    @property
    def unserved_requests(self) -> list[str]:
        """The requests for resources that the server does not serve, such as `not served here: GET /api/v1/saucers`."""
        return self._instance.unserved_requests

    @property
    def requests(self) -> list[TracedRequest]:
        """The newest requests to this server, the oldest first: method, path, status, user_agent and message."""
        return list(self._instance.trace.requests)

    @property
    def refused_requests(self) -> list[str]:
        """The requests with an error status, such as `refused: 404 GET /api/v1/nodes/n: nodes "n" not found`."""
        return self._instance.trace.refusals()

    @property
    @raise_at_caller
    def converter(self) -> Converter:
        """The conversion webhook that runs in this process. Raise Refused if the test configures no converters."""
        if self._instance.converter is None:
            raise Refused(
                "this server has no converter: set `polykind_converters` in pytest's configuration, or use "
                "@pytest.mark.polykind(converters=[...])"
            )
        return self._instance.converter

    @raise_at_caller
    def kubernetes(self, kubeconfig: Path | None = None) -> kubernetes.client.ApiClient:
        """Return an ApiClient of the official client, as the admin or with the given kubeconfig.

        Its methods block, also in async tests. It is closed when the server stops. Raise Refused if the library is not
        installed.
        """
        return client_libraries.open_kubernetes(kubeconfig or self.kubeconfig, self._instance.clients)

    @contextmanager
    def environ(self, kubeconfig: Path | None = None) -> Iterator[None]:
        """Set KUBECONFIG in a `with` block, so that new clients in this process connect to this server.

        The clients are the admin, or the user of the given kubeconfig.
        """
        with client_libraries.default_kubeconfig(kubeconfig or self.kubeconfig, self.url):
            yield
