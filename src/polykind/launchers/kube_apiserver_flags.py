"""The flags of kube-apiserver 1.36: their names, their syntax, and the flags of `polykind serve` that they become."""

from __future__ import annotations

# Test tools ask the launcher for its help before each start, so this module imports nothing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SERVED = _names(
    """
    admission-control-config-file
    advertise-address allow-privileged anonymous-auth api-audiences audit-log-batch-buffer-size audit-log-compress
    audit-log-format audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path
    audit-log-truncate-enabled audit-log-truncate-max-event-size audit-policy-file
    audit-webhook-batch-buffer-size audit-webhook-batch-max-size
    audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable
    audit-webhook-batch-throttle-qps audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode
    audit-webhook-truncate-enabled audit-webhook-truncate-max-event-size authentication-config
    authentication-token-webhook-cache-ttl authentication-token-webhook-config-file authentication-token-webhook-version
    authorization-config authorization-mode authorization-webhook-cache-authorized-ttl
    authorization-webhook-cache-unauthorized-ttl authorization-webhook-config-file authorization-webhook-version
    bind-address cert-dir client-ca-file default-not-ready-toleration-seconds default-unreachable-toleration-seconds
    disable-admission-plugins disable-http2-serving enable-admission-plugins encryption-provider-config
    encryption-provider-config-automatic-reload event-ttl feature-gates goaway-chance
    http2-max-streams-per-connection logging-format oidc-ca-file oidc-client-id
    oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs oidc-username-claim
    oidc-username-prefix permit-port-sharing request-timeout runtime-config secure-port service-account-issuer
    service-account-key-file service-account-max-token-expiration service-account-signing-key-file
    service-cluster-ip-range service-node-port-range tls-cert-file tls-cipher-suites tls-min-version
    shutdown-delay-duration tls-private-key-file token-auth-file tracing-config-file
    """
)
"""Flags that `polykind serve` has too, with the same meaning."""

POLYKIND = _names(
    """
    clusterrole-aggregation conversion-cache conversion-cache-ttl conversion-fallback conversion-webhook-config-file
    converter data-dir
    garbage-collector namespace-controller quota-controller rate-limit-config-file resolve serve-v1beta1 tls-san
    """
)
"""Flags of `polykind serve` that kube-apiserver does not have and that the launcher accepts in addition."""

BOOLEANS = _names(
    """
    aggregator-reject-forwarding-redirect allow-privileged anonymous-auth audit-log-batch-throttle-enable
    audit-log-compress audit-log-truncate-enabled audit-webhook-batch-throttle-enable audit-webhook-truncate-enabled
    contention-profiling disable-http2-serving emulation-forward-compatible enable-aggregator-routing
    enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
    encryption-provider-config-automatic-reload help log-json-split-stream log-text-split-stream permit-address-sharing
    permit-port-sharing profiling runtime-config-emulation-forward-compatible service-account-extend-token-expiration
    service-account-lookup shutdown-send-retry-after version watch-cache clusterrole-aggregation conversion-cache
    conversion-fallback garbage-collector namespace-controller quota-controller serve-v1beta1
    """
)
"""Flags that need no value: `--profiling` is `--profiling=true`, and the next argument is not its value."""

