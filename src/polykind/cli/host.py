"""`polykind host`: hosts conversions as a webhook for any API server, until it is stopped."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import (
    UsageError,
    add_bool_flag,
    add_verbosity_flag,
    configure_logging,
    parse_seconds,
    stop_event,
)

if TYPE_CHECKING:
    from polykind.cluster.cluster_client import ClusterClient
    from polykind.toolkit.hosting.host_certificates import Certificates
    from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint
    from polykind.toolkit.hosting.webhook_host import Host

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "host",
        help="host conversions as a webhook for any Kubernetes cluster",
        description="Host conversions as a webhook. The host creates and renews its certificates and configures "
        "CustomResourceDefinitions to call it.",
    )
    flag = command.add_argument
    flag(
        "--converter",
        action="append",
        required=True,
        metavar="MODULE:OBJECT",
        help="the conversions: a Python object or a rules file; may be repeated",
    )
    flag("--bind-address", default="0.0.0.0", metavar="ADDRESS", help="address to listen on (default: %(default)s)")  # noqa: S104
    flag(
        "--secure-port",
        type=int,
        default=8443,
        metavar="PORT",
        help="HTTPS port; 0 chooses a free port (default: %(default)s)",
    )
    flag(
        "--service",
        metavar="NAMESPACE/NAME[:PORT][/PATH]",
        help="Service by which the API server reaches the host (default port 443, path /convert)",
    )
    flag("--url", metavar="URL", help="URL by which the API server reaches the host, instead of a Service")
    flag(
        "--cert-dir",
        type=Path,
        default=Path(".polykind/host"),
        metavar="DIR",
        help="directory in which certificates are created and renewed, or in which another program maintains tls.crt, "
        "tls.key and ca.crt (default: %(default)s)",
    )
    flag(
        "--cert-secret",
        metavar="NAMESPACE/NAME",
        help="Secret in which certificates are created and renewed instead of --cert-dir; shared by replicas",
    )
    flag("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate in PEM, reloaded when it changes")
    flag("--tls-private-key-file", type=Path, metavar="FILE", help="private key of --tls-cert-file in PEM")
    add_bool_flag(
        command, "--wire", "configure the CustomResourceDefinitions to call this host and keep them configured"
    )
    add_bool_flag(
        command, "--self-test", "report ready only after the API server has converted an object through this host"
    )
    flag(
        "--crd",
        action="append",
        default=[],
        metavar="NAME",
        help="CustomResourceDefinition to configure, such as crontabs.example.com; may be repeated "
        "(default: the kinds that the converters declare)",
    )
    flag(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="kubeconfig of the API server (default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    flag(
        "--request-timeout",
        default="30s",
        metavar="DURATION",
        help="maximum duration of a ConversionReview (default: %(default)s)",
    )
    flag(
        "--shutdown-delay-duration",
        default="0s",
        metavar="DURATION",
        help="time to keep serving as not ready after a stop signal (default: %(default)s)",
    )
    flag("--print-manifests", action="store_true", help="print Kubernetes manifests that run this host and exit")
    flag("--image", metavar="IMAGE", help="container image for --print-manifests, with Polykind and the converters")
    flag(
        "--replicas",
        type=int,
        default=2,
        metavar="N",
        help="number of pods for --print-manifests (default: %(default)s)",
    )
    add_verbosity_flag(command, "debug messages")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    configure_logging(args.verbosity)
    try:
        if args.print_manifests:
            print(manifests(args), end="")
            return 0
        import uvloop

        return uvloop.run(_host(args))
    except (UsageError, ValueError) as error:
        print(f"polykind host: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"polykind host: {error}", file=sys.stderr)
        return 1


def manifests(args: argparse.Namespace) -> str:
    """Return the manifests for --print-manifests. Raise UsageError or ValueError if a flag is missing or invalid."""
    from polykind.toolkit.hosting.host_manifests import HostManifests

    address = endpoint(args)
    if address is None or address.url:
        raise UsageError("--print-manifests requires --service NAMESPACE/NAME")
    if not args.image:
        raise UsageError("--print-manifests requires --image, with Polykind and the converters")
    if not args.crd:
        raise UsageError("--print-manifests requires --crd, such as crontabs.example.com, for the role's resourceNames")
    return HostManifests(args.image, address, args.converter, args.crd, args.replicas, _pod_flags(args)).text()


def _pod_flags(args: argparse.Namespace) -> list[str]:
    """Return the flags of this command that the Deployment in the printed manifests passes to its hosts.

    Raise UsageError if a flag has no effect on the printed manifests.
    """
    for name in ("kubeconfig", "tls_cert_file", "tls_private_key_file", "cert_secret"):
        if getattr(args, name):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has no effect on --print-manifests: edit the printed Deployment instead")
    flags = [f"--wire={str(args.wire).lower()}"] if not args.wire else []
    flags += [f"--self-test={str(args.self_test).lower()}"] if not args.self_test else []
    flags += [f"--request-timeout={args.request_timeout}"] if args.request_timeout != "30s" else []
    if args.shutdown_delay_duration != "0s":
        flags.append(f"--shutdown-delay-duration={args.shutdown_delay_duration}")
    return [*flags, f"-v={args.verbosity}"] if args.verbosity != 2 else flags


def endpoint(args: argparse.Namespace) -> WebhookEndpoint | None:
    """Return the address that --service or --url gives the host, or None if neither flag is set.

    Raise UsageError or ValueError if a flag is invalid.
    """
    from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

    if args.service and args.url:
        raise UsageError("--service and --url cannot be used together")
    if args.service:
        return WebhookEndpoint.of_service(args.service)
    return WebhookEndpoint.of_url(args.url) if args.url else None


def build_host(args: argparse.Namespace) -> tuple[Host, ClusterClient | None]:
    """Return a host with the settings of the flags, and a client of the API server if the host needs one.

    Raise UsageError or ValueError if a flag is invalid.
    """
    from polykind.conversion.loading import load_converter
    from polykind.toolkit.hosting.webhook_host import Host
    from polykind.toolkit.hosting.webhook_registration import WebhookRegistration, check_complete

    address = endpoint(args)
    if args.wire and address is None and args.bind_address not in LOOPBACK:
        raise UsageError(
            "cannot tell how the API server reaches this host: use --service NAMESPACE/NAME or --url URL, "
            "--bind-address=127.0.0.1 for an API server on this machine, or --wire=false to configure the CRDs yourself"
        )
    libraries = [load_converter(spec) for spec in args.converter]
    check_complete(libraries)
    cluster = _cluster(args)
    wiring = None
    if args.wire and cluster is not None:
        wiring = WebhookRegistration(cluster, address, crds=args.crd, self_test=args.self_test)
        wiring.prepare(libraries)
    host = Host(
        libraries,
        address=args.bind_address,
        port=args.secure_port,
        certificates=_certificates(args, address, cluster),
        registration=wiring,
        seconds=parse_seconds("--request-timeout", args.request_timeout, example="30s"),
    )
    return host, cluster


def _certificates(
    args: argparse.Namespace, address: WebhookEndpoint | None, cluster: ClusterClient | None
) -> Certificates:
    from polykind.toolkit.hosting.certificate_store import SecretStore
    from polykind.toolkit.hosting.host_certificates import ExternalCertificates, ManagedCertificates, in_folder

    certificate, key = args.tls_cert_file, args.tls_private_key_file
    if (certificate is None) != (key is None):
        raise UsageError("--tls-cert-file and --tls-private-key-file must be given together")
    if certificate is not None:
        return ExternalCertificates(certificate, key, args.cert_dir / "ca.crt")
    all_interfaces = args.bind_address in ("", "0.0.0.0", "::")  # noqa: S104
    names = [*(address.names if address else ()), *LOOPBACK, *([] if all_interfaces else [args.bind_address])]
    if args.cert_secret and cluster is not None:
        return ManagedCertificates(names, store=SecretStore(cluster, args.cert_secret))
    return in_folder(names, args.cert_dir)


def _cluster(args: argparse.Namespace) -> ClusterClient | None:
    """Return a client of the API server, or None if none is needed. Raise UsageError if no kubeconfig is usable."""
    from polykind.cluster import cluster_access
    from polykind.cluster.cluster_client import ClusterClient

    if not args.wire and not args.cert_secret:
        return None
    try:
        return ClusterClient(cluster_access.find_access(args.kubeconfig, os.environ, Path.home()))
    except cluster_access.KubeconfigError as error:
        raise UsageError(f"{error}; use --wire=false to configure the CRDs yourself") from None


async def _host(args: argparse.Namespace) -> int:
    delay = parse_seconds("--shutdown-delay-duration", args.shutdown_delay_duration, example="30s")
    host, cluster = build_host(args)
    stop = stop_event()
    async with AsyncExitStack() as stack:
        if cluster is not None:
            await stack.enter_async_context(cluster)
        await stack.enter_async_context(host)
        print(f"Serving at {host.url}", flush=True)
        print(f"Converting {host.description}", flush=True)
        if not args.wire:
            print(f"caBundle of the CRDs: {_ca_location(args)}", flush=True)
        await stop.wait()
        if delay:
            await host.drain(delay)
    return 0


def _ca_location(args: argparse.Namespace) -> str:
    if args.cert_secret:
        return f"ca.crt in the Secret {args.cert_secret}"
    return "the CA of --tls-cert-file" if args.tls_cert_file else str(args.cert_dir / "ca.crt")
