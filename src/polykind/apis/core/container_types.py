"""The containers of pods."""

from __future__ import annotations

from polykind.apis.core.reference_types import (
    CONFIG_MAP_KEY_SELECTOR,
    FILE_KEY_SELECTOR,
    LOCAL_OBJECT_REFERENCE,
    OBJECT_FIELD_SELECTOR,
    RESOURCE_FIELD_SELECTOR,
    SECRET_KEY_SELECTOR,
)
from polykind.apis.core.security_context_types import SECURITY_CONTEXT
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.volume_types import PULL_POLICY
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    INT64,
    INT_OR_STRING,
    RESOURCE_LIST,
    STRING,
    STRINGS,
    ListOf,
    String,
)

_struct = CORE_V1.struct

_CONTAINER_RESTART_POLICY = String("v1.ContainerRestartPolicy")
_MOUNT_PROPAGATION_MODE = String("v1.MountPropagationMode", ("Bidirectional", "HostToContainer", "None"))
PROTOCOL = String("v1.Protocol", ("SCTP", "TCP", "UDP"))
SIGNAL = String(
    "v1.Signal",
    (
        "SIGABRT",
        "SIGALRM",
        "SIGBUS",
        "SIGCHLD",
        "SIGCLD",
        "SIGCONT",
        "SIGFPE",
        "SIGHUP",
        "SIGILL",
        "SIGINT",
        "SIGIO",
        "SIGIOT",
        "SIGKILL",
        "SIGPIPE",
        "SIGPOLL",
        "SIGPROF",
        "SIGPWR",
        "SIGQUIT",
        "SIGRTMAX",
        "SIGRTMAX-1",
        "SIGRTMAX-10",
        "SIGRTMAX-11",
        "SIGRTMAX-12",
        "SIGRTMAX-13",
        "SIGRTMAX-14",
        "SIGRTMAX-2",
        "SIGRTMAX-3",
        "SIGRTMAX-4",
        "SIGRTMAX-5",
        "SIGRTMAX-6",
        "SIGRTMAX-7",
        "SIGRTMAX-8",
        "SIGRTMAX-9",
        "SIGRTMIN",
        "SIGRTMIN+1",
        "SIGRTMIN+10",
        "SIGRTMIN+11",
        "SIGRTMIN+12",
        "SIGRTMIN+13",
        "SIGRTMIN+14",
        "SIGRTMIN+15",
        "SIGRTMIN+2",
        "SIGRTMIN+3",
        "SIGRTMIN+4",
        "SIGRTMIN+5",
        "SIGRTMIN+6",
        "SIGRTMIN+7",
        "SIGRTMIN+8",
        "SIGRTMIN+9",
        "SIGSEGV",
        "SIGSTKFLT",
        "SIGSTOP",
        "SIGSYS",
        "SIGTERM",
        "SIGTRAP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGUSR1",
        "SIGUSR2",
        "SIGVTALRM",
        "SIGWINCH",
        "SIGXCPU",
        "SIGXFSZ",
    ),
)
_TERMINATION_MESSAGE_POLICY = String("v1.TerminationMessagePolicy", ("FallbackToLogsOnError", "File"))
_URI_SCHEME = String("v1.URIScheme", ("HTTP", "HTTPS"))

_CONTAINER_PORT = _struct(
    "ContainerPort",
    "A port of a container.",
    Field("name", 1, STRING, "The name of the port, unique in its pod."),
    Field("hostPort", 2, INT32, "The port of the node."),
    Field("containerPort", 3, INT32, "The port of the pod's address.", omitempty=False),
    Field("protocol", 4, PROTOCOL, "TCP, UDP or SCTP.", default="TCP"),
    Field("hostIP", 5, STRING),
)

_CONFIG_MAP_ENV_SOURCE = _struct(
    "ConfigMapEnvSource",
    "The values of a ConfigMap as environment variables.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("optional", 2, BOOL, pointer=True),
)

_SECRET_ENV_SOURCE = _struct(
    "SecretEnvSource",
    "The values of a Secret as environment variables.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("optional", 2, BOOL, pointer=True),
)

