"""Validation and status of SubjectAccessReview and its variants, and of SelfSubjectRulesReview."""

from __future__ import annotations

from collections.abc import Iterable

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.json import encode_json
from polykind.selectors import selector_objects
from polykind.selectors.field_selectors import parse_field_selector
from polykind.selectors.label_selectors import parse_label_selector

GROUP = "authorization.k8s.io"

Rule = dict[str, list[str]]

_SELECTORS = ("fieldSelector", "labelSelector")


def _validate_attributes(resource: JsonObject | None, non_resource: JsonObject | None) -> list[FieldError]:
    """Validate that a review is about a resource or about another path, but not about both."""
    if resource is not None and non_resource is not None:
        message = "cannot be specified in combination with resourceAttributes"
        return [errors.invalid("spec.nonResourceAttributes", _go_fields(non_resource), message)]
    if resource is None and non_resource is None:
        message = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [errors.invalid("spec.resourceAttributes", None, message)]
    return []


def validate(review: JsonObject, metadata_order: Iterable[str], *, subject: bool, local: bool) -> list[FieldError]:
    """Validate an access review.

    `subject` is true if the spec names a user or groups, `local` if the review is namespaced. `metadata_order` is the
    order in which error messages print the fields of metadata.
    """
    spec, meta = review["spec"], review["metadata"]
    resource, non_resource = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    field_errors = _validate_attributes(resource, non_resource)
    if subject and not spec.get("user") and not spec.get("groups"):
        field_errors.append(errors.invalid("spec.user", "", "at least one of user or group must be specified"))
    if resource is not None:
        field_errors += validate_selectors(resource, "spec.resourceAttributes")
    allowed = {"managedFields", "namespace"} if local else {"managedFields"}
    if any(value for key, value in meta.items() if key not in allowed):
        message = "must be empty except for namespace" if local else "must be empty"
        value = encode_json({key: meta[key] for key in metadata_order if key in meta}, sort_keys=False).decode()
        field_errors.append(FieldError("FieldValueInvalid", "metadata", errors.OMITTED, f"{value}: {message}"))
    if local:
        field_errors += _validate_local(resource, non_resource, meta.get("namespace", ""))
    return field_errors


def _validate_local(resource: JsonObject | None, non_resource: JsonObject | None, namespace: str) -> list[FieldError]:
    field_errors = []
    if resource is not None and (resource_namespace := resource.get("namespace", "")) != namespace:
        field_errors.append(
            errors.invalid("spec.resourceAttributes.namespace", resource_namespace, "must match metadata.namespace")
        )
    if non_resource is not None:
        message = "disallowed on this kind of request"
        field_errors.append(errors.invalid("spec.nonResourceAttributes", _go_fields(non_resource), message))
    return field_errors


def _go_fields(attributes: JsonObject) -> JsonObject:
    """Return nonResourceAttributes with Go's field names, as kube-apiserver prints them."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def validate_selectors(attributes: JsonObject, path: str) -> list[FieldError]:
    """Validate fieldSelector and labelSelector of resourceAttributes.

    Unknown operators are valid, as in kube-apiserver, so that newer clients can talk to older servers.
    """
    field_errors: list[FieldError] = []
    for name in _SELECTORS:
        selector = attributes.get(name)
        if selector is None:
            continue
        at, raw, requirements = f"{path}.{name}", selector.get("rawSelector", ""), selector.get("requirements") or ()
        if raw and requirements:
            message = "may not specified at the same time as requirements"
            field_errors.append(errors.invalid(f"{at}.rawSelector", raw, message))
        if not raw and not requirements:
            message = f"when {at} is specified, requirements or rawSelector is required"
            field_errors.append(errors.required(f"{at}.requirements", message))
        for index, requirement in enumerate(requirements):
            at_item = f"{at}.requirements[{index}]"
            field_errors += _validate_requirement(requirement, at_item, is_label=name == "labelSelector")
    return field_errors


def _validate_requirement(requirement: JsonObject, path: str, *, is_label: bool) -> list[FieldError]:
    field_errors = []
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values") or ()
    if not is_label and not key:
        field_errors.append(errors.required(f"{path}.key", "must be specified"))
    field_errors += selector_objects.validate_value_count(operator, values, path)
    return field_errors + selector_objects.validate_label_requirement(key, values, path) if is_label else field_errors


_MAX_SELECTOR = 256 * 1024
"""Characters of a selector that is parsed. No request has a longer one."""


def ignored_selectors(attributes: JsonObject, path: str) -> str:
    """Return an error text about the selectors that the authorizer ignored, fully or partially.

    Return "" if it used all of them.
    """
    texts = []
    for name in _SELECTORS:
        selector = attributes.get(name) or {}
        requirements = selector.get("requirements") or ()
        unsupported = sum(not _supported(item, is_label=name == "labelSelector") for item in requirements)
        if unsupported or not _parses(name, selector.get("rawSelector", "")):
            part = " partially" if unsupported < len(requirements) else ""
            texts.append(f"{path}.{name}{part} ignored due to parse error")
    return "; ".join(texts)


def _supported(requirement: JsonObject, *, is_label: bool) -> bool:
    if is_label:
        return (
            requirement["operator"] in selector_objects.SET_OPERATORS
            or requirement["operator"] in selector_objects.EXISTENCE_OPERATORS
        )
    return requirement["operator"] in selector_objects.SET_OPERATORS and len(requirement.get("values") or ()) == 1


def _parses(name: str, raw: str) -> bool:
    if len(raw) > _MAX_SELECTOR:
        return False
    try:
        (parse_label_selector if name == "labelSelector" else parse_field_selector)(raw)
    except errors.BadRequestError:
        return False
    return True


def status(spec: JsonObject, *, allowed: bool, denied: bool, reason: str, error: str) -> JsonObject:
    """Return the status of an access review. The evaluationError also names the ignored selectors."""
    ignored = ignored_selectors(spec.get("resourceAttributes") or {}, "spec.resourceAttributes")
    evaluation_error = "; ".join(text for text in (error, ignored) if text)
    optional = {"denied": denied, "reason": reason, "evaluationError": evaluation_error}
    return {"allowed": allowed, **{key: value for key, value in optional.items() if value}}


def check_rules_review(review: JsonObject) -> None:
    """Raise BadRequestError if a SelfSubjectRulesReview has no namespace."""
    if not review["spec"].get("namespace"):
        raise errors.BadRequestError("no namespace on request")


def rules_review(resources: list[Rule], paths: list[Rule], *, incomplete: bool, error: str) -> JsonObject:
    """Return a SelfSubjectRulesReview with these rules. Like kube-apiserver, omit the client's metadata and spec."""
    status: JsonObject = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": incomplete}
    if error:
        status["evaluationError"] = error
    return {"metadata": {}, "spec": {}, "status": status}
