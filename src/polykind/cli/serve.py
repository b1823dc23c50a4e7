"""`polykind serve`: runs the API server until it is stopped."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polykind.cli.audit_flags import DURATIONS, add_audit_flags
from polykind.cli.flags import (
    add_bool_flag,
    add_etcd_flags,
    add_list_flag,
    add_verbosity_flag,
    configure_logging,
    parse_bool,
    parse_seconds,
)
from polykind.cli.server_process import report_failure, run_server
from polykind.server.settings import Settings, SettingsError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "serve", help="run the API server", description="Run a Kubernetes API server with HTTPS and an embedded store."
    )
    add_serve_flags(command)
    command.set_defaults(run=run)


def add_serve_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags of `polykind serve`: one for each field of Settings, the log level and the configuration file."""
    flag = command.add_argument
    flag(
        "--config",
        type=Path,
        metavar="FILE",
        help="YAML file of options by their flags' names; flags and POLYKIND_* environment variables override it",
    )
    flag("--print-config", action="store_true", help="print the value and the origin of every option, and exit")
    flag("--bind-address", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: %(default)s)")
    flag(
        "--secure-port",
        type=int,
        metavar="PORT",
        help=f"HTTPS port; 0 chooses a free port (default: {Settings().secure_port}; with --ephemeral 0)",
    )
    flag(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="directory of the store, certificates, token and kubeconfig "
        f"(default: {Settings().data_dir}; with --ephemeral a temporary directory)",
    )
    add_bool_flag(
        command,
        "--ephemeral",
        "keep data in a temporary directory, choose a free port, and stop with the parent process",
        default=False,
    )
    add_bool_flag(
        command,
        "--permit-port-sharing",
        "share --secure-port with other processes of this machine, such as replicas on one etcd",
        default=False,
    )
    _add_http2_flags(command)
    flag("--cert-dir", type=Path, metavar="DIR", help="directory of generated certificates (default: DATA_DIR/pki)")
    flag("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate in PEM, instead of a generated one")
    flag("--tls-private-key-file", type=Path, metavar="FILE", help="private key of --tls-cert-file in PEM")
    _add_tls_flags(command)
    flag(
        "--client-ca-file",
        type=Path,
        metavar="FILE",
        help="CA of client certificates, whose CN is the user and whose O are the groups",
    )
    flag(
        "--token-auth-file", type=Path, metavar="FILE", help='CSV file of bearer tokens: token,user,uid,"group1,group2"'
    )
    _add_oidc_flags(command)
    add_bool_flag(command, "--anonymous-auth", "serve requests without credentials, unless AlwaysAllow is a mode")
    flag(
        "--etcd-servers",
        default="",
        metavar="URLS",
        help="comma-separated URLs of etcd, used instead of the embedded store",
    )
    add_etcd_flags(command)
    flag(
        "--etcd-compaction-interval",
        default="5m",
        metavar="DURATION",
        help="interval of etcd compactions; 0 disables them (default: %(default)s)",
    )
    flag(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="EncryptionConfiguration with the keys that encrypt stored objects",
    )
    add_bool_flag(
        command,
        "--encryption-provider-config-automatic-reload",
        "read --encryption-provider-config again when it changes",
        default=False,
    )
    flag(
        "--feature-gates",
        action="append",
        default=[],
        metavar="GATE=BOOL",
        help="comma-separated feature gates to enable or disable",
    )
    flag(
        "--request-timeout",
        default="60s",
        metavar="DURATION",
        help="maximum duration of a request, such as 1m30s (default: %(default)s)",
    )
    flag(
        "--authorization-mode",
        action="append",
        default=[],
        metavar="MODES",
        help="comma-separated authorizers in order: AlwaysAllow, AlwaysDeny, RBAC, Webhook (default: RBAC)",
    )
    _add_webhook_flags(command)
    for verb in ("enable", "disable"):
        flag(
            f"--{verb}-admission-plugins",
            action="append",
            default=[],
            metavar="PLUGINS",
            help=f"comma-separated admission plugins to {verb}, in any order",
        )
    flag(
        "--admission-control-config-file",
        type=Path,
        metavar="FILE",
        help="AdmissionConfiguration with the configurations of admission plugins, such as credentials for webhooks",
    )
    for condition in ("not-ready", "unreachable"):
        flag(
            f"--default-{condition}-toleration-seconds",
            type=int,
            default=300,
            metavar="SECONDS",
            help=f"seconds for which new pods tolerate the taint {condition} (default: %(default)s)",
        )
    add_bool_flag(command, "--conversion-cache", "cache converted objects")
    flag(
        "--conversion-cache-ttl",
        default="5m0s",
        metavar="DURATION",
        help="time for which a converted object is shown; 0s converts at every read (default: %(default)s)",
    )
    add_bool_flag(command, "--allow-privileged", "let pods have privileged containers", default=False)
    add_bool_flag(
        command,
        "--conversion-fallback",
        "while a converter is down, show objects as last converted, with a warning, and delete by stored metadata",
        default=False,
    )
    flag(
        "--conversion-webhook-config-file",
        type=Path,
        metavar="FILE",
        help="kubeconfig with the credentials for conversion webhooks; users are named by the webhook's host and port",
    )
    add_list_flag(command, "--resolve", "NAMESPACE/SERVICE=HOST:PORT", "address of a Service that webhooks refer to")
    add_list_flag(command, "--converter", "MODULE:OBJECT", "convert in-process with this Python object or rules file")
    add_bool_flag(command, "--serve-v1beta1", "serve apiextensions.k8s.io/v1beta1 in addition to v1")
    flag(
        "--runtime-config",
        action="append",
        default=[],
        metavar="KEY=BOOL",
        help="comma-separated built-in APIs to enable or disable: GROUP/VERSION, GROUP/VERSION/RESOURCE, api/all, "
        "api/ga, api/beta, api/alpha; api/custom-only=true disables all that custom resources do not need",
    )
    add_bool_flag(command, "--garbage-collector", "delete objects whose owners are gone")
    add_bool_flag(command, "--namespace-controller", "delete the content of deleted namespaces")
    add_bool_flag(command, "--clusterrole-aggregation", "set the rules of ClusterRoles that have an aggregationRule")
    add_bool_flag(command, "--quota-controller", "keep the status of ResourceQuotas up to date")
    command.add_argument(
        "--rate-limit-config-file",
        type=Path,
        metavar="FILE",
        help="RateLimitConfiguration with the requests per second and the open watches of each user",
    )
    flag(
        "--service-cluster-ip-range",
        default="",
        metavar="CIDRS",
        help="CIDR of the cluster IPs of Services; two comma-separated CIDRs for dual stack (default: 10.0.0.0/24)",
    )
    flag(
        "--service-node-port-range",
        default="30000-32767",
        metavar="PORTS",
        help="ports for Services of type NodePort and LoadBalancer (default: %(default)s)",
    )
    flag(
        "--advertise-address",
        default="",
        metavar="IP",
        help="address in kubeconfigs, the serving certificate and the endpoints of the Service default/kubernetes "
        "(default: --bind-address)",
    )
    flag(
        "--event-ttl",
        default="1h0m0s",
        metavar="DURATION",
        help="time after which Events are deleted; 0 keeps them (default: %(default)s)",
    )
    flag(
        "--shutdown-delay-duration",
        default="0s",
        metavar="DURATION",
        help="time to keep serving after a stop signal, while /readyz fails (default: %(default)s)",
    )
    _add_token_flags(command)
    add_bool_flag(command, "--console", "serve the console, a web application, at /console/")
    flag(
        "--console-oidc-client-id",
        default="",
        metavar="TEXT",
        help="client with which users of the console sign in at the issuer (default: the issuer's first audience)",
    )
    add_audit_flags(command)
    flag(
        "--tracing-config-file",
        type=Path,
        metavar="FILE",
        help="TracingConfiguration: the OpenTelemetry collector for traces of requests, and the sampling rate",
    )
    flag(
        "--logging-format",
        default="text",
        metavar="FORMAT",
        help="format of log lines: text, or json as kube-apiserver writes it (default: %(default)s)",
    )
    add_verbosity_flag(command, "every request")


