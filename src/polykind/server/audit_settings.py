"""The auditor of a server, from the --audit-* flags."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.contract import Clock
from polykind.errors import aggregate_message
from polykind.metrics.metrics import Metrics
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from polykind.audit.audit_policy import AuditPolicy
    from polykind.audit.auditor import AuditBackend, AuditErrors, Auditor

_MEGABYTE = 1024 * 1024


def read_audit_policy(settings: Settings) -> AuditPolicy | None:
    """Return the policy of --audit-policy-file. Return None without audit flags, and import nothing.

    Raise SettingsError if the policy is invalid.
    """
    if settings.audit_policy_file is None or not (settings.audit_log_path or settings.audit_webhook_config_file):
        return None
    from polykind.apis.audit.types import POLICY
    from polykind.apis.audit.validation import validate_policy
    from polykind.audit.audit_policy import AuditPolicy
    from polykind.server.config_file import ConfigFileError, read_config

    try:
        policy = read_config(settings.audit_policy_file, POLICY)
    except ConfigFileError as error:
        raise SettingsError(f"loading audit policy file: {error}") from None
    if problems := validate_policy(policy):
        raise SettingsError(f"loading audit policy file: {settings.audit_policy_file}: {aggregate_message(problems)}")
    if not policy.get("rules"):
        path = settings.audit_policy_file
        raise SettingsError(f"loading audit policy file: {path}: loaded illegal policy with 0 rules")
    return AuditPolicy(policy)


def build_auditor(settings: Settings, policy: AuditPolicy, clock: Clock, metrics: Metrics) -> Auditor:
    """Return the auditor with the backends of the flags. Raise SettingsError if a backend cannot be used."""
    from polykind.audit.auditor import AuditErrors, Auditor

    audit_errors = AuditErrors(metrics)
    backends: list[AuditBackend] = []
    if settings.audit_webhook_config_file is not None:
        backends.append(_webhook(settings, settings.audit_webhook_config_file, audit_errors))
    if settings.audit_log_path:
        backends.append(_log(settings, clock, audit_errors))
    return Auditor(policy, backends, clock, metrics)


def _log(settings: Settings, clock: Clock, audit_errors: AuditErrors) -> AuditBackend:
    from polykind.audit.audit_log import AuditLog, LineWriter
    from polykind.audit.rotating_file import RotatingFile, Rotation, StandardOutput

    writer: LineWriter
    if settings.audit_log_path == "-":
        writer = StandardOutput()
    else:
        rotation = Rotation(
            settings.audit_log_maxsize * _MEGABYTE,
            settings.audit_log_maxbackup,
            settings.audit_log_maxage,
            settings.audit_log_compress,
        )
        try:
            writer = RotatingFile(Path(settings.audit_log_path), rotation, clock.now)
        except OSError as error:
            raise SettingsError(f"--audit-log-path: {error}") from None
    limit = settings.audit_log_truncate_max_event_size if settings.audit_log_truncate_enabled else 0
    return AuditLog(
        writer,
        audit_errors,
        mode=settings.audit_log_mode,
        buffer_size=settings.audit_log_batch_buffer_size,
        legacy=settings.audit_log_format == "legacy",
        truncate=partial(_truncate, audit_errors, limit) if limit else None,
    )


def _webhook(settings: Settings, kubeconfig: Path, audit_errors: AuditErrors) -> AuditBackend:
    from polykind.audit.audit_webhook import AuditWebhook, WebhookBatching, WebhookSender
    from polykind.cluster.cluster_access import KubeconfigError, read_kubeconfigs

    try:
        sender = WebhookSender(read_kubeconfigs([kubeconfig]))
    except KubeconfigError as error:
        raise SettingsError(f"--audit-webhook-config-file: {error}") from None
    batching = WebhookBatching(
        settings.audit_webhook_mode,
        settings.audit_webhook_batch_buffer_size,
        settings.audit_webhook_batch_max_size,
        settings.audit_webhook_batch_max_wait,
        settings.audit_webhook_batch_throttle_qps if settings.audit_webhook_batch_throttle_enable else 0,
        settings.audit_webhook_batch_throttle_burst,
        settings.audit_webhook_initial_backoff,
    )
    limit = settings.audit_webhook_truncate_max_event_size if settings.audit_webhook_truncate_enabled else 0
    return AuditWebhook(sender, audit_errors, batching, partial(_truncate, audit_errors, limit) if limit else None)


def _truncate(audit_errors: AuditErrors, limit: int, event: bytes, level: int) -> bytes | None:
    """Return the event without its objects if it is too large. Return None if it is still too large, and is lost."""
    from polykind.audit.audit_policy import REQUEST
    from polykind.audit.event_text import truncate_event

    if len(event) > limit and level >= REQUEST:
        event = truncate_event(event)
    if len(event) <= limit:
        return event
    audit_errors.record("truncate", "event is too large even after truncating", [event])
    return None
