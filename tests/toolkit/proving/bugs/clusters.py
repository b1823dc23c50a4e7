"""Clusters: references lose their version, conditions move, and durations become seconds."""

from __future__ import annotations

from polykind.convert import put, take
from tests.toolkit.proving.bugs.family import FLAG, NUMBER, TEXT, Family, Object, array, fields, spec

GROUP = "clusters.example.com"
REF = {"type": "object", "properties": {"apiVersion": TEXT, "kind": TEXT, "name": TEXT}}
CONDITION = fields(type=TEXT, status=TEXT, message=TEXT)
OLDER = {
    "spec": fields(paused=FLAG, infrastructureRef=REF, drainSeconds={"type": "integer", "format": "int64"}),
    "status": fields(phase=TEXT, conditions=array(CONDITION), failureDomains=array(TEXT)),
}
NEWER = {
    "spec": fields(
        paused=FLAG,
        infrastructureRef=fields(apiGroup=TEXT, kind=TEXT, name=TEXT),
        drainSeconds={"type": "integer", "format": "int64"},
    ),
    "status": fields(
        phase=TEXT,
        conditions=array(CONDITION),
        failureDomains=array(fields(name=TEXT, controlPlane=FLAG)),
        ready=NUMBER,
    ),
}


def down(obj: Object) -> None:
    reference = spec(obj).get("infrastructureRef")
    if reference is not None and "apiGroup" in reference:
        version = take(obj, "version", "v1")
        reference["apiVersion"] = f"{reference.pop('apiGroup')}/{version}"
    status = obj.get("status") or {}
    if "ready" in status:
        put(obj, "ready", status.pop("ready"))
    if "failureDomains" in status:
        domains = status["failureDomains"]
        status["failureDomains"] = [domain.get("name", "") for domain in domains]
        put(obj, "domains", domains, beside=["status.failureDomains"])


def up(obj: Object) -> None:
    reference = spec(obj).get("infrastructureRef")
    domains, ready = take(obj, "domains"), take(obj, "ready")
    if reference is not None and "apiVersion" in reference:
        group, slash, version = reference.pop("apiVersion").rpartition("/")
        reference["apiGroup"] = group
        if version != "v1" or not slash:
            put(obj, "version", version if slash else ["", version])
    if "status" not in obj:
        return
    status = obj["status"]
    if ready is not None:
        status["ready"] = ready
    if "failureDomains" in status:
        status["failureDomains"] = (
            domains if domains is not None else [{"name": name} for name in status["failureDomains"]]
        )


def exact_down(obj: Object) -> None:
    """Restore an apiVersion without a slash, too."""
    version = take(obj, "version", "v1")
    reference = spec(obj).get("infrastructureRef")
    group = reference.pop("apiGroup", None) if reference else None
    down(obj)
    if reference is not None and group is not None:
        bare = isinstance(version, list) and not group
        reference["apiVersion"] = version[1] if bare else f"{group}/{version if isinstance(version, str) else 'v1'}"


FAMILY = Family(f"Cluster.{GROUP}", {"v1beta1": OLDER, "v1beta2": NEWER}, exact_down, up)


@FAMILY.after_down("easy")
def loses_the_phase(obj: Object) -> None:
    (obj.get("status") or {}).pop("phase", None)


@FAMILY.after_up("hard")
def only_three_conditions_are_kept(obj: Object) -> None:
    conditions = (obj.get("status") or {}).get("conditions") or []
    del conditions[3:]


@FAMILY.after_up("hard")
def conditions_of_one_type_are_merged(obj: Object) -> None:
    status = obj.get("status") or {}
    if status.get("conditions"):
        by_type = {condition.get("type"): condition for condition in status["conditions"]}
        status["conditions"] = list(by_type.values())


@FAMILY.after_down("hard")
def long_messages_are_truncated(obj: Object) -> None:
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if len(condition.get("message", "")) > 1024:
            condition["message"] = condition["message"][:1021] + "..."


@FAMILY.after_up("hard")
def drain_seconds_overflow(obj: Object) -> None:
    """Seconds become nanoseconds and back, in 64 bits."""
    if "drainSeconds" in spec(obj):
        nanoseconds = (obj["spec"]["drainSeconds"] * 10**9 + 2**63) % 2**64 - 2**63
        obj["spec"]["drainSeconds"] = nanoseconds // 10**9


@FAMILY.after_down("medium")
def version_of_the_reference_is_fixed(obj: Object) -> None:
    reference = spec(obj).get("infrastructureRef") or {}
    if "/" in reference.get("apiVersion", ""):
        reference["apiVersion"] = reference["apiVersion"].rpartition("/")[0] + "/v1"


@FAMILY.converter("hard")
def ready_is_kept_across_edits_of_the_status() -> object:
    """The number of ready machines is never removed from the newer object, and wins over a later value."""
    key = f"{GROUP}/ready"

    def keep(obj: Object) -> None:
        notes = (obj.get("metadata") or {}).get("annotations") or {}
        ready = (obj.get("status") or {}).pop("ready", None)
        exact_down(obj)
        if ready is not None and key not in notes:
            obj["metadata"].setdefault("annotations", {})[key] = str(ready)

    def restore(obj: Object) -> None:
        up(obj)
        value = ((obj.get("metadata") or {}).get("annotations") or {}).get(key)
        if value is not None and "status" in obj:
            obj["status"]["ready"] = int(value)

    return FAMILY.conversions(keep, restore)