_ENV_FROM_SOURCE = _struct(
    "EnvFromSource",
    "A source of several environment variables.",
    Field("prefix", 1, STRING, "A text in front of the names of the variables."),
    Field("configMapRef", 2, _CONFIG_MAP_ENV_SOURCE, "The ConfigMap.", pointer=True),
    Field("secretRef", 3, _SECRET_ENV_SOURCE, "The Secret.", pointer=True),
)

_ENV_VAR_SOURCE = _struct(
    "EnvVarSource",
    "The source of the value of an environment variable.",
    Field("fieldRef", 1, OBJECT_FIELD_SELECTOR, "A field of the pod.", pointer=True),
    Field("resourceFieldRef", 2, RESOURCE_FIELD_SELECTOR, "A resource of a container.", pointer=True),
    Field("configMapKeyRef", 3, CONFIG_MAP_KEY_SELECTOR, "A key of a ConfigMap.", pointer=True),
    Field("secretKeyRef", 4, SECRET_KEY_SELECTOR, "A key of a Secret.", pointer=True),
    Field("fileKeyRef", 5, FILE_KEY_SELECTOR, "A key of a file.", pointer=True),
)

_ENV_VAR = _struct(
    "EnvVar",
    "An environment variable.",
    Field("name", 1, STRING, "The name of the variable.", omitempty=False),
    Field("value", 2, STRING, "The value of the variable."),
    Field("valueFrom", 3, _ENV_VAR_SOURCE, "The source of the value.", pointer=True),
)

_RESOURCE_CLAIM = _struct(
    "ResourceClaim",
    "A claim of the pod that a container uses.",
    Field("name", 1, STRING, omitempty=False),
    Field("request", 2, STRING),
)

RESOURCE_REQUIREMENTS = _struct(
    "ResourceRequirements",
    "The compute resources that a container requests and may use.",
    Field("limits", 1, RESOURCE_LIST, "The most that the container may use."),
    Field("requests", 2, RESOURCE_LIST, "The least that the container needs."),
    Field("claims", 3, ListOf(_RESOURCE_CLAIM), keys=("name",)),
)

_CONTAINER_RESIZE_POLICY = _struct(
    "ContainerResizePolicy",
    "The treatment of a container whose resources change.",
    Field("resourceName", 1, String("v1.ResourceName"), omitempty=False),
    Field("restartPolicy", 2, String("v1.ResourceResizeRestartPolicy"), omitempty=False),
)

_CONTAINER_RESTART_RULE_ON_EXIT_CODES = _struct(
    "ContainerRestartRuleOnExitCodes",
    "The exit codes to which a restart rule applies.",
    Field("operator", 1, String("v1.ContainerRestartRuleOnExitCodesOperator"), required=True),
    Field("values", 2, ListOf(INT32), list_type="set"),
)

_CONTAINER_RESTART_RULE = _struct(
    "ContainerRestartRule",
    "A rule that overrides the restart policy after certain exits.",
    Field("action", 1, String("v1.ContainerRestartRuleAction"), required=True),
    Field("exitCodes", 2, _CONTAINER_RESTART_RULE_ON_EXIT_CODES, pointer=True),
)

_VOLUME_MOUNT = _struct(
    "VolumeMount",
    "The directory at which a container sees a volume.",
    Field("name", 1, STRING, "The name of the volume.", omitempty=False),
    Field("readOnly", 2, BOOL, "True to mount the volume without write access."),
    Field("recursiveReadOnly", 7, String("v1.RecursiveReadOnlyMode"), pointer=True),
    Field("mountPath", 3, STRING, "The path in the container.", omitempty=False),
    Field("subPath", 4, STRING, "The path in the volume."),
    Field("mountPropagation", 5, _MOUNT_PROPAGATION_MODE, pointer=True),
    Field("subPathExpr", 6, STRING),
)

_VOLUME_DEVICE = _struct(
    "VolumeDevice",
    "The path at which a container sees a block device.",
    Field("name", 1, STRING, omitempty=False),
    Field("devicePath", 2, STRING, omitempty=False),
)

_EXEC_ACTION = _struct(
    "ExecAction",
    "A command that runs in the container.",
    Field("command", 1, STRINGS, "The command and its arguments, without a shell."),
)

_HTTP_HEADER = _struct(
    "HTTPHeader",
    "A header of an HTTP request.",
    Field("name", 1, STRING, omitempty=False),
    Field("value", 2, STRING, omitempty=False),
)

