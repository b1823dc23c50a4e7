"""Kinds of the apps group: controllers of pods that run permanently."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

APPS_V1 = GroupVersion("apps", "v1", "io.k8s.api.apps.v1", group_priority=17800, version_priority=15)

DEPLOYMENT = Kind(
    APPS_V1,
    "Deployment",
    "Runs pods from a template and replaces them gradually when the template changes.",
    fields_in="polykind.apis.apps.deployment_types:DEPLOYMENT_FIELDS",
    strategy="polykind.strategies.apps.strategy:DeploymentStrategy",
    columns="polykind.apis.apps.columns:DEPLOYMENT",
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
    "Keeps a number of pods running.",
    fields_in="polykind.apis.apps.deployment_types:REPLICA_SET_FIELDS",
    strategy="polykind.strategies.apps.strategy:ReplicaSetStrategy",
    columns="polykind.apis.apps.columns:REPLICA_SET",
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
    "Runs pods with stable names and storage.",
    fields_in="polykind.apis.apps.stateful_set_types:STATEFUL_SET_FIELDS",
    strategy="polykind.strategies.apps.strategy:StatefulSetStrategy",
    columns="polykind.apis.apps.columns:STATEFUL_SET",
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
    "Runs one pod on each selected node.",
    fields_in="polykind.apis.apps.stateful_set_types:DAEMON_SET_FIELDS",
    strategy="polykind.strategies.apps.strategy:DaemonSetStrategy",
    columns="polykind.apis.apps.columns:DAEMON_SET",
    namespaced=True,
    short_names=("ds",),
    categories=("all",),
    subresources=(Subresource("status"),),
)

CONTROLLER_REVISION = Kind(
    APPS_V1,
    "ControllerRevision",
    "A snapshot of the state of a DaemonSet or StatefulSet.",
    fields_in="polykind.apis.apps.stateful_set_types:CONTROLLER_REVISION_FIELDS",
    strategy="polykind.strategies.apps.strategy:ControllerRevisionStrategy",
    columns="polykind.apis.apps.columns:CONTROLLER_REVISION",
    namespaced=True,
)

KINDS = (
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    DAEMON_SET,
    CONTROLLER_REVISION,
)