def _add_http2_flags(command: argparse.ArgumentParser) -> None:
    add_bool_flag(command, "--disable-http2-serving", "serve only HTTP/1.1", default=False)
    command.add_argument(
        "--http2-max-streams-per-connection",
        type=int,
        default=0,
        metavar="NUMBER",
        help="requests that a client may run at once on one HTTP/2 connection; 0 means 100 (default: %(default)s)",
    )
    command.add_argument(
        "--goaway-chance",
        type=float,
        default=0.0,
        metavar="FRACTION",
        help="fraction of HTTP/2 requests, up to 0.02, that make their client open a new connection, "
        "which may lead to another replica (default: 0)",
    )


def _add_tls_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags for the names in the serving certificate, and for TLS versions and cipher suites."""
    flag = command.add_argument
    add_list_flag(command, "--tls-san", "NAME", "additional host name or IP address in the generated certificate")
    sni = "certificate and key for clients that ask for one of the names, or for a name in the certificate"
    add_list_flag(command, "--tls-sni-cert-key", "CERT,KEY[:NAMES]", sni)
    flag(
        "--tls-min-version",
        default="VersionTLS12",
        metavar="VERSION",
        help="oldest TLS version for clients: VersionTLS12 or VersionTLS13 (default: %(default)s)",
    )
    flag(
        "--tls-cipher-suites",
        default="",
        metavar="SUITES",
        help="comma-separated cipher suites for TLS 1.2 by Go's names (default: Go's defaults)",
    )


def _add_webhook_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags for the webhooks that decide about access and authenticate tokens."""
    flag = command.add_argument
    flag(
        "--authorization-config",
        type=Path,
        metavar="FILE",
        help="AuthorizationConfiguration with the authorizers, instead of --authorization-mode",
    )
    for purpose, mode in (("authorization", "the mode Webhook"), ("authentication-token", "unknown bearer tokens")):
        flag(
            f"--{purpose}-webhook-config-file",
            type=Path,
            metavar="FILE",
            help=f"kubeconfig of the webhook for {mode}",
        )
        flag(
            f"--{purpose}-webhook-version",
            default="v1beta1",
            metavar="VERSION",
            help="version of the reviews that the webhook receives: v1 or v1beta1 (default: %(default)s)",
        )
    for name, default, text in (
        ("authorization-webhook-cache-authorized-ttl", "5m0s", "positive decisions of the webhook"),
        ("authorization-webhook-cache-unauthorized-ttl", "30s", "other decisions of the webhook"),
        ("authentication-token-webhook-cache-ttl", "2m0s", "users that the webhook has authenticated"),
    ):
        flag(
            f"--{name}",
            default=default,
            metavar="DURATION",
            help=f"time for which the server caches {text} (default: %(default)s)",
        )


