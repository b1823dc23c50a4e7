"""The security settings of pods and containers."""

from __future__ import annotations

from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field, Union
from polykind.apis.machinery.value_types import (
    BOOL,
    INT64,
    STRING,
    ListOf,
    String,
)

_struct = CORE_V1.struct

_APP_ARMOR_PROFILE_TYPE = String("v1.AppArmorProfileType", ("Localhost", "RuntimeDefault", "Unconfined"))

_CAPABILITY = String("v1.Capability")

_PROC_MOUNT_TYPE = String("v1.ProcMountType", ("Default", "Unmasked"))

_SECCOMP_PROFILE_TYPE = String("v1.SeccompProfileType", ("Localhost", "RuntimeDefault", "Unconfined"))

_CAPABILITIES = _struct(
    "Capabilities",
    "The POSIX capabilities that a container gains and loses.",
    Field("add", 1, ListOf(_CAPABILITY)),
    Field("drop", 2, ListOf(_CAPABILITY)),
)

SE_LINUX_OPTIONS = _struct(
    "SELinuxOptions",
    "The labels of SELinux.",
    Field("user", 1, STRING),
    Field("role", 2, STRING),
    Field("type", 3, STRING),
    Field("level", 4, STRING),
)

WINDOWS_SECURITY_CONTEXT_OPTIONS = _struct(
    "WindowsSecurityContextOptions",
    "The security settings of Windows.",
    Field("gmsaCredentialSpecName", 1, STRING, pointer=True),
    Field("gmsaCredentialSpec", 2, STRING, pointer=True),
    Field("runAsUserName", 3, STRING, pointer=True),
    Field("hostProcess", 4, BOOL, pointer=True),
)

SECCOMP_PROFILE = _struct(
    "SeccompProfile",
    "The seccomp profile.",
    Field("type", 1, _SECCOMP_PROFILE_TYPE, omitempty=False),
    Field("localhostProfile", 2, STRING, pointer=True),
    unions=(Union(("localhostProfile",), "type"),),
)

APP_ARMOR_PROFILE = _struct(
    "AppArmorProfile",
    "The AppArmor profile.",
    Field("type", 1, _APP_ARMOR_PROFILE_TYPE, omitempty=False),
    Field("localhostProfile", 2, STRING, pointer=True),
    unions=(Union(("localhostProfile",), "type"),),
)

SECURITY_CONTEXT = _struct(
    "SecurityContext",
    "The security settings of a container, which override those of the pod.",
    Field("capabilities", 1, _CAPABILITIES, "The capabilities to add and drop.", pointer=True),
    Field("privileged", 2, BOOL, "True to run with the rights of the node.", pointer=True),
    Field("seLinuxOptions", 3, SE_LINUX_OPTIONS, "The labels of SELinux.", pointer=True),
    Field("windowsOptions", 10, WINDOWS_SECURITY_CONTEXT_OPTIONS, "The settings for Windows.", pointer=True),
    Field("runAsUser", 4, INT64, "The user id of the first process.", pointer=True),
    Field("runAsGroup", 8, INT64, "The group id of the first process.", pointer=True),
    Field("runAsNonRoot", 5, BOOL, "True to refuse to run as root.", pointer=True),
    Field("readOnlyRootFilesystem", 6, BOOL, "True to mount the root file system without write access.", pointer=True),
    Field(
        "allowPrivilegeEscalation",
        7,
        BOOL,
        "False to forbid that a process gains more rights than its parent.",
        pointer=True,
    ),
    Field("procMount", 9, _PROC_MOUNT_TYPE, pointer=True),
    Field("seccompProfile", 11, SECCOMP_PROFILE, "The seccomp profile.", pointer=True),
    Field("appArmorProfile", 12, APP_ARMOR_PROFILE, "The AppArmor profile.", pointer=True),
)
