"""The settings of a server, one for each flag of `polykind serve`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from polykind.addresses import parse_ip
from polykind.admission.plugins.plugin_table import choice_errors
from polykind.apis.core.service_network import (
    DEFAULT_NODE_PORTS,
    ServiceNetwork,
    ServiceNetworkError,
    parse_service_network,
)
from polykind.auth.service_account_tokens import DEFAULT_ISSUER, TokenSettings
from polykind.golang.duration import format_duration
from polykind.server.network_identity import is_server_name
from polykind.server.tls_options import tls_option_error

GATES = {
    "AllowUnsafeMalformedObjectDeletion": False,
    "CustomResourceDefaulting": True,
    "CustomResourceWebhookConversion": True,
    "WatchListCompression": False,
}
"""The known feature gates, each with True if it is enabled by default."""

SIGNING_ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
"""The values of --oidc-signing-algs."""

MODES = ("AlwaysAllow", "AlwaysDeny", "RBAC", "Webhook")
"""The supported authorization modes."""


AUDIT_MODES = ("batch", "blocking", "blocking-strict")
"""The values of --audit-log-mode and --audit-webhook-mode."""

LOGGING_FORMATS = ("json", "text")
"""The values of --logging-format."""

AUDIT_FORMATS = ("legacy", "json")
"""The values of --audit-log-format."""


class SettingsError(ValueError):
    """An invalid setting. The message names the flag and the remedy."""


class Settings(msgspec.Struct):
    """The settings of a server. Names are those of kube-apiserver's flags where such a flag exists."""

    data_dir: Path = Path(".polykind")
    ephemeral: bool = False
    bind_address: str = "127.0.0.1"
    secure_port: int = 6443
    cert_dir: Path | None = None
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    tls_san: tuple[str, ...] = ()
    tls_sni_cert_key: tuple[str, ...] = ()
    tls_min_version: str = "VersionTLS12"
    tls_cipher_suites: tuple[str, ...] = ()
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    authentication_config: Path | None = None
    oidc_issuer_url: str = ""
    oidc_client_id: str = ""
    oidc_ca_file: Path | None = None
    oidc_username_claim: str = "sub"
    oidc_username_prefix: str = ""
    oidc_groups_claim: str = ""
    oidc_groups_prefix: str = ""
    oidc_signing_algs: tuple[str, ...] = ("RS256",)
    oidc_required_claim: dict[str, str] = {}
    anonymous_auth: bool = True
    etcd_servers: tuple[str, ...] = ()
    etcd_prefix: str = "/registry"
    etcd_cafile: Path | None = None
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    etcd_compaction_interval: float = 300.0
    encryption_provider_config: Path | None = None
    encryption_provider_config_automatic_reload: bool = False
    feature_gates: dict[str, bool] = {}
    request_timeout: float = 60.0
    permit_port_sharing: bool = False
    disable_http2_serving: bool = False
    http2_max_streams_per_connection: int = 0
    goaway_chance: float = 0.0
    authorization_mode: tuple[str, ...] = ("RBAC",)
    authorization_config: Path | None = None
    authorization_webhook_config_file: Path | None = None
    authorization_webhook_version: str = "v1beta1"
    authorization_webhook_cache_authorized_ttl: float = 300.0
    authorization_webhook_cache_unauthorized_ttl: float = 30.0
    authentication_token_webhook_config_file: Path | None = None
    authentication_token_webhook_version: str = "v1beta1"  # noqa: S105
    authentication_token_webhook_cache_ttl: float = 120.0
    allow_privileged: bool = False
    conversion_cache: bool = True
    conversion_cache_ttl: float = 300.0
    conversion_fallback: bool = False
    conversion_webhook_config_file: Path | None = None
    resolve: tuple[str, ...] = ()
    converter: tuple[str, ...] = ()
    serve_v1beta1: bool = True
    runtime_config: dict[str, str] = {}
    garbage_collector: bool = True
    namespace_controller: bool = True
    clusterrole_aggregation: bool = True
    quota_controller: bool = True
    rate_limit_config_file: Path | None = None
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    admission_control_config_file: Path | None = None
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    service_cluster_ip_range: str = ""
    service_node_port_range: str = DEFAULT_NODE_PORTS
    advertise_address: str = ""
    event_ttl: float = 3600.0
    shutdown_delay_duration: float = 0.0
    logging_format: str = "text"
    tracing_config_file: Path | None = None
    service_account_issuer: tuple[str, ...] = ()
    service_account_key_file: tuple[Path, ...] = ()
    service_account_signing_key_file: Path | None = None
    service_account_max_token_expiration: float = 0.0
    api_audiences: tuple[str, ...] = ()
    console: bool = True
    console_oidc_client_id: str = ""
    audit_policy_file: Path | None = None
    audit_log_path: str = ""
    audit_log_maxage: int = 366
    audit_log_maxbackup: int = 100
    audit_log_maxsize: int = 100
    audit_log_compress: bool = False
    audit_log_format: str = "json"
    audit_log_mode: str = "blocking"
    audit_log_batch_buffer_size: int = 10_000
    audit_log_truncate_enabled: bool = False
    audit_log_truncate_max_event_size: int = 102_400
    audit_webhook_config_file: Path | None = None
    audit_webhook_mode: str = "batch"
    audit_webhook_initial_backoff: float = 10.0
    audit_webhook_batch_buffer_size: int = 10_000
    audit_webhook_batch_max_size: int = 400
    audit_webhook_batch_max_wait: float = 30.0
    audit_webhook_batch_throttle_enable: bool = True
    audit_webhook_batch_throttle_qps: int = 10
    audit_webhook_batch_throttle_burst: int = 15
    audit_webhook_truncate_enabled: bool = False
    audit_webhook_truncate_max_event_size: int = 102_400

    def flags(self) -> dict[str, str]:
        """Return the value of every flag as text, formatted as kube-apiserver formats flags."""
        flags = {name.replace("_", "-"): _flag_value(getattr(self, name)) for name in self.__struct_fields__}
        return flags | {"goaway-chance": f"{self.goaway_chance:g}"}  # the only float that is not a duration

    def options(self) -> dict[str, object]:
        """Return the value of every flag as it is written in a configuration file."""
        options = {name.replace("_", "-"): _option_value(getattr(self, name)) for name in self.__struct_fields__}
        return options | {"goaway-chance": self.goaway_chance}

    def gate(self, name: str) -> bool:
        """True if a feature gate is enabled."""
        return self.feature_gates.get(name, GATES[name])

    @property
    def token_settings(self) -> TokenSettings:
        """The settings of the tokens of service accounts."""
        return TokenSettings(
            self.data_dir / "service-account.key",
            self.service_account_issuer or (DEFAULT_ISSUER,),
            self.api_audiences,
            self.service_account_key_file,
            self.service_account_signing_key_file,
            int(self.service_account_max_token_expiration),
        )

    @property
    def service_network(self) -> ServiceNetwork:
        """The addresses and ports of Services. Raise ServiceNetworkError if a range is invalid."""
        return parse_service_network(self.service_cluster_ip_range, self.service_node_port_range)

    def check(self) -> None:
        """Raise SettingsError if a setting is invalid. The error describes the first invalid setting."""
        if bool(self.tls_cert_file) != bool(self.tls_private_key_file):
            raise SettingsError("--tls-cert-file and --tls-private-key-file must be given together")
        self._check_tls()
        self._check_modes()
        for url in self.etcd_servers:
            if not url.startswith(("http://", "https://")):
                raise SettingsError(f"--etcd-servers: {url} is not a URL such as http://127.0.0.1:2379")
        if bool(self.etcd_certfile) != bool(self.etcd_keyfile):
            raise SettingsError("--etcd-certfile and --etcd-keyfile must be given together")
        if self.encryption_provider_config_automatic_reload and self.encryption_provider_config is None:
            raise SettingsError(
                "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"
            )
        unknown = sorted(set(self.feature_gates) - set(GATES))
        if unknown:
            raise SettingsError(f"--feature-gates: unknown gate {unknown[0]}; known gates: {', '.join(sorted(GATES))}")
        if problems := choice_errors(self.enable_admission_plugins, self.disable_admission_plugins):
            raise SettingsError("; ".join(problems))
        if self.logging_format not in LOGGING_FORMATS:
            raise SettingsError(f"--logging-format {self.logging_format} is not supported; use json or text")
        if self.shutdown_delay_duration < 0:
            raise SettingsError("--shutdown-delay-duration can not be negative value")
        if not self.request_timeout > 0:
            raise SettingsError("--request-timeout must be longer than 0s")
        if self.conversion_cache_ttl < 0:
            raise SettingsError("--conversion-cache-ttl must not be negative (0s: convert at every read)")
        if self.http2_max_streams_per_connection < 0:
            raise SettingsError("--http2-max-streams-per-connection can not be a negative number")
        if not 0 <= self.goaway_chance <= 0.02:
            raise SettingsError("--goaway-chance can not be less than 0 or greater than 0.02")
        try:
            _ = self.service_network
        except ServiceNetworkError as error:
            raise SettingsError(str(error)) from None
        if self.advertise_address and parse_ip(self.advertise_address) is None:
            raise SettingsError(f"--advertise-address {self.advertise_address} is not an IP address")
        self._check_token_settings()
        self._check_oidc()
        self._check_audit()
        if not 0 <= self.secure_port <= 65535:
            raise SettingsError("--secure-port must be between 0 and 65535 (0: any free port)")

    def _check_tls(self) -> None:
        if self.tls_san and self.tls_cert_file:
            raise SettingsError("--tls-san is for generated certificates: add the name to --tls-cert-file instead")
        for name in self.tls_san:
            if not is_server_name(name):
                raise SettingsError(f"--tls-san {name} is not a host name or an IP address")
        if problem := tls_option_error(self.tls_min_version, self.tls_cipher_suites):
            raise SettingsError(problem)

    def _check_token_settings(self) -> None:
        issuers = self.service_account_issuer
        for issuer in issuers:
            if not issuer:
                raise SettingsError("--service-account-issuer should not be an empty string")
            if issuers.count(issuer) > 1:
                raise SettingsError(f'--service-account-issuer "{issuer}" is already specified')
        if 0 < self.service_account_max_token_expiration < 3600:
            raise SettingsError("--service-account-max-token-expiration must be at least 1h")
        if self.service_account_key_file and not self.service_account_signing_key_file:
            raise SettingsError("--service-account-key-file needs --service-account-signing-key-file")

    def _check_oidc(self) -> None:
        defaults = Settings()
        oidc_flags = [name for name in self.__struct_fields__ if name.startswith("oidc_")]
        used = any(getattr(self, name) != getattr(defaults, name) for name in oidc_flags)
        if self.authentication_config is not None and used:
            raise SettingsError("authentication-config file and oidc-* flags are mutually exclusive")
        if used and not (self.oidc_issuer_url and self.oidc_client_id):
            detail = "must be specified together when any oidc-* flags are set"
            raise SettingsError(f"oidc-issuer-url and oidc-client-id {detail}")
        for algorithm in self.oidc_signing_algs:
            if algorithm not in SIGNING_ALGORITHMS:
                known = ", ".join(SIGNING_ALGORITHMS)
                raise SettingsError(f"--oidc-signing-algs {algorithm} is not supported; use {known}")

    def _check_audit(self) -> None:
        """Check the flags of the audit backends in use, with kube-apiserver's messages."""
        if self.audit_log_path:
            self._check_audit_backend("log", self.audit_log_mode, ("buffer_size",))
            if self.audit_log_format not in AUDIT_FORMATS:
                known = ",".join(AUDIT_FORMATS)
                raise SettingsError(f'invalid audit log format {self.audit_log_format}, allowed formats are "{known}"')
            for name in ("maxage", "maxbackup", "maxsize"):
                if (value := getattr(self, f"audit_log_{name}")) < 0:
                    raise SettingsError(f"--audit-log-{name} {value} can't be a negative number")
        if self.audit_webhook_config_file is not None:
            throttle = ("throttle_qps", "throttle_burst") if self.audit_webhook_batch_throttle_enable else ()
            self._check_audit_backend("webhook", self.audit_webhook_mode, ("buffer_size", "max_size", *throttle))

    def _check_audit_backend(self, plugin: str, mode: str, sizes: tuple[str, ...]) -> None:
        if mode not in AUDIT_MODES:
            known = ",".join(AUDIT_MODES)
            raise SettingsError(f'invalid audit {plugin} mode {mode}, allowed modes are "{known}"')
        texts = {"buffer_size": "buffer size", "max_size": "max batch size", "throttle_qps": "throttle QPS"}
        for name in sizes if mode == "batch" else ():
            if (value := getattr(self, f"audit_{plugin}_batch_{name}")) <= 0:
                text = texts.get(name, "throttle burst")
                raise SettingsError(f"invalid audit batch {plugin} {text} {value}, must be a positive number")
        if (size := getattr(self, f"audit_{plugin}_truncate_max_event_size")) <= 0:
            raise SettingsError(f"invalid audit truncate {plugin} max event size {size}, must be a positive number")

    def _check_modes(self) -> None:
        chosen = self.authorization_mode
        if self.authorization_config is not None and (chosen != ("RBAC",) or self.authorization_webhook_config_file):
            flags = "--authorization-mode or --authorization-webhook-* flags are defined"
            raise SettingsError(f"--authorization-config can not be specified when {flags}")
        if self.authorization_webhook_config_file and "Webhook" not in chosen:
            raise SettingsError("cannot specify --authorization-webhook-config-file without mode Webhook")
        for flag in ("authorization_webhook_version", "authentication_token_webhook_version"):
            if getattr(self, flag) not in ("v1", "v1beta1"):
                raise SettingsError(
                    f"--{flag.replace('_', '-')} {getattr(self, flag)} is not supported; use v1 or v1beta1"
                )
        for mode in chosen:
            if mode == "Node":
                reason = "it grants permissions to kubelets, and this server has none; remove it"
                raise SettingsError(f"--authorization-mode Node is not supported: {reason}")
            if mode not in MODES:
                raise SettingsError(
                    f"--authorization-mode {mode} is not supported; supported modes: {', '.join(MODES)}"
                )
        if len(set(chosen)) != len(chosen):
            quoted = " ".join(f'"{mode}"' for mode in chosen)
            raise SettingsError(f"--authorization-mode [{quoted}] has mode specified more than once")
        if not chosen:
            raise SettingsError("--authorization-mode needs at least one mode")


def _flag_value(value: object) -> str:
    """Format a setting as Go formats flags. A float is a duration in seconds."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format_duration(round(value * 10**9))
    if isinstance(value, tuple):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, dict):
        return ",".join(f"{name}={_flag_value(item)}" for name, item in sorted(value.items()))
    return "" if value is None else str(value)


def _option_value(value: object) -> object:
    """Return a setting as a value of YAML. A float is a duration in seconds."""
    if isinstance(value, float | Path):
        return _flag_value(value)
    if isinstance(value, tuple):
        return [_option_value(item) for item in value]
    return value
