"""The checks of the Pod Security Standards, by level and version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

LATEST = 10**9
"""The number for the minor version "latest". It is higher than all minor versions."""


class Violation(NamedTuple):
    """A failed check: a short reason, and the details that name the offending fields."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[JsonObject, JsonObject], Violation | None]
"""A function that checks a pod's metadata and spec. It returns None if the pod passes."""


class Rule(NamedTuple):
    """A rule of the Pod Security Standards. `versions` has pairs of a minor version and the check used from then on."""

    name: str
    versions: tuple[tuple[int, Check], ...]
    overrides: str = ""
    """The name of the baseline rule that this rule of the level `restricted` replaces."""


def evaluate(level: str, minor: int, metadata: JsonObject, spec: JsonObject) -> list[Violation]:
    """Return a pod's violations of a level of the Pod Security Standards at Kubernetes 1.`minor`.

    Later versions than the newest known one have its rules. Baseline violations come first, and the rules of each level
    are sorted by name.
    """
    found = (check(metadata, spec) for check in _checks(level, min(minor, _NEWEST)))
    return [violation for violation in found if violation is not None]


@lru_cache
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    if level == "privileged":
        return ()
    restricted = [(rule, check) for rule in _RESTRICTED if (check := _at(rule, minor))] if level == "restricted" else []
    overridden = {rule.overrides for rule, _ in restricted}
    baseline = [check for rule in _BASELINE if rule.name not in overridden and (check := _at(rule, minor))]
    return (*baseline, *(check for _, check in restricted))


def _at(rule: Rule, minor: int) -> Check | None:
    """Return the function that checks a rule at a minor version, or None if the rule does not exist at that version."""
    return next((check for first, check in reversed(rule.versions) if first <= minor), None)


# ---------------------------------------------------------------------- helpers


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _context(holder: JsonObject) -> JsonObject:
    """Return the securityContext of a pod spec or a container."""
    return holder.get("securityContext") or {}


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _plural(word: str, items: object) -> str:
    return word if len(items) == 1 else f"{word}s"  # type: ignore[arg-type]


def _names(containers: list[str]) -> str:
    return f"{_plural('container', containers)} {_quoted(containers)}"


def _setters(spec: JsonObject, bad: Callable[[JsonObject], bool]) -> list[str]:
    """Return texts that name the pod and the containers for whose securityContext `bad` returns True."""
    subjects = ["pod"] if bad(_context(spec)) else []
    containers = [container["name"] for container in _containers(spec) if bad(_context(container))]
    return subjects + ([_names(containers)] if containers else [])


def _bad_containers(spec: JsonObject, bad: Callable[[JsonObject], bool]) -> list[str]:
    return [container["name"] for container in _containers(spec) if bad(container)]


def _unless_windows(check: Check, metadata: JsonObject, spec: JsonObject) -> Violation | None:
    return None if (spec.get("os") or {}).get("name") == "windows" else check(metadata, spec)


def _unless_user_namespace(check: Check, metadata: JsonObject, spec: JsonObject) -> Violation | None:
    return None if spec.get("hostUsers") is False else check(metadata, spec)


# ---------------------------------------------------------------------- baseline


def _app_armor(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    values: set[str] = set()

    def bad(context: JsonObject) -> bool:
        profile = context.get("appArmorProfile")
        if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
            return False
        values.add(profile.get("type", ""))
        return True

    setters = _setters(spec, bad)
    annotations = sorted(
        f"{key}={go_quote(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith("container.apparmor.security.beta.kubernetes.io/")
        and value
        and value != "runtime/default"
        and not value.startswith("localhost/")
    )
    bad_values = sorted(values) + annotations
    if annotations:
        setters.append(_plural("annotation", annotations))
    if not setters:
        return None
    return Violation(
        _plural("forbidden AppArmor profile", bad_values),
        f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(bad_values)}",
    )


_BASELINE_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)


def _added(container: JsonObject, allowed: frozenset[str]) -> set[str]:
    """Return the capabilities that a container adds and that are not in `allowed`."""
    return set((_context(container).get("capabilities") or {}).get("add") or ()) - allowed


def _baseline_capabilities(_: JsonObject, spec: JsonObject) -> Violation | None:
    bad = _bad_containers(spec, lambda container: bool(_added(container, _BASELINE_CAPABILITIES)))
    if not bad:
        return None
    added = {name for container in _containers(spec) for name in _added(container, _BASELINE_CAPABILITIES)}
    detail = f"{_names(bad)} must not include {_quoted(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _host_namespaces(_: JsonObject, spec: JsonObject) -> Violation | None:
    used = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_path_volumes(_: JsonObject, spec: JsonObject) -> Violation | None:
    bad = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", f"{_plural('volume', bad)} {_quoted(bad)}") if bad else None


def _host_ports(_: JsonObject, spec: JsonObject) -> Violation | None:
    def ports(container: JsonObject) -> set[str]:
        return {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}

    bad = _bad_containers(spec, lambda container: bool(ports(container)))
    if not bad:
        return None
    used = sorted({port for container in _containers(spec) for port in ports(container)})
    return Violation("hostPort", f"{_names(bad)} {_use(bad)} {_plural('hostPort', used)} {', '.join(used)}")