_HTTP_GET_ACTION = _struct(
    "HTTPGetAction",
    "An HTTP request to the container.",
    Field("path", 1, STRING, "The path of the request."),
    Field("port", 2, INT_OR_STRING, "The number or name of the port.", omitempty=False),
    Field("host", 3, STRING, "The host; by default the address of the pod."),
    Field("scheme", 4, _URI_SCHEME, "HTTP or HTTPS."),
    Field("httpHeaders", 5, ListOf(_HTTP_HEADER), "Further headers of the request."),
)

_TCP_SOCKET_ACTION = _struct(
    "TCPSocketAction",
    "A TCP connection to the container.",
    Field("port", 1, INT_OR_STRING, "The number or name of the port.", omitempty=False),
    Field("host", 2, STRING, "The host; by default the address of the pod."),
)

_GRPC_ACTION = _struct(
    "GRPCAction",
    "A gRPC health check of the container.",
    Field("port", 1, INT32, omitempty=False),
    Field("service", 2, STRING, omitempty=False, pointer=True, default=""),
)

_PROBE_HANDLER = _struct(
    "ProbeHandler",
    "The check of a probe.",
    Field("exec", 1, _EXEC_ACTION, "A command that must end with code 0.", pointer=True),
    Field(
        "httpGet", 2, _HTTP_GET_ACTION, "A request that must be answered with a status from 200 to 399.", pointer=True
    ),
    Field("tcpSocket", 3, _TCP_SOCKET_ACTION, "A connection that must be accepted.", pointer=True),
    Field("grpc", 4, _GRPC_ACTION, "A gRPC health check that must succeed.", pointer=True),
)

_PROBE = _struct(
    "Probe",
    "A periodic check of a container.",
    Field("", 1, _PROBE_HANDLER),
    Field("initialDelaySeconds", 2, INT32, "The time between the start of the container and the first check."),
    Field("timeoutSeconds", 3, INT32, "The time after which a check fails."),
    Field("periodSeconds", 4, INT32, "The time between two checks."),
    Field("successThreshold", 5, INT32, "The number of successes in a row after a failure."),
    Field("failureThreshold", 6, INT32, "The number of failures in a row before the probe fails."),
    Field("terminationGracePeriodSeconds", 7, INT64, "The time to end after a failed probe.", pointer=True),
)

_SLEEP_ACTION = _struct(
    "SleepAction",
    "A pause.",
    Field("seconds", 1, INT64, omitempty=False),
)

_LIFECYCLE_HANDLER = _struct(
    "LifecycleHandler",
    "An action after the start or before the end of a container.",
    Field("exec", 1, _EXEC_ACTION, "A command to run.", pointer=True),
    Field("httpGet", 2, _HTTP_GET_ACTION, "A request to send.", pointer=True),
    Field("tcpSocket", 3, _TCP_SOCKET_ACTION, "Not supported.", pointer=True),
    Field("sleep", 4, _SLEEP_ACTION, "A pause.", pointer=True),
)

_LIFECYCLE = _struct(
    "Lifecycle",
    "The actions after the start and before the end of a container.",
    Field("postStart", 1, _LIFECYCLE_HANDLER, "The action after the start of the container.", pointer=True),
    Field("preStop", 2, _LIFECYCLE_HANDLER, "The action before the end of the container.", pointer=True),
    Field("stopSignal", 3, SIGNAL, pointer=True),
)