WITHOUT_EFFECT = _names(
    """
    admission-control allow-metric-labels allow-metric-labels-manifest
    audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-qps
    audit-log-truncate-max-batch-size audit-log-version audit-webhook-truncate-max-batch-size audit-webhook-version
    authorization-policy-file coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
    coordinated-leadership-retry-period cors-allowed-origins debug-socket-path delete-collection-workers
    disabled-metrics egress-selector-config-file emulated-version endpoint-reconciler-type
    etcd-cafile etcd-certfile etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval
    etcd-healthcheck-timeout etcd-keyfile etcd-prefix etcd-readycheck-timeout etcd-servers etcd-servers-overrides
    external-hostname kubelet-certificate-authority
    kubelet-client-certificate kubelet-client-key kubelet-preferred-address-types kubelet-timeout
    kubernetes-service-node-port lease-reuse-duration-seconds livez-grace-period log-flush-frequency
    log-json-info-buffer-size log-text-info-buffer-size max-connection-bytes-per-sec
    max-mutating-requests-inflight max-requests-inflight min-compatibility-version min-request-timeout peer-advertise-ip
    peer-advertise-port peer-ca-file proxy-client-cert-file proxy-client-key-file requestheader-allowed-names
    requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
    requestheader-uid-headers requestheader-username-headers service-account-jwks-uri service-account-signing-endpoint
    show-hidden-metrics-for-version shutdown-watch-termination-grace-period storage-backend
    storage-initialization-timeout storage-media-type strict-transport-security-directives tls-curve-preferences
    vmodule watch-cache-sizes
    """
) | (BOOLEANS - SERVED - POLYKIND - {"help", "version"})
"""Flags that the launcher accepts and ignores, because they configure parts that Polykind does not have."""

UNSERVED_VERSIONS = _names(
    """
    admissionregistration.k8s.io/v1alpha1 admissionregistration.k8s.io/v1beta1 authentication.k8s.io/v1alpha1
    authentication.k8s.io/v1beta1 certificates.k8s.io/v1alpha1 certificates.k8s.io/v1beta1
    coordination.k8s.io/v1alpha2 coordination.k8s.io/v1beta1 flowcontrol.apiserver.k8s.io/v1beta1
    flowcontrol.apiserver.k8s.io/v1beta2 flowcontrol.apiserver.k8s.io/v1beta3 internal.apiserver.k8s.io/v1alpha1
    networking.k8s.io/v1beta1 resource.k8s.io/v1alpha3 resource.k8s.io/v1beta1 resource.k8s.io/v1beta2
    scheduling.k8s.io/v1alpha2 storage.k8s.io/v1alpha1 storage.k8s.io/v1beta1
    """
)
"""API versions that --runtime-config enables in kube-apiserver, and that Polykind does not have."""

_OFF_BY_DEFAULT = ("storagemigration.k8s.io/v1", "storagemigration.k8s.io/v1beta1")
"""API versions that `polykind serve` serves by default and kube-apiserver does not."""

KNOWN = SERVED | POLYKIND | WITHOUT_EFFECT | {"help", "v", "version"}
"""All flags of the launcher."""

_SHORTHANDS = {"v": "v", "h": "help"}


class FlagError(ValueError):
    """An argument is invalid. The message is kube-apiserver's, with a suggestion where one helps."""


class ServeArguments:
    """The arguments for `polykind serve`, and the remarks to log about the others."""

    def __init__(self, arguments: list[str], remarks: list[str]) -> None:
        self.arguments = arguments
        self.remarks = remarks


