"""An operator that copies the number of replicas of every CronTab into its status."""

from __future__ import annotations

from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False
    settings.persistence.finalizer = "stable.example.com/crontab-operator"
    settings.networking.error_backoffs = [0.1, 0.2, 0.5, 1, 2, 5]
    settings.watching.reconnect_backoff = 0.1


@kopf.on.create("stable.example.com", "v2", "crontabs")
@kopf.on.update("stable.example.com", "v2", "crontabs", field="spec.replicas")
def scale(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
    patch.status["replicas"] = spec["replicas"]
    patch.status["conditions"] = [{"type": "Ready", "status": "True"}]
