"""`polykind host`: conversions as a webhook for any API server, until it is told to stop."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_truth, begin_log, seconds, told_to_stop

if TYPE_CHECKING:
    from polykind.toolkit.hosting.cluster_client import ClusterClient
    from polykind.toolkit.hosting.host_certificates import Certificates
    from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint
    from polykind.toolkit.hosting.webhook_host import Host

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "host",
        help="host conversions as a webhook for any Kubernetes",
        description="Host conversions as a webhook: HTTPS with certificates that it makes and renews itself, and "
        "CustomResourceDefinitions that it points to itself.",
    )
    flag = command.add_argument
    flag(
        "--converter",
        action="append",
        required=True,
        metavar="MODULE:OBJECT",
        help="what converts: a Python object, or a file of rules; may be repeated",
    )
    flag("--bind-address", default="0.0.0.0", metavar="ADDRESS", help="address to listen on (default: %(default)s)")  # noqa: S104
    flag(
        "--secure-port",
        type=int,
        default=8443,
        metavar="PORT",
        help="port for HTTPS; 0: any free one (default: %(default)s)",
    )
    flag(
        "--service",
        metavar="NAMESPACE/NAME[:PORT][/PATH]",
        help="the Service by which the API server reaches the host (default port 443, path /convert)",
    )
    flag("--url", metavar="URL", help="the URL by which the API server reaches the host, instead of a Service")
    flag(
        "--cert-dir",
        type=Path,
        default=Path(".polykind/host"),
        metavar="DIR",
        help="where certificates are made and renewed, or where somebody else keeps tls.crt, tls.key and ca.crt "
        "(default: %(default)s)",
    )
    flag(
        "--cert-secret",
        metavar="NAMESPACE/NAME",
        help="a Secret where certificates are made and renewed, instead of a folder: replicas share it",
    )
    flag("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate in PEM, read again when it changes")
    flag("--tls-private-key-file", type=Path, metavar="FILE", help="its private key in PEM")
    add_truth(command, "--wire", "point the CustomResourceDefinitions to this host, and keep them so")
    add_truth(command, "--self-test", "be ready only when the API server has converted through this host")
    flag(
        "--crd",
        action="append",
        default=[],
        metavar="NAME",
        help="a CustomResourceDefinition to wire, such as crontabs.example.com; may be repeated "
        "(default: those of the kinds that the converters declare)",
    )
    flag(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="how to reach the API server (default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    flag(
        "--request-timeout",
        default="30s",
        metavar="DURATION",
        help="the longest a review may take (default: %(default)s)",
    )
    flag(
        "--shutdown-delay-duration",
        default="0s",
        metavar="DURATION",
        help="how long to go on serving, no longer ready, when told to stop (default: %(default)s)",
    )
    flag("--print-manifests", action="store_true", help="print Kubernetes manifests that run this host, and exit")
    flag("--image", metavar="IMAGE", help="the image in those manifests: Polykind and the converters")
    flag("--replicas", type=int, default=2, metavar="N", help="pods in those manifests (default: %(default)s)")
    flag(
        "-v",
        "--verbosity",
        type=int,
        default=2,
        metavar="LEVEL",
        help="4 and above: say more (default: %(default)s)",
    )
    command.set_defaults(run=run)


class UsageError(Exception):
    """Nothing was begun: the flags say something that cannot be done."""


def run(chosen: argparse.Namespace) -> int:
    begin_log(chosen.verbosity)
    try:
        if chosen.print_manifests:
            print(manifests(chosen), end="")
            return 0
        import uvloop

        return uvloop.run(_host(chosen))
    except (UsageError, ValueError) as error:
        print(f"polykind host: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"polykind host: {error}", file=sys.stderr)
        return 1


def manifests(chosen: argparse.Namespace) -> str:
    """Raises UsageError or ValueError."""
    from polykind.toolkit.hosting.host_manifests import HostManifests

    where = endpoint(chosen)
    if where is None or where.url:
        raise UsageError("--print-manifests needs --service NAMESPACE/NAME: what is printed runs in a cluster")
    if not chosen.image:
        raise UsageError("--print-manifests needs --image: one that has Polykind and the converters")
    if not chosen.crd:
        raise UsageError("--print-manifests needs --crd, such as crontabs.example.com: roles name what they allow")
    return HostManifests(chosen.image, where, chosen.converter, chosen.crd, chosen.replicas).text()


def endpoint(chosen: argparse.Namespace) -> WebhookEndpoint | None:
    """Where the API server finds the host; None: where it listens. Raises UsageError or ValueError."""
    from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

    if chosen.service and chosen.url:
        raise UsageError("--service and --url both say where the host is found: use one")
    if chosen.service:
        return WebhookEndpoint.of_service(chosen.service)
    return WebhookEndpoint.of_url(chosen.url) if chosen.url else None


def hosted(chosen: argparse.Namespace) -> tuple[Host, ClusterClient | None]:
    """The host that flags describe, and the API server that it speaks to. Raises UsageError or ValueError."""
    from polykind.toolkit.declare.loading import load_converter
    from polykind.toolkit.hosting.webhook_host import Host
    from polykind.toolkit.hosting.webhook_registration import WebhookRegistration, check_complete

    where = endpoint(chosen)
    if chosen.wire and where is None and chosen.bind_address not in LOOPBACK:
        raise UsageError(
            "how does the API server reach this host? Say --service NAMESPACE/NAME or --url URL; "
            "--bind-address=127.0.0.1 if it is on this machine; --wire=false to wire the definitions yourself"
        )
    libraries = [load_converter(spec) for spec in chosen.converter]
    check_complete(libraries)
    cluster = _cluster(chosen)
    wiring = None
    if chosen.wire and cluster is not None:
        wiring = WebhookRegistration(cluster, where, crds=chosen.crd, self_test=chosen.self_test)
        wiring.prepare(libraries)
    host = Host(
        libraries,
        address=chosen.bind_address,
        port=chosen.secure_port,
        certificates=_certificates(chosen, where, cluster),
        registration=wiring,
        seconds=seconds("--request-timeout", chosen.request_timeout, such_as="30s"),
    )
    return host, cluster


def _certificates(
    chosen: argparse.Namespace, where: WebhookEndpoint | None, cluster: ClusterClient | None
) -> Certificates:
    from polykind.toolkit.hosting.certificate_store import SecretStore
    from polykind.toolkit.hosting.host_certificates import ExternalCertificates, ManagedCertificates, in_folder

    certificate, key = chosen.tls_cert_file, chosen.tls_private_key_file
    if (certificate is None) != (key is None):
        raise UsageError("--tls-cert-file and --tls-private-key-file go together: one of them is missing")
    if certificate is not None:
        return ExternalCertificates(certificate, key, chosen.cert_dir / "ca.crt")
    anywhere = chosen.bind_address in ("", "0.0.0.0", "::")  # noqa: S104
    names = [*(where.names if where else ()), *LOOPBACK, *([] if anywhere else [chosen.bind_address])]
    if chosen.cert_secret and cluster is not None:
        return ManagedCertificates(names, store=SecretStore(cluster, chosen.cert_secret))
    return in_folder(names, chosen.cert_dir)


def _cluster(chosen: argparse.Namespace) -> ClusterClient | None:
    """The API server, if there is anything to ask or to tell it. Raises UsageError."""
    from polykind.toolkit.hosting import cluster_access
    from polykind.toolkit.hosting.cluster_client import ClusterClient

    if not chosen.wire and not chosen.cert_secret:
        return None
    try:
        return ClusterClient(cluster_access.find_access(chosen.kubeconfig, os.environ, Path.home()))
    except cluster_access.KubeconfigError as error:
        raise UsageError(f"{error}; --wire=false to wire the definitions yourself") from None


async def _host(chosen: argparse.Namespace) -> int:
    delay = seconds("--shutdown-delay-duration", chosen.shutdown_delay_duration, such_as="30s")
    host, cluster = hosted(chosen)
    stop = told_to_stop()
    async with AsyncExitStack() as stack:
        if cluster is not None:
            await stack.enter_async_context(cluster)
        await stack.enter_async_context(host)
        print(f"Serving at {host.url}", flush=True)
        print(f"Converting {host.description}", flush=True)
        if not chosen.wire:
            print(f"To be trusted as caBundle: {_trusted(chosen)}", flush=True)
        await stop.wait()
        if delay:
            await host.drain(delay)
    return 0


def _trusted(chosen: argparse.Namespace) -> str:
    if chosen.cert_secret:
        return f"ca.crt of the Secret {chosen.cert_secret}"
    return "the authority of --tls-cert-file" if chosen.tls_cert_file else str(chosen.cert_dir / "ca.crt")
