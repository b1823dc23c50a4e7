"""The --audit-* flags of `polykind serve`."""

from __future__ import annotations

import argparse
from pathlib import Path

from polykind.cli.flags import add_bool_flag

DURATIONS = ("audit_webhook_initial_backoff", "audit_webhook_batch_max_wait")
"""The settings whose flags are durations."""
_TEXTS = {
    "log-maxage": (366, "DAYS", "days to keep rotated audit logs; 0 for no limit"),
    "log-maxbackup": (100, "FILES", "number of rotated audit logs to keep; 0 for no limit"),
    "log-maxsize": (100, "MEGABYTES", "size at which the audit log is rotated; 0 disables rotation"),
    "log-batch-buffer-size": (10_000, "EVENTS", "events that may wait for the audit log"),
    "log-truncate-max-event-size": (102_400, "BYTES", "size above which an event is truncated"),
    "webhook-batch-buffer-size": (10_000, "EVENTS", "events that may wait for the audit webhook"),
    "webhook-batch-max-size": (400, "EVENTS", "maximum number of events in a request to the audit webhook"),
    "webhook-batch-throttle-qps": (10, "BATCHES", "average number of batches per second"),
    "webhook-batch-throttle-burst": (15, "BATCHES", "number of batches that may be sent at once"),
    "webhook-truncate-max-event-size": (102_400, "BYTES", "size above which an event is truncated"),
}


def add_audit_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags of the audit policy, the audit log and the audit webhook."""
    flag = command.add_argument
    flag("--audit-policy-file", type=Path, metavar="FILE", help="audit policy (audit.k8s.io/v1, kind Policy)")
    flag("--audit-log-path", default="", metavar="FILE", help="file for audit events; - for the standard output")
    flag(
        "--audit-webhook-config-file",
        type=Path,
        metavar="FILE",
        help="kubeconfig of the webhook that receives audit events",
    )
    for name, (default, metavar, text) in _TEXTS.items():
        flag(f"--audit-{name}", type=int, default=default, metavar=metavar, help=f"{text} (default: %(default)s)")
    add_bool_flag(command, "--audit-log-compress", "compress rotated audit logs with gzip", default=False)
    flag(
        "--audit-log-format",
        default="json",
        metavar="FORMAT",
        help="format of the audit log: json, or legacy for a line of text per event (default: %(default)s)",
    )
    for plugin, mode in (("log", "blocking"), ("webhook", "batch")):
        flag(
            f"--audit-{plugin}-mode",
            default=mode,
            metavar="MODE",
            help="batch; or blocking, so that responses wait for their events; or blocking-strict, which also rejects "
            "requests whose events cannot be stored (default: %(default)s)",
        )
        add_bool_flag(
            command,
            f"--audit-{plugin}-truncate-enabled",
            "remove the objects from events that are too large",
            default=False,
        )
    flag(
        "--audit-webhook-initial-backoff",
        default="10s",
        metavar="DURATION",
        help="time before a failed batch is sent again (default: %(default)s)",
    )
    flag(
        "--audit-webhook-batch-max-wait",
        default="30s",
        metavar="DURATION",
        help="time after which an incomplete batch is sent (default: %(default)s)",
    )
    add_bool_flag(command, "--audit-webhook-batch-throttle-enable", "limit the rate of batches")