def parse_flags(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names and values of the flags. Raise FlagError if an argument is not a known flag or lacks its value.

    The syntax is that of Go's pflag: `--name value`, `--name=value`, `--boolean`, `-v 4`, `-v=4`, `-v4`.
    """
    found = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            _refuse_positional(rest)
        elif argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            name = name.replace("_", "-")
            if name not in KNOWN:
                raise FlagError(f"unknown flag: --{name}{_suggestion(name)}")
            found.append((name, value if equals else _next_value(name, f"--{name}", rest)))
        elif argument.startswith("-") and len(argument) > 1:
            short = _SHORTHANDS.get(argument[1])
            if short is None:
                raise FlagError(f"unknown shorthand flag: {argument[1]!r} in {argument}")
            value = argument[2:].removeprefix("=")
            found.append((short, value or _next_value(short, argument, rest)))
        else:
            _refuse_positional([argument])
    return found


def _runtime_config(flags: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return the values of all flags --runtime-config, and the API versions in them that are not served."""
    settings = ",".join(value for name, value in flags if name == "runtime-config").split(",")
    return _split_versions([setting for setting in settings if setting])


def serve_arguments(flags: Iterable[tuple[str, str]], known_gates: Iterable[str]) -> ServeArguments:
    """Return the arguments for `polykind serve` that mean the same as these flags of kube-apiserver.

    As with kube-apiserver in test tools, no controllers run unless a flag starts them, and data is temporary unless
    --data-dir is given.
    """
    flags = list(flags)
    versions, unserved = _runtime_config(flags)
    # Later flags override earlier ones, so these are the launcher's defaults.
    defaults = {
        "secure-port": "6443",
        "clusterrole-aggregation": "false",
        "garbage-collector": "false",
        "namespace-controller": "false",
        "quota-controller": "false",
        "serve-v1beta1": "false",
        "runtime-config": ",".join(versions),
    }
    arguments, ignored, gates = [f"--{name}={value}" for name, value in defaults.items()], [], []
    for name, value in flags:
        if name == "feature-gates":
            known, others = _split_gates(value, frozenset(known_gates))
            arguments += [f"--feature-gates={gate}" for gate in known]
            gates += others
        elif name == "authorization-mode":
            arguments.append(f"--authorization-mode={_without_node(value)}")
        elif name == "v":
            arguments.append(f"--verbosity={value}")
        elif name not in SERVED and name not in POLYKIND:
            ignored.append(f"--{name}")
        elif name != "runtime-config":  # All values of this flag together are among the defaults.
            arguments.append(f"--{name}={value}")
    if "data-dir" not in dict(flags):
        arguments.append("--ephemeral")
    found = {
        "these flags have no effect": sorted(set(ignored)),
        "these feature gates have no effect": gates,
        "these API versions are not served": unserved,
    }
    return ServeArguments(arguments, [f"{text}: {' '.join(names)}" for text, names in found.items() if names])


def help_text() -> str:
    """Return the help text: all flags, one per line, as test tools search them."""
    lines = ["Run Polykind with the flags of kube-apiserver.", "", "Usage:", "  kube-apiserver [flags]", ""]
    groups = (
        ("Flags:", SERVED | {"help", "v", "version"}),
        ("Flags that kube-apiserver does not have:", POLYKIND),
        ("Flags that are accepted and have no effect:", WITHOUT_EFFECT),
    )
    for title, names in groups:
        lines += [title, *(f"      --{name}{'' if name in BOOLEANS else ' value'}" for name in sorted(names)), ""]
    return "\n".join(lines)


def _next_value(name: str, argument: str, rest: Iterable[str]) -> str:
    if name in BOOLEANS:
        return "true"
    value = next(iter(rest), None)
    if value is None:
        raise FlagError(f"flag needs an argument: {argument}")
    return value


def _refuse_positional(rest: Iterable[str]) -> None:
    for argument in rest:
        raise FlagError(f'"kube-apiserver" does not take any arguments, got "{argument}"')


def _suggestion(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, KNOWN, 1)
    return f"; did you mean --{close[0]}?" if close else ""


def _split_gates(value: str, known: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the gates that Polykind knows, and the others. A prefix such as `kube:` names the component."""
    gates = [gate.strip().rpartition(":")[2] for gate in value.split(",") if gate.strip()]
    served = [gate for gate in gates if gate.partition("=")[0] in known]
    return served, [gate for gate in gates if gate not in served]


def _split_versions(settings: list[str]) -> tuple[list[str], list[str]]:
    """Return the values of --runtime-config for Polykind, and the enabled API versions that Polykind does not have."""
    unserved = [
        setting for setting in settings if "/".join(setting.partition("=")[0].split("/")[:2]) in UNSERVED_VERSIONS
    ]
    served = [setting for setting in settings if setting not in unserved]
    keys = {setting.partition("=")[0] for setting in served}
    # A single version takes precedence over api/all and api/beta, so do not turn it off if they are given.
    off = () if keys & {"api/all", "api/beta"} else _OFF_BY_DEFAULT
    defaults = [f"{version}=false" for version in off if version not in keys]
    return [*defaults, *served], [setting for setting in unserved if not setting.endswith("=false")]


def _without_node(value: str) -> str:
    """Return the authorization modes without Node, which only grants permissions to kubelets."""
    modes = [mode for mode in value.split(",") if mode != "Node"]
    return ",".join(modes) or "AlwaysDeny"