def _use(subjects: list[str]) -> str:
    return "uses" if len(subjects) == 1 else "use"


def _handler_hosts(container: JsonObject) -> set[str]:
    """Return the hosts of a container's probes and lifecycle handlers."""
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
    actions = [handler.get(name) or {} for handler in handlers if handler for name in ("httpGet", "tcpSocket")]
    return {action["host"] for action in actions if action.get("host")}


def _probe_hosts(_: JsonObject, spec: JsonObject) -> Violation | None:
    bad = sorted(set(_bad_containers(spec, lambda container: bool(_handler_hosts(container)))))
    if not bad:
        return None
    hosts = sorted({host for container in _containers(spec) for host in _handler_hosts(container)})
    noun = _plural("probe or lifecycle host", hosts)
    return Violation("probe or lifecycle host", f"{_names(bad)} {_use(bad)} {noun} {_quoted(hosts)}")


def _privileged(_: JsonObject, spec: JsonObject) -> Violation | None:
    bad = _bad_containers(spec, lambda container: bool(_context(container).get("privileged")))
    return Violation("privileged", f"{_names(bad)} must not set securityContext.privileged=true") if bad else None


def _proc_mount(_: JsonObject, spec: JsonObject) -> Violation | None:
    def mount(container: JsonObject) -> str:
        return str(_context(container).get("procMount", "Default"))

    bad = _bad_containers(spec, lambda container: mount(container) != "Default")
    if not bad:
        return None
    types = sorted({mount(container) for container in _containers(spec)} - {"Default"})
    return Violation("procMount", f"{_names(bad)} must not set securityContext.procMount to {_quoted(types)}")


def _selinux(allowed: frozenset[str], _: JsonObject, spec: JsonObject) -> Violation | None:
    types: set[str] = set()
    problems: set[str] = set()

    def bad(context: JsonObject) -> bool:
        options = context.get("seLinuxOptions")
        if options is None:
            return False
        if bad_type := options.get("type", "") not in allowed:
            types.add(options["type"])
        set_fields = {field for field in ("user", "role") if options.get(field)}
        problems.update(set_fields)
        return bad_type or bool(set_fields)

    setters = _setters(spec, bad)
    if not setters:
        return None
    data = [f"{_plural('type', types)} {_quoted(sorted(types))}"] if types else []
    data += [f"{field} may not be set" for field in ("user", "role") if field in problems]
    subject = " and ".join(setters)
    return Violation("seLinuxOptions", f"{subject} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def _seccomp_annotations(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    annotations = metadata.get("annotations") or {}
    keys = (_SECCOMP_POD, *(_SECCOMP_CONTAINER + container["name"] for container in _containers(spec)))
    bad = sorted(
        {
            f"{key}={go_quote(value)}"
            for key in keys
            if (value := annotations.get(key)) is not None
            and value not in ("runtime/default", "docker/default")
            and not value.startswith("localhost/")
        }
    )
    return Violation("seccompProfile", f"forbidden {_plural('annotation', bad)} {', '.join(bad)}") if bad else None


def _bad_seccomp(values: set[str], context: JsonObject) -> bool:
    profile = context.get("seccompProfile")
    if profile is None or profile.get("type") in ("Localhost", "RuntimeDefault"):
        return False
    values.add(profile.get("type", ""))
    return True


def _baseline_seccomp(_: JsonObject, spec: JsonObject) -> Violation | None:
    values: set[str] = set()
    setters = _setters(spec, partial(_bad_seccomp, values))
    if not setters:
        return None
    detail = f"must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return Violation("seccompProfile", f"{' and '.join(setters)} {detail}")


def _sysctls(allowed: frozenset[str], _: JsonObject, spec: JsonObject) -> Violation | None:
    bad = [sysctl["name"] for sysctl in _context(spec).get("sysctls") or () if sysctl["name"] not in allowed]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def _windows_host_process(_: JsonObject, spec: JsonObject) -> Violation | None:
    setters = _setters(spec, lambda context: bool((context.get("windowsOptions") or {}).get("hostProcess")))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)


# ---------------------------------------------------------------------- restricted


def _privilege_escalation(_: JsonObject, spec: JsonObject) -> Violation | None:
    bad = _bad_containers(spec, lambda c: _context(c).get("allowPrivilegeEscalation") is not False)
    if not bad:
        return None
    detail = f"{_names(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _restricted_capabilities(_: JsonObject, spec: JsonObject) -> Violation | None:
    allowed = frozenset(("NET_BIND_SERVICE",))

    def drops_all(container: JsonObject) -> bool:
        return "ALL" in ((_context(container).get("capabilities") or {}).get("drop") or ())

    missing = _bad_containers(spec, lambda container: not drops_all(container))
    adding = _bad_containers(spec, lambda container: bool(_added(container, allowed)))
    details = [f'{_names(missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    if adding:
        added = sorted({name for container in _containers(spec) for name in _added(container, allowed)})
        details.append(f"{_names(adding)} must not include {_quoted(added)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


_ALLOWED_VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
    "secret",
)
_RESTRICTED_VOLUMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)


