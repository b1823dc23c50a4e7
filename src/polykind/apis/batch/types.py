"""Kinds of the batch group: Job and CronJob."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.selectors.selectable_fields import DerivedField

BATCH_V1 = GroupVersion("batch", "v1", type_table("batch", "v1"), group_priority=17400, version_priority=15)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.batch.columns import COLUMNS

    return COLUMNS[kind]


JOB = Kind(
    BATCH_V1,
    "Job",
    strategy="polykind.strategies.batch.strategy:JobStrategy",
    columns=_columns,
    namespaced=True,
    categories=("all",),
    subresources=(Subresource("status"),),
    selectable=(DerivedField(".status.successful", ".status.succeeded", default="0"),),
)

CRON_JOB = Kind(
    BATCH_V1,
    "CronJob",
    strategy="polykind.strategies.batch.strategy:CronJobStrategy",
    columns=_columns,
    namespaced=True,
    short_names=("cj",),
    categories=("all",),
    subresources=(Subresource("status"),),
)

KINDS = (
    JOB,
    CRON_JOB,
)
