"""Kinds of the apps group: controllers of pods that run permanently."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

APPS_V1 = GroupVersion("apps", "v1", type_table("apps", "v1"), group_priority=17800, version_priority=15)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.apps.columns import COLUMNS

    return COLUMNS[kind]


DEPLOYMENT = Kind(
    APPS_V1,
    "Deployment",
    strategy="polykind.strategies.apps.strategy:DeploymentStrategy",
    columns=_columns,
    namespaced=True,
    short_names=("deploy",),
    categories=("all",),
    subresources=(
        Subresource("scale", kind="Scale", group="autoscaling", version="v1"),
        Subresource("status"),
    ),
)

REPLICA_SET = Kind(
    APPS_V1,
    "ReplicaSet",
    strategy="polykind.strategies.apps.strategy:ReplicaSetStrategy",
    columns=_columns,
    namespaced=True,
    short_names=("rs",),
    categories=("all",),
    subresources=(
        Subresource("scale", kind="Scale", group="autoscaling", version="v1"),
        Subresource("status"),
    ),
)

STATEFUL_SET = Kind(
    APPS_V1,
    "StatefulSet",
    strategy="polykind.strategies.apps.strategy:StatefulSetStrategy",
    columns=_columns,
    namespaced=True,
    short_names=("sts",),
    categories=("all",),
    subresources=(
        Subresource("scale", kind="Scale", group="autoscaling", version="v1"),
        Subresource("status"),
    ),
)

DAEMON_SET = Kind(
    APPS_V1,
    "DaemonSet",
    strategy="polykind.strategies.apps.strategy:DaemonSetStrategy",
    columns=_columns,
    namespaced=True,
    short_names=("ds",),
    categories=("all",),
    subresources=(Subresource("status"),),
)

CONTROLLER_REVISION = Kind(
    APPS_V1,
    "ControllerRevision",
    strategy="polykind.strategies.apps.strategy:ControllerRevisionStrategy",
    columns=_columns,
    namespaced=True,
)

KINDS = (
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    DAEMON_SET,
    CONTROLLER_REVISION,
)
