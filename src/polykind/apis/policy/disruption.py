"""Evictions of pods that a PodDisruptionBudget allows or refuses."""

from __future__ import annotations

from polykind import errors
from polykind.contract import JsonObject
from polykind.selectors.selector_objects import compile_label_selector, labels_of

_MAX_DISRUPTED_PODS = 2000
_MESSAGE = "Cannot evict pod as it would violate the pod's disruption budget."


def selects(budget: JsonObject, pod: JsonObject) -> bool:
    """True if a budget's selector matches a pod."""
    selector = (budget.get("spec") or {}).get("selector")
    return selector is not None and compile_label_selector(selector).matches(labels_of(pod))


def protects(budget: JsonObject, pod: JsonObject) -> bool:
    """True if the budget limits evictions of a pod. Some budgets do not limit evictions of pods that are not ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions):
        return True
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return False
    status = budget.get("status") or {}
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    return not 0 < desired <= current


def count_disruption(budget: JsonObject, pod_name: str, now: str) -> None:
    """Record the eviction of a pod in the status of its budget, in place. Raise APIError if the budget refuses it."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    allowed = status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        raise still_processing(name)
    if allowed < 0:
        raise errors.ForbiddenError("poddisruptionbudget", "policy", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > _MAX_DISRUPTED_PODS:
        reason = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.ForbiddenError("poddisruptionbudget", "policy", name, reason)
    if not allowed:
        raise _too_many_requests(_refusal(name, status))
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now}
    if allowed == 1:
        _set_disallowed(status, now)


def still_processing(budget: str) -> errors.APIError:
    """Return the error for a budget whose status is not up to date. It asks the client to retry after 10 seconds."""
    return _too_many_requests(f"The disruption budget {budget} is still being processed by the server.", 10)


def _too_many_requests(cause: str, retry_after: int | None = None) -> errors.APIError:
    details = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    return errors.TooManyRequestsError(_MESSAGE, details=details, retry_after=retry_after)


def _refusal(name: str, status: JsonObject) -> str:
    """Return the reason why a budget with disruptionsAllowed=0 refuses an eviction."""
    conditions = status.get("conditions") or ()
    condition: JsonObject = next((item for item in conditions if item.get("type") == "DisruptionAllowed"), {})
    message = condition.get("message") if condition.get("status") == "False" else ""
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    start = f"The disruption budget {name} does not allow evicting pods currently"
    if message and condition.get("reason") == "SyncFailed":
        return f"{start} because it failed sync: {message}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"{start} ({condition.get('reason')}): {message}" if message else start


def _set_disallowed(status: JsonObject, now: str) -> None:
    """Set the condition DisruptionAllowed to False, in place, after the last allowed eviction."""
    old = {item.get("type"): item for item in status.get("conditions") or ()}
    before = old.get("DisruptionAllowed") or {}
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration") or 0,
        "lastTransitionTime": before.get("lastTransitionTime") if before.get("status") == "False" else now,
        "reason": "InsufficientPods",
        "message": "",
    }
    status["conditions"] = list({**old, "DisruptionAllowed": condition}.values())