def _add_oidc_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags for tokens of OpenID Connect providers."""
    flag = command.add_argument
    flag(
        "--authentication-config",
        type=Path,
        metavar="FILE",
        help="AuthenticationConfiguration with issuers of JSON Web Tokens; it is read again when it changes",
    )
    texts = {
        "issuer-url": "issuer of OpenID Connect tokens, an https:// URL",
        "client-id": "audience of OpenID Connect tokens",
        "username-prefix": "prefix of user names; - for none (default: the issuer and #, unless the claim is email)",
        "groups-claim": "claim with the user's groups",
        "groups-prefix": "prefix of groups",
    }
    for name, text in texts.items():
        flag(f"--oidc-{name}", default="", metavar="URL" if name == "issuer-url" else "TEXT", help=text)
    flag("--oidc-username-claim", default="sub", metavar="TEXT", help="claim with the user name (default: %(default)s)")
    flag("--oidc-ca-file", type=Path, metavar="FILE", help="CA of the issuer's certificate (default: the host's CAs)")
    flag(
        "--oidc-signing-algs",
        default="RS256",
        metavar="ALGORITHMS",
        help="comma-separated algorithms of accepted signatures (default: %(default)s)",
    )
    add_list_flag(command, "--oidc-required-claim", "CLAIM=VALUE", "claim that every token must have, with its value")


def _add_token_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags for service account tokens, such as --service-account-issuer."""
    flag = command.add_argument
    add_list_flag(
        command,
        "--service-account-issuer",
        "URL",
        "issuer of service account tokens (default: https://kubernetes.default.svc); the first issuer signs new tokens",
    )
    flag(
        "--service-account-key-file",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="PEM file of keys that verify service account tokens (default: the signing key); may be repeated",
    )
    flag(
        "--service-account-signing-key-file",
        type=Path,
        metavar="FILE",
        help="PEM file of the private key that signs service account tokens (default: DATA_DIR/service-account.key)",
    )
    flag(
        "--service-account-max-token-expiration",
        default="0s",
        metavar="DURATION",
        help="maximum lifetime of service account tokens; 0 for no maximum (default: %(default)s)",
    )
    flag(
        "--api-audiences",
        default="",
        metavar="AUDIENCES",
        help="comma-separated audiences of tokens for this server (default: the issuers)",
    )


def _feature_gates(flags: Sequence[str]) -> dict[str, bool]:
    """Return the values of feature gates by name. Raise SettingsError if a value is not a boolean."""
    gates: dict[str, bool] = {}
    for part in ",".join(flags).split(","):
        if part.strip():
            name, _, value = part.strip().partition("=")
            try:
                gates[name] = parse_bool(value)
            except argparse.ArgumentTypeError as error:
                raise SettingsError(f"--feature-gates {name}: {error}") from None
    return gates


