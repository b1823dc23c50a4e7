"""Roles, and the bindings that give them to users, as resources: what each says who may do."""

from __future__ import annotations

from collections.abc import Iterable

from polykind import errors, names
from polykind.apis.machinery import Struct
from polykind.apis.rbac.types import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from polykind.apply.typemodel import CLUSTER_ROLE_MODEL, ROLE_BINDING_MODEL, ROLE_MODEL, TypeModel
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import DEFAULT, ROLE_BINDINGS, TableFormat
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import (
    BuiltinRepresenter,
    BuiltinResource,
    BuiltinStrategy,
    BuiltinType,
    Defaults,
    builtin_version,
    unqualified,
)
from polykind.resources.resource import ServedVersion
from polykind.schema import metadata_validation
from polykind.selectors.selector_objects import validate_label_selector

GROUP = "rbac.authorization.k8s.io"


def rbac_kinds(cache: WatchCache) -> tuple[RbacResource, RbacResource, RbacResource, RbacResource]:
    """The resources `roles`, `rolebindings`, `clusterroles` and `clusterrolebindings`."""
    return (
        RoleResource(cache, GROUP, _type(ROLE, ROLE_MODEL), RoleStrategy(namespaced=True), namespaced=True),
        RbacResource(
            cache,
            GROUP,
            _type(ROLE_BINDING, ROLE_BINDING_MODEL, ROLE_BINDINGS),
            BindingStrategy(namespaced=True),
            defaults=set_binding_defaults,
            namespaced=True,
        ),
        RoleResource(cache, GROUP, _type(CLUSTER_ROLE, CLUSTER_ROLE_MODEL), ClusterRoleStrategy()),
        RbacResource(
            cache,
            GROUP,
            _type(CLUSTER_ROLE_BINDING, ROLE_BINDING_MODEL, ROLE_BINDINGS),
            BindingStrategy(),
            defaults=set_binding_defaults,
        ),
    )


def _type(struct: Struct, model: TypeModel, table: TableFormat = DEFAULT) -> BuiltinType:
    return BuiltinType(struct, model, table, "rbac", ("v1", "v1beta1", "v1alpha1"))


class RbacResource(BuiltinResource):
    """A resource of roles or bindings."""

    creates_on_update = True


class RoleResource(RbacResource):
    """The resource `roles` or `clusterroles`."""

    def _build_version(
        self, builtin: BuiltinType, strategy: BuiltinStrategy, defaults: Defaults | None
    ) -> ServedVersion:
        return builtin_version(self, builtin, strategy, defaults=defaults, representer=RoleRepresenter(self, builtin))


class RoleRepresenter(BuiltinRepresenter):
    """Shows roles."""

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        # An empty list of rules and no list are the same protobuf message.
        return obj if obj["rules"] else {**obj, "rules": None}