CONTAINER = _struct(
    "Container",
    "A container of a pod.",
    Field("name", 1, STRING, "The name of the container, unique in its pod.", omitempty=False),
    Field("image", 2, STRING, "The image of the container."),
    Field("command", 3, STRINGS, "The command, instead of the image's entry point."),
    Field("args", 4, STRINGS, "The arguments of the command."),
    Field("workingDir", 5, STRING, "The working directory."),
    Field(
        "ports",
        6,
        ListOf(_CONTAINER_PORT),
        "The ports of the container, for information.",
        keys=("containerPort", "protocol"),
        merge_key="containerPort",
    ),
    Field("envFrom", 19, ListOf(_ENV_FROM_SOURCE), "Sources of environment variables."),
    Field("env", 7, ListOf(_ENV_VAR), "Environment variables.", keys=("name",), merge_key="name"),
    Field("resources", 8, RESOURCE_REQUIREMENTS, "The requested and the allowed compute resources."),
    Field("resizePolicy", 23, ListOf(_CONTAINER_RESIZE_POLICY), "The treatment of changes of the resources."),
    Field(
        "restartPolicy",
        24,
        _CONTAINER_RESTART_POLICY,
        "The restart policy; Always makes an init container a sidecar.",
        pointer=True,
    ),
    Field("restartPolicyRules", 25, ListOf(_CONTAINER_RESTART_RULE)),
    Field("volumeMounts", 9, ListOf(_VOLUME_MOUNT), "The mounted volumes.", keys=("mountPath",), merge_key="mountPath"),
    Field(
        "volumeDevices", 21, ListOf(_VOLUME_DEVICE), "The block devices.", keys=("devicePath",), merge_key="devicePath"
    ),
    Field("livenessProbe", 10, _PROBE, "A check whose failure restarts the container.", pointer=True),
    Field("readinessProbe", 11, _PROBE, "A check whose failure takes the container out of services.", pointer=True),
    Field("startupProbe", 22, _PROBE, "A check that must succeed before the other probes start.", pointer=True),
    Field("lifecycle", 12, _LIFECYCLE, "Actions after the start and before the end.", pointer=True),
    Field("terminationMessagePath", 13, STRING, "The file with the message of an ended container."),
    Field(
        "terminationMessagePolicy",
        20,
        _TERMINATION_MESSAGE_POLICY,
        "The source of the message: File or FallbackToLogsOnError.",
    ),
    Field("imagePullPolicy", 14, PULL_POLICY, "Always, IfNotPresent or Never."),
    Field("securityContext", 15, SECURITY_CONTEXT, "The security settings of the container.", pointer=True),
    Field("stdin", 16, BOOL, "True to keep a standard input."),
    Field("stdinOnce", 17, BOOL, "True to close the standard input after the first client."),
    Field("tty", 18, BOOL, "True to allocate a terminal."),
)

_EPHEMERAL_CONTAINER_COMMON = _struct(
    "EphemeralContainerCommon",
    "The fields that an ephemeral container shares with other containers.",
    Field("name", 1, STRING, omitempty=False),
    Field("image", 2, STRING),
    Field("command", 3, STRINGS),
    Field("args", 4, STRINGS),
    Field("workingDir", 5, STRING),
    Field("ports", 6, ListOf(_CONTAINER_PORT), keys=("containerPort", "protocol"), merge_key="containerPort"),
    Field("envFrom", 19, ListOf(_ENV_FROM_SOURCE)),
    Field("env", 7, ListOf(_ENV_VAR), keys=("name",), merge_key="name"),
    Field("resources", 8, RESOURCE_REQUIREMENTS),
    Field("resizePolicy", 23, ListOf(_CONTAINER_RESIZE_POLICY)),
    Field("restartPolicy", 24, _CONTAINER_RESTART_POLICY, pointer=True),
    Field("restartPolicyRules", 25, ListOf(_CONTAINER_RESTART_RULE)),
    Field("volumeMounts", 9, ListOf(_VOLUME_MOUNT), keys=("mountPath",), merge_key="mountPath"),
    Field("volumeDevices", 21, ListOf(_VOLUME_DEVICE), keys=("devicePath",), merge_key="devicePath"),
    Field("livenessProbe", 10, _PROBE, pointer=True),
    Field("readinessProbe", 11, _PROBE, pointer=True),
    Field("startupProbe", 22, _PROBE, pointer=True),
    Field("lifecycle", 12, _LIFECYCLE, pointer=True),
    Field("terminationMessagePath", 13, STRING),
    Field("terminationMessagePolicy", 20, _TERMINATION_MESSAGE_POLICY),
    Field("imagePullPolicy", 14, PULL_POLICY),
    Field("securityContext", 15, SECURITY_CONTEXT, pointer=True),
    Field("stdin", 16, BOOL),
    Field("stdinOnce", 17, BOOL),
    Field("tty", 18, BOOL),
)

EPHEMERAL_CONTAINER = _struct(
    "EphemeralContainer",
    "A container that is added to a running pod for debugging.",
    Field("", 1, _EPHEMERAL_CONTAINER_COMMON),
    Field("targetContainerName", 2, STRING),
)
