"""A minimal server for replaying recorded requests against the apply package."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from polykind import errors
from polykind.apply import apply_body, field_manager, json_patch, merge_patch
from polykind.apply.typemodel import TypeModel

Json = dict[str, Any]


class Garden:
    """Objects of one kind by name, at the versions of a CRD with conversion strategy None."""

    def __init__(self, crd: Json) -> None:
        spec = crd["spec"]
        self.kind = spec["names"]["kind"]
        self.schemas = {f"{spec['group']}/{v['name']}": v["schema"]["openAPIV3Schema"] for v in spec["versions"]}
        self.models = {version: TypeModel(schema) for version, schema in self.schemas.items()}
        self.status = {
            f"{spec['group']}/{v['name']}" for v in spec["versions"] if "status" in v.get("subresources", {})
        }
        self.storage = next(f"{spec['group']}/{v['name']}" for v in spec["versions"] if v["storage"])
        self.objects: dict[str, Json] = {}
        self.seconds = 0

    async def convert(self, document: Json, version: str) -> Json | None:
        return {**document, "apiVersion": version} if version in self.schemas else None

    def at(self, document: Json, version: str) -> Json:
        out = prune_and_default({**document, "apiVersion": version}, self.schemas[version], defaults=False)
        assert isinstance(out, dict)
        return out

    async def call(self, method: str, url: str, content_type: str, sent: Any) -> Json:
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        path = re.fullmatch(r"/apis/([^/]+/[^/]+)/namespaces/[^/]+/[^/]+(?:/([^/]+))?(?:/(status))?", parts.path)
        assert path, url
        version, name, subresource = path.group(1), path.group(2), path.group(3) or ""
        stored = self.objects.get(name or "")
        if method == "GET":
            if stored is None:
                raise errors.NotFoundError("gardens", "", name)
            return self.at(stored, version)
        if method == "DELETE":
            return self.objects.pop(name)
        live = self.at(stored, version) if stored is not None else None
        reset: dict[str, Json] = {}
        if subresource:
            reset = dict.fromkeys(self.status, field_manager.STATUS_RESET)
        elif version in self.status:
            reset = {version: field_manager.MAIN_RESET}
        rules: Json = {
            "manager": query.get("fieldManager", "conform"),
            "api_version": version,
            "subresource": subresource,
            "now": f"2024-01-01T00:{self.seconds // 60:02}:{self.seconds % 60:02}Z",
            "models": self.models,
            "convert": self.convert,
            "reset": reset,
        }
        if content_type == "application/apply-patch+yaml":
            force = query.get("force") == "true"
            new = await field_manager.apply(live, sent, kind=self.kind, force=force, **rules)
            apply_body.check_name(new, name)
            apply_body.check_namespace(new, "default")
            new = prune_and_default(new, self.schemas[version])
        else:
            if content_type == "application/merge-patch+json":
                assert live is not None
                sent = merge_patch.apply(live, sent)
            elif content_type == "application/json-patch+json":
                assert live is not None
                sent = json_patch.apply(live, sent)
            new = prune_and_default(sent, self.schemas[version])
            listed = await field_manager.update(live, new, **rules)
            new = {**new, "metadata": {**new["metadata"], "managedFields": listed}}
        new = with_reset_fields(live, new, subresource, has_status=version in self.status)
        if live is not None and field_manager.equal_ignoring_times(live, new):
            return live
        if query.get("dryRun") is None:
            self.objects[new["metadata"]["name"]] = self.at(new, self.storage)
        return self.at(self.at(new, self.storage), version)


def with_reset_fields(live: Json | None, new: Json, subresource: str, *, has_status: bool) -> Json:
    """Return the object with the fields that an endpoint resets."""
    if not has_status:
        return new
    if subresource:
        assert live is not None
        metadata = {**live["metadata"], "managedFields": new["metadata"].get("managedFields", [])}
        return {**live, "metadata": metadata, "status": new.get("status", {})}
    out = {name: value for name, value in new.items() if name != "status"}
    if live is not None and "status" in live:
        out["status"] = live["status"]
    return out


def prune_and_default(value: Any, schema: Json, *, defaults: bool = True) -> Any:
    """Prune and default a value, for the few schemas of these recordings."""
    if isinstance(value, list):
        return [prune_and_default(item, schema.get("items", {}), defaults=defaults) for item in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or properties is None:
        return value
    out = {}
    known = {*properties, "apiVersion", "kind", "metadata"}
    for name, item in value.items():
        below = properties.get(name, {})
        if name in known and not (item is None and name in properties and not below.get("nullable")):
            out[name] = prune_and_default(item, below, defaults=defaults)
    if isinstance(out.get("metadata"), dict) and "metadata" not in properties:
        # Empty maps and lists are dropped when metadata is decoded.
        out["metadata"] = {name: item for name, item in out["metadata"].items() if item not in ({}, [], None)}
    for name, below in properties.items():
        if defaults and name not in out and "default" in below:
            out[name] = prune_and_default(below["default"], below)
    return out


def parse(raw: str) -> Any:
    return yaml.safe_load(raw)