def _listed(text: str) -> tuple[str, ...]:
    """Return the items of a list that is separated by commas."""
    return tuple(item for item in text.split(",") if item)


def settings(args: argparse.Namespace) -> Settings:
    """Return the server's settings from the parsed flags. Raise SettingsError if a flag is invalid."""
    from polykind.webhook.target import parse_resolve

    try:
        parse_resolve(args.resolve)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    # Every setting has a flag of the same name.
    values: dict[str, Any] = {name: getattr(args, name) for name in Settings.__struct_fields__}
    defaults = Settings()
    values |= {
        "data_dir": args.data_dir or defaults.data_dir,
        "secure_port": _secure_port(args),
        "etcd_servers": _listed(args.etcd_servers),
        "feature_gates": _feature_gates(args.feature_gates),
        "authorization_mode": tuple((",".join(args.authorization_mode) or "RBAC").split(",")),
        "enable_admission_plugins": _split(args.enable_admission_plugins),
        "disable_admission_plugins": _split(args.disable_admission_plugins),
        "runtime_config": dict(_key_value(part) for part in _split(args.runtime_config)),
        "oidc_signing_algs": _listed(args.oidc_signing_algs),
        "oidc_required_claim": dict(_key_value(part) for part in args.oidc_required_claim),
        "tls_san": tuple(args.tls_san),
        "tls_sni_cert_key": tuple(args.tls_sni_cert_key),
        "tls_cipher_suites": _listed(args.tls_cipher_suites),
        "resolve": tuple(args.resolve),
        "converter": tuple(args.converter),
        "event_ttl": parse_seconds("--event-ttl", args.event_ttl, example="1h"),
        "service_account_issuer": tuple(args.service_account_issuer),
        "service_account_key_file": tuple(args.service_account_key_file),
        "service_account_max_token_expiration": parse_seconds(
            "--service-account-max-token-expiration", args.service_account_max_token_expiration, example="24h"
        ),
        "api_audiences": _listed(args.api_audiences),
    }
    for name in (
        *DURATIONS,
        "request_timeout",
        "shutdown_delay_duration",
        "etcd_compaction_interval",
        "conversion_cache_ttl",
        "authorization_webhook_cache_authorized_ttl",
        "authorization_webhook_cache_unauthorized_ttl",
        "authentication_token_webhook_cache_ttl",
    ):
        values[name] = parse_seconds(f"--{name.replace('_', '-')}", values[name], example="60s")
    return Settings(**values)


def _secure_port(args: argparse.Namespace) -> int:
    if args.secure_port is None:
        return 0 if args.ephemeral else Settings().secure_port
    port: int = args.secure_port
    return port


def _split(values: list[str]) -> tuple[str, ...]:
    """Return the names in the values of a repeatable flag. Each value is a comma-separated list of names."""
    return tuple(name for name in ",".join(values).split(",") if name)


def _key_value(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip()


def run(args: argparse.Namespace) -> int:
    program = "polykind serve"
    try:
        origins = _read_sources(args)
        found = settings(args)
        found.check()
    except SettingsError as error:
        configure_logging(args.verbosity, args.logging_format)
        report_failure(args.logging_format, program, error)
        return 2
    configure_logging(args.verbosity, found.logging_format)
    if args.print_config:
        print(_describe(found, args, origins), end="")
        return 0
    temporary = args.ephemeral and args.data_dir is None
    return run_server(found, program=program, stop_with_parent=args.ephemeral, temporary=temporary)


def _read_sources(args: argparse.Namespace) -> dict[str, str]:
    """Read options from the environment and the configuration file, and return the origin of each option."""
    if not (args.config or args.print_config or any(name.startswith("POLYKIND_") for name in os.environ)):
        return {}
    from polykind.cli.option_sources import OptionSources

    sources = OptionSources(add_serve_flags, os.environ)
    sources.read(args, args.command_line[1:])
    return sources.origins


def _describe(found: Settings, args: argparse.Namespace, origins: dict[str, str]) -> str:
    """Return all options with their values and origins, as a configuration file."""
    import yaml

    values = found.options() | {"verbosity": args.verbosity}
    lines = []
    for name, value in values.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000).removesuffix("...\n").strip()
        lines.append(f"{name}: {text}  # {origins.get(name, 'default')}\n")
    return "".join(lines)
