"""The flags of `polykind prove` that say which CRD and which converter are tested."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.cli.flags import add_list_flag, parse_seconds

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.declare.library import Library
    from polykind.toolkit.crd_versions import CRD
    from polykind.toolkit.proving.round_trip import TestedConverter

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class ProofSource:
    """The CRD and the converter to test. `name` describes the converter, and `words` are the flags that chose it."""

    crd: CRD
    converter: Library | TestedConverter
    name: str
    words: list[str]
    clock: Callable[[], float] = time.process_time
    fresh: Callable[[], TestedConverter] | None = None


def add_source_flags(command: argparse.ArgumentParser) -> None:
    flag = command.add_argument
    flag("--crd", required=True, metavar="FILE", help="CRD or Crossplane XRD of the kind; with --kubeconfig its name")
    flag(
        "--converter",
        metavar="MODULE:OBJECT",
        help="the conversions: a Python object or a rules file (default: the conversion that the CRD specifies)",
    )
    flag("--webhook", metavar="URL", help="call this webhook instead of the one that the CRD specifies")
    flag("--ca", type=Path, metavar="FILE", help="CA in PEM that --webhook is verified with (default: the system's)")
    flag(
        "--insecure-skip-tls-verify",
        action="store_true",
        help="accept any certificate of the webhook; for tests only",
    )
    add_list_flag(command, "--resolve", "NAMESPACE/SERVICE=HOST:PORT", "address of a Service that the CRD refers to")
    flag("--kubeconfig", type=Path, metavar="FILE", help="read the CRD from this cluster; nothing is written there")
    flag("--context", default="", metavar="NAME", help="context of --kubeconfig (default: its current context)")
    flag("--losses", type=Path, metavar="FILE", help="YAML file of acknowledged losses: a list of pair, path, why")
    flag(
        "--call-timeout",
        default="10s",
        metavar="DURATION",
        help="time after which a call of the converter fails (default: %(default)s)",
    )


def open_source(args: argparse.Namespace) -> ProofSource:
    """Return the CRD and the converter that the flags specify. Raise ValueError if they are not usable."""
    from polykind.conversion.loading import load_converter

    _check_combination(args)
    seconds = parse_seconds("--call-timeout", args.call_timeout, example="10s")
    words = ["--crd", str(args.crd)]
    for name in ("kubeconfig", "context", "converter", "webhook", "ca", "losses"):
        value = getattr(args, name)
        if value:
            words += [f"--{name}", str(value)]
    words += ["--insecure-skip-tls-verify"] if args.insecure_skip_tls_verify else []
    words += [word for value in args.resolve for word in ("--resolve", value)]
    words += ["--call-timeout", args.call_timeout] if args.call_timeout != "10s" else []
    if args.converter:
        from polykind.toolkit.proving.fresh_process import FreshConverter
        from polykind.toolkit.proving.round_trip import TestedConverter

        library = load_converter(args.converter)
        crd = _read_crd(args, library)
        return ProofSource(
            crd,
            library if seconds == 10 else TestedConverter(library, crd, seconds),
            args.converter,
            words,
            fresh=lambda: FreshConverter(args.converter, crd),
        )
    crd = _read_crd(args, None)
    conversion: JsonObject = crd.manifest["spec"].get("conversion") or {}
    if not args.webhook and conversion.get("strategy", "None") == "None":
        return ProofSource(crd, _strategy_none(), "strategy None", words)
    webhook = _webhook(args, crd, conversion, seconds)
    return ProofSource(crd, webhook, webhook.url, words, clock=time.monotonic)


def _check_combination(args: argparse.Namespace) -> None:
    if args.converter and (args.webhook or args.resolve):
        raise ValueError("--converter: cannot be combined with --webhook or --resolve")
    for name in ("ca", "context"):
        needed = {"ca": "webhook", "context": "kubeconfig"}[name]
        if getattr(args, name) and not getattr(args, needed):
            raise ValueError(f"--{name}: needs --{needed}")


def _read_crd(args: argparse.Namespace, library: Library | None) -> CRD:
    from polykind.toolkit.crd_versions import CRD, RejectedError, read_crd

    if args.kubeconfig is None:
        return read_crd(args.crd, library)
    try:
        manifest = asyncio.run(_read_from_cluster(args))
        # The API server has validated the CRD. What it added besides the specification is not needed.
        return CRD({key: manifest[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": args.crd}})
    except RejectedError as error:
        raise ValueError(f"--crd {args.crd}: {error}") from None


async def _read_from_cluster(args: argparse.Namespace) -> Any:
    from polykind.cluster.cluster_access import read_kubeconfigs
    from polykind.cluster.cluster_client import ClusterClient, ClusterError, StatusError

    async with ClusterClient(read_kubeconfigs([args.kubeconfig], args.context)) as client:
        try:
            manifest = await client.get(f"{_CRDS}/{args.crd}")
        except StatusError as error:
            hint = "; give the name of a CRD, such as crontabs.stable.example.com" if error.status == 404 else ""
            raise ValueError(f"--crd {args.crd}: {error}{hint}") from None
        except ClusterError as error:
            raise ValueError(f"--kubeconfig {args.kubeconfig}: {client.server} cannot be read: {error}") from None
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **manifest}


def _strategy_none() -> Library:
    from polykind.declare.library import Library

    def change_only_the_version(obj: JsonObject, to: str) -> JsonObject:
        return {**obj, "apiVersion": to, "metadata": obj.get("metadata") or {}}

    return Library("strategy None", change_only_the_version)


def _webhook(args: argparse.Namespace, crd: CRD, conversion: JsonObject, seconds: float) -> Any:
    from polykind.toolkit.proving.tested_webhook import TestedWebhook, client_config
    from polykind.webhook.target import Resolver, parse_resolve, resolve_flag

    config: JsonObject = dict(conversion.get("webhook") or {})
    if args.webhook:
        config["clientConfig"] = client_config(args.webhook, args.ca)
    overrides = parse_resolve(args.resolve)
    service = (config.get("clientConfig") or {}).get("service")
    if isinstance(service, dict) and "KUBERNETES_SERVICE_HOST" not in os.environ:
        name = f"{service.get('namespace')}/{service.get('name')}"
        if name not in overrides:
            port = service.get("port") or 443
            raise ValueError(
                f"the webhook of {crd.name} is the Service {name} inside a cluster: forward its port (kubectl "
                f"port-forward -n {service.get('namespace')} service/{service.get('name')} 9443:{port}) and pass "
                f"{resolve_flag(service.get('namespace', ''), service.get('name', ''), '127.0.0.1:9443')}"
            )
    try:
        return TestedWebhook(
            crd, config, Resolver(overrides), verify=not args.insecure_skip_tls_verify, seconds=seconds
        )
    except ValueError as error:
        raise ValueError(f"{'--webhook' if args.webhook else '--crd'}: {error}") from None
