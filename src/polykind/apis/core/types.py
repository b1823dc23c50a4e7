"""Kinds of the core group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.selectors.selectable_fields import DerivedField

CORE_V1 = GroupVersion("", "v1", "io.k8s.api.core.v1", group_priority=18000, version_priority=1)

PERSISTENT_VOLUME_CLAIM = Kind(
    CORE_V1,
    "PersistentVolumeClaim",
    "A request for storage, which is bound to a PersistentVolume.",
    fields_in="polykind.apis.core.volume_claim_types:PERSISTENT_VOLUME_CLAIM_FIELDS",
    columns="polykind.apis.core.columns:PERSISTENT_VOLUME_CLAIM",
    namespaced=True,
    short_names=("pvc",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.core.volume_strategy:PersistentVolumeClaimStrategy",
    delete_returns_object=True,
)

PERSISTENT_VOLUME = Kind(
    CORE_V1,
    "PersistentVolume",
    "A piece of storage in the cluster.",
    fields_in="polykind.apis.core.persistent_volume_types:PERSISTENT_VOLUME_FIELDS",
    columns="polykind.apis.core.columns:PERSISTENT_VOLUME",
    short_names=("pv",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.core.volume_strategy:PersistentVolumeStrategy",
    delete_returns_object=True,
)

POD = Kind(
    CORE_V1,
    "Pod",
    "A group of containers that run on one node.",
    fields_in="polykind.apis.core.pod_types:POD_FIELDS",
    columns="polykind.apis.core.pod_columns:POD",
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
    "A template from which pods can be created.",
    fields_in="polykind.apis.core.pod_types:POD_TEMPLATE_FIELDS",
    columns="polykind.apis.core.columns:POD_TEMPLATE",
    namespaced=True,
    strategy="polykind.strategies.core.pod_template_strategy:PodTemplateStrategy",
    delete_returns_object=True,
)

BINDING = Kind(
    CORE_V1,
    "Binding",
    "An assignment of a pod to a node.",
    fields_in="polykind.apis.core.pod_types:BINDING_FIELDS",
    namespaced=True,
    verbs=("create",),
)

NODE = Kind(
    CORE_V1,
    "Node",
    "A machine of the cluster that runs pods.",
    fields_in="polykind.apis.core.node_types:NODE_FIELDS",
    columns="polykind.apis.core.node_columns:NODE",
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
    "A stable name and address for a set of pods.",
    fields_in="polykind.apis.core.service_types:SERVICE_FIELDS",
    columns="polykind.apis.core.columns:SERVICE",
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
    "The addresses behind a Service. EndpointSlice replaces it.",
    fields_in="polykind.apis.core.service_types:ENDPOINTS_FIELDS",
    columns="polykind.apis.core.columns:ENDPOINTS",
    plural="endpoints",
    namespaced=True,
    short_names=("ep",),
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    strategy="polykind.strategies.core.endpoints_strategy:EndpointsStrategy",
)

REPLICATION_CONTROLLER = Kind(
    CORE_V1,
    "ReplicationController",
    "Keeps a number of pods running. ReplicaSet replaces it.",
    fields_in="polykind.apis.core.replication_types:REPLICATION_CONTROLLER_FIELDS",
    columns="polykind.apis.core.columns:REPLICATION_CONTROLLER",
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
    "Limits on the total consumption of a namespace.",
    fields_in="polykind.apis.core.quota_types:RESOURCE_QUOTA_FIELDS",
    columns="polykind.apis.core.columns:RESOURCE_QUOTA",
    namespaced=True,
    short_names=("quota",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.core.quota_strategy:ResourceQuotaStrategy",
    delete_returns_object=True,
)

LIMIT_RANGE = Kind(
    CORE_V1,
    "LimitRange",
    "Limits and defaults for the resources of the objects in a namespace.",
    fields_in="polykind.apis.core.quota_types:LIMIT_RANGE_FIELDS",
    namespaced=True,
    short_names=("limits",),
    strategy="polykind.strategies.core.quota_strategy:LimitRangeStrategy",
)

EVENT = Kind(
    CORE_V1,
    "Event",
    "A report about something that happened to an object, kept for a limited time.",
    fields_in="polykind.apis.core.event_types:EVENT_FIELDS",
    columns="polykind.apis.core.event_columns:CORE_EVENT",
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
    metadata_required=True,
)

NAMESPACE = Kind(
    CORE_V1,
    "Namespace",
    "A scope for names.",
    fields_in="polykind.apis.core.namespace_types:NAMESPACE_FIELDS",
    columns="polykind.apis.core.columns:NAMESPACE",
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
    "The health of a component of the control plane. Deprecated.",
    fields_in="polykind.apis.core.namespace_types:COMPONENT_STATUS_FIELDS",
    columns="polykind.apis.core.columns:COMPONENT_STATUS",
    plural="componentstatuses",
    short_names=("cs",),
    verbs=("get", "list"),
    deprecation="v1 ComponentStatus is deprecated in v1.19+",
)

CONFIG_MAP = Kind(
    CORE_V1,
    "ConfigMap",
    "Configuration that other objects use.",
    fields_in="polykind.apis.core.secret_types:CONFIG_MAP_FIELDS",
    columns="polykind.apis.core.columns:CONFIG_MAP",
    namespaced=True,
    short_names=("cm",),
    strategy="polykind.strategies.core.strategy:ConfigMapStrategy",
)

SECRET = Kind(
    CORE_V1,
    "Secret",
    "Confidential data that other objects use.",
    fields_in="polykind.apis.core.secret_types:SECRET_FIELDS",
    columns="polykind.apis.core.columns:SECRET",
    namespaced=True,
    selectable=(".type",),
    strategy="polykind.strategies.core.secret_strategy:SecretStrategy",
)

SERVICE_ACCOUNT = Kind(
    CORE_V1,
    "ServiceAccount",
    "An identity for processes that run in pods.",
    fields_in="polykind.apis.core.secret_types:SERVICE_ACCOUNT_FIELDS",
    columns="polykind.apis.core.columns:SERVICE_ACCOUNT",
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