def _restricted_volumes(_: JsonObject, spec: JsonObject) -> Violation | None:
    volumes = spec.get("volumes") or ()
    bad = [volume for volume in volumes if not any(volume.get(kind) is not None for kind in _ALLOWED_VOLUMES)]
    if not bad:
        return None
    types = sorted(
        {next((kind for kind in _RESTRICTED_VOLUMES if volume.get(kind) is not None), "unknown") for volume in bad}
    )
    names = [volume["name"] for volume in bad]
    noun = _plural("restricted volume type", types)
    detail = f"{_plural('volume', names)} {_quoted(names)} {_use(names)} {noun} {_quoted(types)}"
    return Violation("restricted volume types", detail)


def _unset_containers(spec: JsonObject, field: str) -> list[str]:
    return _bad_containers(spec, lambda container: _context(container).get(field) is None)


def _run_as_non_root(_: JsonObject, spec: JsonObject) -> Violation | None:
    reason = "runAsNonRoot != true"
    if setters := _setters(spec, lambda context: context.get("runAsNonRoot") is False):
        return Violation(reason, f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false")
    unset = [] if _context(spec).get("runAsNonRoot") else _unset_containers(spec, "runAsNonRoot")
    return Violation(reason, f"pod or {_names(unset)} must set securityContext.runAsNonRoot=true") if unset else None


def _run_as_user(_: JsonObject, spec: JsonObject) -> Violation | None:
    setters = _setters(spec, lambda context: context.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def _restricted_seccomp(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    if violation := _baseline_seccomp(metadata, spec):
        return violation
    unset = [] if _context(spec).get("seccompProfile") is not None else _unset_containers(spec, "seccompProfile")
    if not unset:
        return None
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_names(unset)} {wanted}")


# ---------------------------------------------------------------------- versions


def _growing(check: Callable[..., Violation | None], *steps: tuple[int, tuple[str, ...]]) -> tuple[Any, ...]:
    """Return the versions of a check whose set of allowed names grows. Each step adds names at a minor version."""
    versions, allowed = [], frozenset[str]()
    for minor, names in steps:
        allowed |= frozenset(names)
        versions.append((minor, partial(check, allowed)))
    return tuple(versions)


_BASELINE = (
    Rule("appArmorProfile", ((0, _app_armor),)),
    Rule("capabilities_baseline", ((0, _baseline_capabilities),)),
    Rule("hostNamespaces", ((0, _host_namespaces),)),
    Rule("hostPathVolumes", ((0, _host_path_volumes),)),
    Rule("hostPorts", ((0, _host_ports),)),
    Rule("hostProbesAndHostLifecycle", ((34, _probe_hosts),)),
    Rule("privileged", ((0, _privileged),)),
    Rule("procMount", ((0, _proc_mount), (35, partial(_unless_user_namespace, _proc_mount)))),
    Rule(
        "seLinuxOptions",
        _growing(
            _selinux,
            (0, ("", "container_t", "container_init_t", "container_kvm_t")),
            (31, ("container_engine_t",)),
        ),
    ),
    Rule("seccompProfile_baseline", ((0, _seccomp_annotations), (19, _baseline_seccomp))),
    Rule(
        "sysctls",
        _growing(
            _sysctls,
            (
                0,
                (
                    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
                    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
                ),
            ),
            (27, ("net.ipv4.ip_local_reserved_ports",)),
            (
                29,
                (
                    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout"),
                    *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
                ),
            ),
            (32, ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")),
        ),
    ),
    Rule("windowsHostProcess", ((0, _windows_host_process),)),
)

_RESTRICTED = (
    Rule(
        "allowPrivilegeEscalation",
        ((8, _privilege_escalation), (25, partial(_unless_windows, _privilege_escalation))),
    ),
    Rule(
        "capabilities_restricted",
        ((22, _restricted_capabilities), (25, partial(_unless_windows, _restricted_capabilities))),
        overrides="capabilities_baseline",
    ),
    Rule("procMount_restricted", ((35, _proc_mount),), overrides="procMount"),
    Rule("restrictedVolumes", ((0, _restricted_volumes),), overrides="hostPathVolumes"),
    Rule("runAsNonRoot", ((0, _run_as_non_root), (35, partial(_unless_user_namespace, _run_as_non_root)))),
    Rule("runAsUser", ((23, _run_as_user), (35, partial(_unless_user_namespace, _run_as_user)))),
    Rule(
        "seccompProfile_restricted",
        ((19, _restricted_seccomp), (25, partial(_unless_windows, _restricted_seccomp))),
        overrides="seccompProfile_baseline",
    ),
)

_NEWEST = max(minor for rule in (*_BASELINE, *_RESTRICTED) for minor, _ in rule.versions)
