"""A minimal server for CRD requests without store, sockets and watches."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from polykind import crd, errors
from polykind.apis.apiextensions import crd_codec
from polykind.apis.apiextensions.crd_codec import GROUP, KIND, Version
from polykind.apply import json_patch, merge_patch
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.crd.empty_values import drop_empty_values
from polykind.crd.strategy import warnings
from tests.conformance.client import Answer
from tests.crd.build import NOW, reconciled_status

RESOURCE = "customresourcedefinitions"


class UnsupportedRequestError(Exception):
    """A request that this minimal server cannot handle."""


class CRDServer:
    """CRDs by name, and the requests that need nothing else."""

    def __init__(self) -> None:
        self.stored: dict[str, JsonObject] = {}
        self.revision = 0

    def call(self, verb: str, target: str, body: bytes | None = None, headers: Any = None) -> Answer:
        parts = urlsplit(target)
        path = parts.path.strip("/").split("/")
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        known = path[:2] == ["apis", GROUP] and path[2:3] in (["v1"], ["v1beta1"]) and path[3:4] == [RESOURCE]
        headers = headers or {}
        if not known or "Accept" in headers or "watch" in query:
            raise UnsupportedRequestError(target)
        version: Version = "v1" if path[2] == "v1" else "v1beta1"
        rest = path[4:]
        if query.get("fieldValidation", "Warn") not in ("Ignore", "Warn", "Strict"):
            raise UnsupportedRequestError(target)
        self.warnings: list[str] = []
        try:
            status, value = self._handle(verb, version, rest, body or b"", headers.get("Content-Type", ""), query)
        except errors.APIError as error:
            status, value = error.code, error.status()
        out = {"content-type": "application/json"}
        if self.warnings:
            out["warning"] = "\n".join(f'299 - "{_escape_quotes(warning)}"' for warning in self.warnings)
        return Answer(status, out, json.dumps(value).encode())

    def _handle(
        self, verb: str, version: Version, rest: list[str], body: bytes, type_: str, query: dict[str, str]
    ) -> tuple[int, JsonObject]:
        if verb == "POST" and not rest:
            return self._create(version, _parse_body(body, type_), query)
        if verb not in ("GET", "PUT", "PATCH") or not rest:
            raise UnsupportedRequestError(verb)
        name, status = rest[0], rest[1:] == ["status"]
        old = self.stored.get(name)
        if type_ not in ("", "application/json", "application/merge-patch+json", "application/json-patch+json"):
            raise UnsupportedRequestError(type_)
        if old is None:
            raise errors.NotFoundError(RESOURCE, GROUP, name)
        if verb == "GET":
            return 200, crd_codec.encode(old, version)
        shown = crd_codec.encode(old, version)
        if verb == "PUT":
            new = _parse_body(body, type_)
            if new.get("metadata", {}).get("resourceVersion") != old["metadata"]["resourceVersion"]:
                raise UnsupportedRequestError("resourceVersion")
        elif type_ == "application/merge-patch+json":
            new = merge_patch.apply(shown, json.loads(body))
        else:
            new = json_patch.apply(shown, json.loads(body))
        return self._update(version, new, old, query, status=status)

    def _create(self, version: Version, body: JsonObject, query: dict[str, str]) -> tuple[int, JsonObject]:
        new = self._decode(body, version, query)
        if "generateName" in new["metadata"] or "resourceVersion" in new["metadata"]:
            raise UnsupportedRequestError("metadata")
        new["metadata"].pop("namespace", None)
        crd.prepare_create(new)
        found = crd.validate_create(new, version)
        name = new["metadata"].get("name", "")
        if found:
            raise errors.InvalidError(KIND, GROUP, name, found)
        if name in self.stored:
            raise errors.AlreadyExistsError(RESOURCE, GROUP, name)
        new["metadata"] |= {"uid": "0a000000-0000-0000-0000-000000000000", "creationTimestamp": NOW}
        self.warnings += warnings(new)
        return 201, self._store(new, version, query)

    def _update(
        self, version: Version, body: JsonObject, old: JsonObject, query: dict[str, str], *, status: bool
    ) -> tuple[int, JsonObject]:
        if old["metadata"].get("deletionTimestamp") or "managedFields" in json.dumps(body):
            raise UnsupportedRequestError("metadata")
        if body.get("metadata", {}).get("name") != old["metadata"]["name"]:
            raise UnsupportedRequestError("name")
        if query.get("fieldValidation") == "Strict":
            raise UnsupportedRequestError("strict")
        new = self._decode(body, version, query)
        for key in ("uid", "creationTimestamp", "resourceVersion"):
            new["metadata"].setdefault(key, old["metadata"].get(key))
        if status:
            crd.prepare_status_update(new, old)
            found = crd.validate_status_update(new, old)
        else:
            crd.prepare_update(new, old)
            found = crd.validate_update(new, old, version)
            self.warnings += warnings(new, old)
        if found:
            raise errors.InvalidError(KIND, GROUP, new["metadata"]["name"], found)
        return 200, self._store(new, version, query)

    def _store(self, new: JsonObject, version: Version, query: dict[str, str]) -> JsonObject:
        """Store a CRD and return the response. Then reconcile it and the other CRDs of its group."""
        new = drop_empty_values(new)
        if "dryRun" in query:
            return crd_codec.encode(new, version)
        self.revision += 1
        new["metadata"]["resourceVersion"] = str(self.revision)
        self.stored[new["metadata"]["name"]] = new
        answer = json.loads(json.dumps(crd_codec.encode(new, version)))
        for _ in range(2):
            for name, each in self.stored.items():
                if not each["status"]["storedVersions"]:
                    each, _ = crd_codec.decode(each, "v1", False)
                others = [other for other in self.stored.values() if other is not each]
                settled = reconciled_status(each, *others)
                if settled != each["status"]:
                    self.revision += 1
                    each = {**each, "metadata": {**each["metadata"], "resourceVersion": str(self.revision)}}
                self.stored[name] = {**each, "status": settled}
        return dict(answer)

    def _decode(self, body: JsonObject, version: Version, query: dict[str, str]) -> JsonObject:
        if body.get("kind") != KIND or body.get("apiVersion") != f"{GROUP}/{version}":
            raise UnsupportedRequestError("kind")
        how = query.get("fieldValidation", "Warn")
        new, unknown = crd_codec.decode(body, version, how != "Ignore")
        found = [f'unknown field "{path}"' for path in unknown]
        if found and how == "Strict":
            why = f"cannot be handled as a {KIND}: strict decoding error: {', '.join(found)}"
            raise errors.BadRequestError(f'{KIND} in version "{version}" {why}')
        self.warnings += found
        return new


def _parse_body(body: bytes, type_: str) -> JsonObject:
    value = yaml.safe_load(body) if type_ == "application/yaml" else json_codec.decode_literal(body)[0]
    return dict(value)


def _escape_quotes(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
