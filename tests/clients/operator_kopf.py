"""A kopf operator as an author would write it: it reacts to CronTabs, reports in their status and records Events."""

from __future__ import annotations

import os
from typing import Any

import kopf

GROUP = os.environ["CRONTAB_GROUP"]


@kopf.on.startup()  # type: ignore[untyped-decorator, unused-ignore]
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.loggers = False
    settings.persistence.finalizer = f"{GROUP}/hold"


@kopf.on.create(GROUP, "v1", "crontabs")  # type: ignore[untyped-decorator, arg-type, unused-ignore]
def created(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
    patch.status["replicas"] = spec["replicas"]


@kopf.on.update(GROUP, "v1", "crontabs", field="spec.replicas")  # type: ignore[untyped-decorator, arg-type, unused-ignore]
def scaled(body: kopf.Body, new: int, patch: kopf.Patch, **_: Any) -> None:
    kopf.info(body, reason="Scaled", message=f"Scaled to {new}")
    patch.status["replicas"] = new


@kopf.on.delete(GROUP, "v1", "crontabs")  # type: ignore[untyped-decorator, arg-type, unused-ignore]
def deleted(name: str, **_: Any) -> None:
    print(f"goodbye {name}", flush=True)
