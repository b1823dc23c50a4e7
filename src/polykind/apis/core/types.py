"""Kinds of the core group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.selectors.selectable_fields import DerivedField

CORE_V1 = GroupVersion("", "v1", type_table("core", "v1"), group_priority=18000, version_priority=1)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.core.columns import COLUMNS

    return COLUMNS[kind]


PERSISTENT_VOLUME_CLAIM = Kind(
    CORE_V1,
    "PersistentVolumeClaim",
    columns=_columns,
    namespaced=True,
    short_names=("pvc",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.core.volume_strategy:PersistentVolumeClaimStrategy",
    delete_returns_object=True,
)

PERSISTENT_VOLUME = Kind(
    CORE_V1,
    "PersistentVolume",
    columns=_columns,
    short_names=("pv",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.core.volume_strategy:PersistentVolumeStrategy",
    delete_returns_object=True,
)

POD = Kind(
    CORE_V1,
    "Pod",
    columns=_columns,
    namespaced=True,
    short_names=("po",),
    categories=("all",),
    subresources=(
        Subresource("attach", ("create", "get"), kind="PodAttachOptions"),
        Subresource("binding", ("create",), kind="Binding"),
        Subresource("ephemeralcontainers"),
        Subresource("eviction", ("create",), kind="Eviction", group="policy", version="v1"),
        Subresource("exec", ("create", "get"), kind="PodExecOptions"),
        Subresource("log", ("get",)),
        Subresource("portforward", ("create", "get"), kind="PodPortForwardOptions"),
        Subresource("proxy", ("create", "delete", "get", "patch", "update"), kind="PodProxyOptions"),
        Subresource("resize"),
        Subresource("status"),
    ),
    selectable=(
        ".spec.nodeName",
        DerivedField(".spec.host", ".spec.nodeName"),
        ".spec.restartPolicy",
        ".spec.schedulerName",
        ".spec.serviceAccountName",
        DerivedField(".spec.hostNetwork", default="false"),
        ".status.phase",
        ".status.podIP",
        # kube-apiserver accepts this field in selectors, but always compares the selector's value with an empty string.
        DerivedField(".status.podIPs", ""),
        ".status.nominatedNodeName",
    ),
    strategy="polykind.strategies.core.pod_strategy:PodStrategy",
    delete_returns_object=True,
)

POD_TEMPLATE = Kind(
    CORE_V1,
    "PodTemplate",
    columns=_columns,
    namespaced=True,
    strategy="polykind.strategies.core.pod_template_strategy:PodTemplateStrategy",
    delete_returns_object=True,
)

BINDING = Kind(
    CORE_V1,
    "Binding",
    namespaced=True,
    verbs=("create",),
)

NODE = Kind(
    CORE_V1,
    "Node",
    columns=_columns,
    short_names=("no",),
    subresources=(
        Subresource("proxy", ("create", "delete", "get", "patch", "update"), kind="NodeProxyOptions"),
        Subresource("status"),
    ),
    selectable=(DerivedField(".spec.unschedulable", default="false"),),
    strategy="polykind.strategies.core.node_strategy:NodeStrategy",
)

SERVICE = Kind(
    CORE_V1,
    "Service",
    columns=_columns,
    namespaced=True,
    short_names=("svc",),
    categories=("all",),
    subresources=(
        Subresource("proxy", ("create", "delete", "get", "patch", "update"), kind="ServiceProxyOptions"),
        Subresource("status"),
    ),
    selectable=(".spec.clusterIP", ".spec.type"),
    strategy="polykind.strategies.core.service_strategy:ServiceStrategy",
    delete_returns_object=True,
)

ENDPOINTS = Kind(
    CORE_V1,
    "Endpoints",
    columns=_columns,
    plural="endpoints",
    namespaced=True,
    short_names=("ep",),
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    strategy="polykind.strategies.core.endpoints_strategy:EndpointsStrategy",
)

REPLICATION_CONTROLLER = Kind(
    CORE_V1,
    "ReplicationController",
    columns=_columns,
    namespaced=True,
    short_names=("rc",),
    categories=("all",),
    subresources=(
        Subresource("scale", kind="Scale", group="autoscaling", version="v1"),
        Subresource("status"),
    ),
    selectable=(DerivedField(".status.replicas", default="0"),),
    strategy="polykind.strategies.core.pod_template_strategy:ReplicationControllerStrategy",
)

RESOURCE_QUOTA = Kind(
    CORE_V1,
    "ResourceQuota",
    columns=_columns,
    namespaced=True,
    short_names=("quota",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.core.quota_strategy:ResourceQuotaStrategy",
    delete_returns_object=True,
)

LIMIT_RANGE = Kind(
    CORE_V1,
    "LimitRange",
    namespaced=True,
    short_names=("limits",),
    strategy="polykind.strategies.core.quota_strategy:LimitRangeStrategy",
)

EVENT = Kind(
    CORE_V1,
    "Event",
    columns=_columns,
    namespaced=True,
    short_names=("ev",),
    selectable=(
        ".involvedObject.kind",
        ".involvedObject.namespace",
        ".involvedObject.name",
        ".involvedObject.uid",
        ".involvedObject.apiVersion",
        ".involvedObject.resourceVersion",
        ".involvedObject.fieldPath",
        ".reason",
        ".reportingComponent",
        DerivedField(".source", ".source.component", ".reportingComponent"),
        ".type",
    ),
    strategy="polykind.strategies.core.event_strategy:EventStrategy",
)

NAMESPACE = Kind(
    CORE_V1,
    "Namespace",
    columns=_columns,
    short_names=("ns",),
    without_verbs=("deletecollection",),
    subresources=(
        Subresource("finalize", ("update",)),
        Subresource("status"),
    ),
    selectable=(".status.phase",),
    strategy="polykind.strategies.core.namespace_strategy:NamespaceStrategy",
)

COMPONENT_STATUS = Kind(
    CORE_V1,
    "ComponentStatus",
    columns=_columns,
    plural="componentstatuses",
    short_names=("cs",),
    verbs=("get", "list"),
    deprecation="v1 ComponentStatus is deprecated in v1.19+",
)

CONFIG_MAP = Kind(
    CORE_V1,
    "ConfigMap",
    columns=_columns,
    namespaced=True,
    short_names=("cm",),
    strategy="polykind.strategies.core.strategy:ConfigMapStrategy",
)

SECRET = Kind(
    CORE_V1,
    "Secret",
    columns=_columns,
    namespaced=True,
    selectable=(".type",),
    strategy="polykind.strategies.core.secret_strategy:SecretStrategy",
)

SERVICE_ACCOUNT = Kind(
    CORE_V1,
    "ServiceAccount",
    columns=_columns,
    namespaced=True,
    short_names=("sa",),
    subresources=(Subresource("token", ("create",), kind="TokenRequest", group="authentication.k8s.io", version="v1"),),
    strategy="polykind.strategies.core.strategy:ServiceAccountStrategy",
    delete_returns_object=True,
)

KINDS = (
    PERSISTENT_VOLUME_CLAIM,
    PERSISTENT_VOLUME,
    POD,
    POD_TEMPLATE,
    BINDING,
    NODE,
    SERVICE,
    ENDPOINTS,
    REPLICATION_CONTROLLER,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    EVENT,
    NAMESPACE,
    COMPONENT_STATUS,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
)