class RbacStrategy(BuiltinStrategy):
    """Prepares and validates roles and bindings."""

    unconditional_update = True
    grants = True

    def problems(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What is wrong with what a role or a binding says."""
        raise NotImplementedError

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self._named(obj) + self.problems(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._named(new) + self.problems(new, old) + self.changes(new, old)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What is wrong with a change, however good what comes of it is."""
        found = metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        return found + unqualified(new["metadata"].get("finalizers"), "metadata.finalizers[{}]")

    def _named(self, obj: JsonObject) -> list[FieldError]:
        meta = obj["metadata"]
        found = metadata_validation.validate_object_meta(meta, namespaced=self.namespaced, name_rule=names.path_segment)
        return found + unqualified(meta.get("finalizers"), "metadata.finalizers[{}]")


class RoleStrategy(RbacStrategy):
    """Prepares and validates Roles."""

    def problems(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return _rule_problems(obj["rules"] or (), namespaced=self.namespaced)

    def canonicalize(self, obj: JsonObject) -> None:
        _leave_out_empty(obj)

    def for_admission(self, obj: JsonObject) -> JsonObject:
        pruned = dict(obj)
        _leave_out_empty(pruned)
        return pruned


def _leave_out_empty(obj: JsonObject) -> None:
    """Who owns a role's rules depends on the empty lists in them; afterwards nobody is told of those any more."""
    rules = obj["rules"]
    if any(not value for rule in rules or () for value in rule.values()):
        obj["rules"] = [{key: value for key, value in rule.items() if value or key == "verbs"} for rule in rules]


class ClusterRoleStrategy(RoleStrategy):
    """Prepares and validates ClusterRoles."""

    def problems(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = super().problems(obj, old)
        aggregation = obj.get("aggregationRule")
        if aggregation is None:
            return found
        at = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            found.append(errors.required(at, why))
        # What was once let in may stay, as far as the values of labels go.
        before = ((old or {}).get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        lenient = any(validate_label_selector(selector, "") for selector in before)
        for index, selector in enumerate(selectors):
            found += validate_label_selector(selector, f"{at}[{index}]", lenient=lenient)
            if validate_label_selector(selector, ""):
                found.append(errors.invalid(f"{at}[{index}]", None, "invalid label selector."))
        return found


def set_binding_defaults(obj: JsonObject) -> None:
    """Set the defaults of a RoleBinding or ClusterRoleBinding, in place."""
    obj["roleRef"]["apiGroup"] = obj["roleRef"]["apiGroup"] or GROUP
    for subject in obj.get("subjects") or ():
        if subject["kind"] in ("User", "Group"):
            subject.setdefault("apiGroup", GROUP)


class BindingStrategy(RbacStrategy):
    """Prepares and validates RoleBindings and ClusterRoleBindings."""

    def problems(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found, ref = [], obj["roleRef"]
        supported = ("Role", "ClusterRole") if self.namespaced else ("ClusterRole",)
        if ref["apiGroup"] != GROUP:
            found.append(errors.not_supported("roleRef.apiGroup", ref["apiGroup"], (GROUP,)))
        if ref["kind"] not in supported:
            found.append(errors.not_supported("roleRef.kind", ref["kind"], supported))
        if not ref["name"]:
            found.append(errors.required("roleRef.name"))
        found += [errors.invalid("roleRef.name", ref["name"], why) for why in names.path_segment(ref["name"])]
        for index, subject in enumerate(obj.get("subjects") or ()):
            found += _subject_problems(subject, f"subjects[{index}]", namespaced=self.namespaced)
        return found

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found, ref = super().changes(new, old), new["roleRef"]
        if old["roleRef"] != ref:
            told = {"APIGroup": ref["apiGroup"], "Kind": ref["kind"], "Name": ref["name"]}
            found.append(errors.invalid("roleRef", told, "cannot change roleRef"))
        return found


def _rule_problems(rules: Iterable[JsonObject], *, namespaced: bool) -> list[FieldError]:
    found = []
    for index, rule in enumerate(rules):
        at, paths = f"rules[{index}]", rule.get("nonResourceURLs")
        if not rule["verbs"]:
            found.append(errors.required(f"{at}.verbs", "verbs must contain at least one value"))
        if paths:
            if namespaced:
                why = "namespaced rules cannot apply to non-resource URLs"
                found.append(errors.invalid(f"{at}.nonResourceURLs", paths, why))
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                found.append(errors.invalid(f"{at}.nonResourceURLs", paths, why))
            continue
        if not rule.get("apiGroups"):
            found.append(errors.required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            found.append(errors.required(f"{at}.resources", "resource rules must supply at least one resource"))
    return found


def _subject_problems(subject: JsonObject, at: str, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = subject["kind"], subject["name"], subject.get("apiGroup", "")
    found = [] if name else [errors.required(f"{at}.name")]
    if kind == "ServiceAccount":
        if name:
            found += [errors.invalid(f"{at}.name", name, why) for why in names.subdomain_name(name)]
        if group:
            found.append(errors.not_supported(f"{at}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(errors.required(f"{at}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            found.append(errors.not_supported(f"{at}.apiGroup", group, (GROUP,)))
    else:
        found.append(errors.not_supported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group")))
    return found
