"""Who may do what: which questions are good ones, and how they are answered."""

from __future__ import annotations

from collections.abc import Iterable

from polykind import errors
from polykind.auth import review_selectors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.text import json_bytes

GROUP = "authorization.k8s.io"

Rule = dict[str, list[str]]


def problems(review: JsonObject, metadata_order: Iterable[str], *, subject: bool, local: bool) -> list[FieldError]:
    """What is wrong with a review of access; `subject`: it names whom it is about, `local`: it lies in a namespace.

    `metadata_order` is the order in which metadata is shown.
    """
    spec, meta = review["spec"], review["metadata"]
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    found = []
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        found.append(errors.invalid("spec.nonResourceAttributes", _path(other), why))
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found.append(errors.invalid("spec.resourceAttributes", None, why))
    if subject and not spec.get("user") and not spec.get("groups"):
        found.append(errors.invalid("spec.user", "", "at least one of user or group must be specified"))
    if resource is not None:
        found += review_selectors.problems(resource, "spec.resourceAttributes")
    allowed = {"managedFields", "namespace"} if local else {"managedFields"}
    if any(value for key, value in meta.items() if key not in allowed):
        why = "must be empty except for namespace" if local else "must be empty"
        shown = json_bytes({key: meta[key] for key in metadata_order if key in meta}, ordered=True).decode()
        found.append(FieldError("FieldValueInvalid", "metadata", errors.OMITTED, f"{shown}: {why}"))
    if local:
        found += _local_problems(resource, other, meta.get("namespace", ""))
    return found


def _local_problems(resource: JsonObject | None, other: JsonObject | None, namespace: str) -> list[FieldError]:
    found = []
    if resource is not None and (given := resource.get("namespace", "")) != namespace:
        found.append(errors.invalid("spec.resourceAttributes.namespace", given, "must match metadata.namespace"))
    if other is not None:
        found.append(errors.invalid("spec.nonResourceAttributes", _path(other), "disallowed on this kind of request"))
    return found


def _path(attributes: JsonObject) -> JsonObject:
    """As refusals show it: by the names of Go's fields."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def status(spec: JsonObject, *, allowed: bool, denied: bool, reason: str, error: str) -> JsonObject:
    """The answer. It tells which selectors were not understood."""
    ignored = review_selectors.not_understood(spec.get("resourceAttributes") or {}, "spec.resourceAttributes")
    told = {"denied": denied, "reason": reason, "evaluationError": "; ".join(text for text in (error, ignored) if text)}
    return {"allowed": allowed, **{key: value for key, value in told.items() if value}}


def check_rules(review: JsonObject) -> None:
    if not review["spec"].get("namespace"):
        raise errors.BadRequestError("no namespace on request")


def rules(resources: list[Rule], paths: list[Rule], *, incomplete: bool, error: str) -> JsonObject:
    """Somebody's rules, in a review that has nothing of the one that was sent."""
    status: JsonObject = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": incomplete}
    if error:
        status["evaluationError"] = error
    return {"metadata": {}, "spec": {}, "status": status}
