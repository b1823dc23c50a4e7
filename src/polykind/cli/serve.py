"""`polykind serve`: run the API server until it is told to stop."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polykind.cli.flags import add_truth, begin_log, seconds, told_to_stop, truth
from polykind.server.settings import Settings, SettingsError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "serve", help="run the API server", description="Run the API server: HTTPS, an embedded store, no cluster."
    )
    flag = command.add_argument
    flag("--bind-address", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: %(default)s)")
    flag(
        "--secure-port",
        type=int,
        default=6443,
        metavar="PORT",
        help="port for HTTPS; 0: any free one (default: %(default)s)",
    )
    flag(
        "--data-dir",
        type=Path,
        default=Path(".polykind"),
        metavar="DIR",
        help="where the store, certificates, token and kubeconfig lie (default: %(default)s)",
    )
    flag("--cert-dir", type=Path, metavar="DIR", help="where certificates are made and kept (default: DATA_DIR/pki)")
    flag("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate in PEM, instead of one made by us")
    flag("--tls-private-key-file", type=Path, metavar="FILE", help="its private key in PEM")
    flag(
        "--client-ca-file",
        type=Path,
        metavar="FILE",
        help="CA whose client certificates are accepted: CN is the user, O the groups",
    )
    flag("--token-auth-file", type=Path, metavar="FILE", help='CSV of accepted tokens: token,user,uid,"group1,group2"')
    flag(
        "--etcd-servers",
        default="",
        metavar="URLS",
        help="comma-separated etcd addresses, instead of the embedded store",
    )
    flag("--etcd-prefix", default="/registry", metavar="PREFIX", help="what all keys begin with (default: %(default)s)")
    flag("--etcd-cafile", type=Path, metavar="FILE", help="CA in PEM that etcd's certificate is checked with")
    flag("--etcd-certfile", type=Path, metavar="FILE", help="client certificate in PEM that is shown to etcd")
    flag("--etcd-keyfile", type=Path, metavar="FILE", help="its private key in PEM")
    flag(
        "--etcd-compaction-interval",
        default="5m",
        metavar="DURATION",
        help="how often old revisions in etcd are forgotten; 0: never (default: %(default)s)",
    )
    flag(
        "--feature-gates",
        action="append",
        default=[],
        metavar="GATE=BOOL",
        help="turn features on or off, comma-separated",
    )
    flag(
        "--request-timeout",
        default="60s",
        metavar="DURATION",
        help="the longest a request may take, such as 1m30s (default: %(default)s)",
    )
    flag(
        "--authorization-mode",
        action="append",
        default=[],
        metavar="MODES",
        help="who decides what users may do, in order: AlwaysAllow, AlwaysDeny, RBAC (default: AlwaysAllow)",
    )
    add_truth(command, "--conversion-cache", "keep converted objects")
    flag(
        "--resolve",
        action="append",
        default=[],
        metavar="NAMESPACE/SERVICE=HOST:PORT",
        help="where a webhook's service reference leads; may be repeated",
    )
    flag(
        "--converter",
        action="append",
        default=[],
        metavar="MODULE:OBJECT",
        help="convert in process by this Python object, or by a file of rules; may be repeated",
    )
    add_truth(command, "--serve-v1beta1", "serve apiextensions.k8s.io/v1beta1 beside v1")
    add_truth(command, "--garbage-collector", "delete objects whose owners have gone")
    flag(
        "-v",
        "--verbosity",
        type=int,
        default=2,
        metavar="LEVEL",
        help="4 and above: a line for each request (default: %(default)s)",
    )
    command.set_defaults(run=run)


def settings(chosen: argparse.Namespace) -> Settings:
    """The flags as settings. Raises SettingsError."""
    gates: dict[str, bool] = {}
    for part in ",".join(chosen.feature_gates).split(","):
        if part.strip():
            name, _, value = part.strip().partition("=")
            try:
                gates[name] = truth(value)
            except argparse.ArgumentTypeError as error:
                raise SettingsError(f"--feature-gates {name}: {error}") from None
    from polykind.webhook.resolver import parse_resolve

    try:
        parse_resolve(chosen.resolve)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    timeout = seconds("--request-timeout", chosen.request_timeout, such_as="60s")
    return Settings(
        data_dir=chosen.data_dir,
        bind_address=chosen.bind_address,
        secure_port=chosen.secure_port,
        cert_dir=chosen.cert_dir,
        tls_cert_file=chosen.tls_cert_file,
        tls_private_key_file=chosen.tls_private_key_file,
        client_ca_file=chosen.client_ca_file,
        token_auth_file=chosen.token_auth_file,
        etcd_servers=tuple(s for s in chosen.etcd_servers.split(",") if s),
        etcd_prefix=chosen.etcd_prefix,
        etcd_cafile=chosen.etcd_cafile,
        etcd_certfile=chosen.etcd_certfile,
        etcd_keyfile=chosen.etcd_keyfile,
        etcd_compaction_interval=seconds("--etcd-compaction-interval", chosen.etcd_compaction_interval, such_as="60s"),
        feature_gates=gates,
        request_timeout=timeout,
        authorization_mode=tuple((",".join(chosen.authorization_mode) or "AlwaysAllow").split(",")),
        conversion_cache=chosen.conversion_cache,
        resolve=tuple(chosen.resolve),
        converter=tuple(chosen.converter),
        serve_v1beta1=chosen.serve_v1beta1,
        garbage_collector=chosen.garbage_collector,
    )


def run(chosen: argparse.Namespace) -> int:
    begin_log(chosen.verbosity)
    import uvloop

    try:
        return uvloop.run(_serve(settings(chosen)))
    except SettingsError as error:
        print(f"polykind serve: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"polykind serve: {error}", file=sys.stderr)
        return 1


async def _serve(chosen: Settings) -> int:
    import gc

    # Nothing that is made on the way up is garbage.
    gc.disable()
    from polykind.contract import StoreError
    from polykind.server.server import Server

    stop = told_to_stop()
    try:
        async with Server(chosen) as server:
            print(f"Serving at {server.url}", flush=True)
            print(f"To use it: export KUBECONFIG={server.kubeconfig}", flush=True)
            # What is there now stays: the collector need not look at it again.
            gc.collect()
            gc.freeze()
            # Requests under way are no garbage either: with Python's own threshold a dozen of them wake the collector.
            gc.set_threshold(10_000, 10, 10)
            gc.enable()
            await stop.wait()
    except StoreError as error:
        print(f"polykind serve: {error}", file=sys.stderr)
        return 1
    return 0
