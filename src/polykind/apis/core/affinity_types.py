"""Rules for the placement of pods: node selectors, affinities, taints and tolerations."""

from __future__ import annotations

from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, STRING, STRINGS, TIME, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR

_struct = CORE_V1.struct

_NODE_INCLUSION_POLICY = String("v1.NodeInclusionPolicy", ("Honor", "Ignore"))
_NODE_SELECTOR_OPERATOR = String("v1.NodeSelectorOperator", ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"))
_TAINT_EFFECT = String("v1.TaintEffect", ("NoExecute", "NoSchedule", "PreferNoSchedule"))
_TOLERATION_OPERATOR = String("v1.TolerationOperator", ("Equal", "Exists", "Gt", "Lt"))
_UNSATISFIABLE_CONSTRAINT_ACTION = String("v1.UnsatisfiableConstraintAction", ("DoNotSchedule", "ScheduleAnyway"))

_NODE_SELECTOR_REQUIREMENT = _struct(
    "NodeSelectorRequirement",
    "A requirement on a label or a field of nodes.",
    Field("key", 1, STRING, omitempty=False),
    Field("operator", 2, _NODE_SELECTOR_OPERATOR, omitempty=False),
    Field("values", 3, STRINGS),
)

_NODE_SELECTOR_TERM = _struct(
    "NodeSelectorTerm",
    "Requirements on nodes, which must all be met.",
    Field("matchExpressions", 1, ListOf(_NODE_SELECTOR_REQUIREMENT)),
    Field("matchFields", 2, ListOf(_NODE_SELECTOR_REQUIREMENT)),
    atomic=True,
)

NODE_SELECTOR = _struct(
    "NodeSelector",
    "A selection of nodes by alternative terms.",
    Field("nodeSelectorTerms", 1, ListOf(_NODE_SELECTOR_TERM), omitempty=False),
    atomic=True,
)

_PREFERRED_SCHEDULING_TERM = _struct(
    "PreferredSchedulingTerm",
    "A preferred selection of nodes, with a weight.",
    Field("weight", 1, INT32, omitempty=False),
    Field("preference", 2, _NODE_SELECTOR_TERM, omitempty=False),
)

_NODE_AFFINITY = _struct(
    "NodeAffinity",
    "The nodes on which a pod must or should run.",
    Field(
        "requiredDuringSchedulingIgnoredDuringExecution",
        1,
        NODE_SELECTOR,
        "The nodes on which the pod must run.",
        pointer=True,
    ),
    Field(
        "preferredDuringSchedulingIgnoredDuringExecution",
        2,
        ListOf(_PREFERRED_SCHEDULING_TERM),
        "The nodes on which the pod should run.",
    ),
)

_POD_AFFINITY_TERM = _struct(
    "PodAffinityTerm",
    "A set of pods and a topology key, which together select nodes.",
    Field("labelSelector", 1, LABEL_SELECTOR, pointer=True),
    Field("namespaces", 2, STRINGS),
    Field("topologyKey", 3, STRING, omitempty=False),
    Field("namespaceSelector", 4, LABEL_SELECTOR, pointer=True),
    Field("matchLabelKeys", 5, STRINGS),
    Field("mismatchLabelKeys", 6, STRINGS),
)

_WEIGHTED_POD_AFFINITY_TERM = _struct(
    "WeightedPodAffinityTerm",
    "A term of a pod affinity, with a weight.",
    Field("weight", 1, INT32, omitempty=False),
    Field("podAffinityTerm", 2, _POD_AFFINITY_TERM, omitempty=False),
)

_POD_AFFINITY = _struct(
    "PodAffinity",
    "The pods near which a pod must or should run.",
    Field("requiredDuringSchedulingIgnoredDuringExecution", 1, ListOf(_POD_AFFINITY_TERM)),
    Field("preferredDuringSchedulingIgnoredDuringExecution", 2, ListOf(_WEIGHTED_POD_AFFINITY_TERM)),
)

_POD_ANTI_AFFINITY = _struct(
    "PodAntiAffinity",
    "The pods near which a pod must not or should not run.",
    Field("requiredDuringSchedulingIgnoredDuringExecution", 1, ListOf(_POD_AFFINITY_TERM)),
    Field("preferredDuringSchedulingIgnoredDuringExecution", 2, ListOf(_WEIGHTED_POD_AFFINITY_TERM)),
)

AFFINITY = _struct(
    "Affinity",
    "The constraints on the placement of a pod.",
    Field("nodeAffinity", 1, _NODE_AFFINITY, "The nodes on which the pod must or should run.", pointer=True),
    Field("podAffinity", 2, _POD_AFFINITY, "The pods near which the pod must or should run.", pointer=True),
    Field(
        "podAntiAffinity",
        3,
        _POD_ANTI_AFFINITY,
        "The pods near which the pod must not or should not run.",
        pointer=True,
    ),
)

TOLERATION = _struct(
    "Toleration",
    "A taint that a pod tolerates.",
    Field("key", 1, STRING, "The key of the taint; empty for all keys."),
    Field("operator", 2, _TOLERATION_OPERATOR, "Equal, or Exists for all values."),
    Field("value", 3, STRING, "The value of the taint."),
    Field("effect", 4, _TAINT_EFFECT, "The effect of the taint; empty for all effects."),
    Field("tolerationSeconds", 5, INT64, "The time for which a NoExecute taint is tolerated.", pointer=True),
)

TAINT = _struct(
    "Taint",
    "A mark on a node that repels pods without a matching toleration.",
    Field("key", 1, STRING, "The key of the taint.", omitempty=False),
    Field("value", 2, STRING, "The value of the taint."),
    Field("effect", 3, _TAINT_EFFECT, "NoSchedule, PreferNoSchedule or NoExecute.", omitempty=False),
    Field("timeAdded", 4, TIME, "The time at which the taint was added.", pointer=True),
)

TOPOLOGY_SPREAD_CONSTRAINT = _struct(
    "TopologySpreadConstraint",
    "A rule that spreads matching pods over the parts of the cluster.",
    Field("maxSkew", 1, INT32, omitempty=False),
    Field("topologyKey", 2, STRING, omitempty=False),
    Field("whenUnsatisfiable", 3, _UNSATISFIABLE_CONSTRAINT_ACTION, omitempty=False),
    Field("labelSelector", 4, LABEL_SELECTOR, pointer=True),
    Field("minDomains", 5, INT32, pointer=True),
    Field("nodeAffinityPolicy", 6, _NODE_INCLUSION_POLICY, pointer=True),
    Field("nodeTaintsPolicy", 7, _NODE_INCLUSION_POLICY, pointer=True),
    Field("matchLabelKeys", 8, STRINGS),
)
