"""A scenario: a short conversation with an API server, in an API group of its own."""

from __future__ import annotations

import json
import re
import secrets
import time
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.client import Server, Watch
from tests.conformance.converter import Converter
from tests.conformance.normal import Normal, Step, at, drop, pick, sort_list, unordered
from tests.conformance.protobuf_tree import MEDIA_TYPE, parse_body, wrap

VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
HEADERS = ("content-type", "warning")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Scenario:
    """A scenario. `run` executes the steps and returns one normalized response for each step that has one."""

    def __init__(self, path: Path, server: Server, *, settle: float = 0.0) -> None:
        self.path, self.server, self.settle = path, server, settle
        self.spec: dict[str, Any] = yaml.safe_load(path.read_text())
        self.recording = path.with_suffix(".recorded.json")
        self.area = path.parent.name
        self.name = f"{self.area}/{path.stem}"
        own = re.sub(r"[^a-z0-9-]", "-", f"{path.stem}.{self.area}".lower()).replace("--", "-")
        self.namespace = f"conform-{secrets.token_hex(4)}" if self.spec.get("namespace") else ""
        self.alone = bool(self.spec.get("alone"))
        """True if the scenario changes what other scenarios see, so that it must run by itself."""
        self.group: str = self.spec.get("group") or f"{own}.example.com"
        self.saved: dict[str, Any] = {}
        self.watches: dict[str, Watch] = {}
        self.last: Any = None

    def fill(self, value: Any) -> Any:
        """Replace every {{name}} in `value` by the value that was saved under this name."""
        if isinstance(value, str):
            whole = re.fullmatch(r"\{\{(\w+)\}\}", value)
            if whole and whole[1] in self.saved:
                return self.saved[whole[1]]
            value = re.sub(r"\{\{x(\d+)\}\}", lambda m: "x" * int(m[1]), value)
            return re.sub(r"\{\{(\w+)\}\}", lambda m: str(self.saved[m[1]]), value)
        if isinstance(value, dict):
            return {self.fill(k): self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        return value

    def crds(self) -> list[str]:
        answer = self.server.call("GET", CRDS)
        items = json.loads(answer.body).get("items", []) if answer.status == 200 else []
        owners = {i["metadata"]["name"]: i["spec"]["group"] for i in items}
        return [name for name, group in owners.items() if group == self.group or group.endswith("." + self.group)]

    def clean(self) -> None:
        names = self.crds()
        for name in names:
            self.server.call("DELETE", f"{CRDS}/{name}")
        deadline = time.monotonic() + 15
        while names and time.monotonic() < deadline:
            names = self.crds()
            time.sleep(0.05)
        for path in self.spec.get("cleanup", []):
            self.server.call("DELETE", self.fill(path))

    def run(self) -> list[dict[str, Any]]:
        self.converter = Converter()
        self.normal = Normal(self.converter.url, self.converter.port, self.converter.ca, self.namespace)
        self.saved = {"group": self.group, "webhook": self.converter.url, "caBundle": self.converter.ca}
        self.saved |= {"ns": self.namespace or "default", "token": self.server.token}
        self.saved |= self.fill(self.spec.get("vars", {}))
        self.watches, self.last = {}, None
        self.behave(self.spec.get("webhook", "noop"))
        self.clean()
        if self.namespace:
            self.create_namespace()
        answers = []
        try:
            for number, step in enumerate(self.spec["steps"]):
                answer = self.take(step)
                self.save(step)
                for dotted in step.get("ignore", []):
                    drop(answer, dotted)
                if answer is not None and not step.get("unchecked"):
                    answers.append({"step": number, "what": title(step)} | answer)
        finally:
            self.converter.behave("noop")
            self.clean()
            if self.namespace:
                self.server.call("DELETE", f"/api/v1/namespaces/{self.namespace}")
            self.converter.close()
        return answers

    def create_namespace(self) -> None:
        """Create the scenario's own namespace. Its `namespace` may be the labels of it."""
        labels = self.spec["namespace"] if isinstance(self.spec["namespace"], dict) else {}
        body = {"metadata": {"name": self.namespace, "labels": labels}}
        self.server.call("POST", "/api/v1/namespaces", json.dumps(body).encode())

    def take(self, step: Step) -> dict[str, Any] | None:
        verb = next((v for v in VERBS if v in step), None)
        if verb:
            return self.request(verb, step)
        if "until" in step:
            self.until(step)
        elif "watch" in step:
            return self.watch(step)
        elif "events" in step:
            return self.events(step)
        elif "webhook" in step:
            self.behave(step["webhook"])
            self.converter.take()
        elif "reviews" in step:
            reviews = self.normal.value(self.converter.take(), step)
            return {"reviews": review_summary(reviews, step["reviews"])}
        elif "same" in step:
            return {"same": len({json.dumps(self.saved[name]) for name in step["same"]}) == 1}
        elif "sleep" in step:
            time.sleep(step["sleep"])
        else:
            raise SystemExit(f"{self.path}: not a step: {step}")
        return None

    def behave(self, behaviour: str | dict[str, Any]) -> None:
        self.converter.behave(**(behaviour if isinstance(behaviour, dict) else {"mode": behaviour}))

    def request(self, verb: str, step: Step) -> dict[str, Any]:
        headers = {"Accept": step["accept"]} if "accept" in step else {}
        if "type" in step:
            headers["Content-Type"] = step["type"]
        headers |= step.get("headers", {})
        body: bytes | None = None
        if "raw" in step:
            body = self.fill(step["raw"]).encode()
        elif step.get("body") is not None:
            body = json.dumps(self.fill(step["body"])).encode()
        elif "proto" in step:
            body = wrap(self.fill(step["proto"]))
            headers.setdefault("Content-Type", MEDIA_TYPE)
        got = self.server.call(verb, self.fill(step[verb]), body, headers)
        text = got.body.decode(errors="replace")
        try:
            self.last = parse_body(got.body)
        except ValueError:
            self.last = text
        answer = {
            "status": got.status,
            "body": self.normal.raw(text) if step.get("text") else self.normal.value(self.last, step),
            "headers": {h: self.normal.text(got.headers[h]) for h in HEADERS if h in got.headers},
        }
        for dotted, test in step.get("pick", {}).items():
            pick(answer, dotted, self.fill(test))
        for dotted in step.get("sorted", []):
            sort_list(answer, dotted)
        if step.get("unordered"):
            unordered(answer["body"])
        if "only" in step:
            answer["body"] = {dotted: at(answer["body"], dotted) for dotted in step["only"]}
        return answer

    def until(self, step: Step) -> None:
        """Poll a GET until it returns 200 and contains the text in `has`, if given. Polls are never recorded."""
        deadline = time.monotonic() + step.get("seconds", 10)
        headers = ({"Accept": step["accept"]} if "accept" in step else {}) | step.get("headers", {})
        has, lacks = self.fill(step.get("has", "")), self.fill(step.get("lacks", ""))
        while time.monotonic() < deadline:
            got = self.server.call("GET", self.fill(step["until"]), headers=headers)
            text = got.body.decode(errors="replace")
            if got.status == step.get("status", 200) and has in text and not (lacks and lacks in text):
                time.sleep(self.settle)
                return
            time.sleep(0.02)

    def watch(self, step: Step) -> dict[str, Any]:
        self.watches[step["as"]] = watch = Watch(self.server, self.fill(step["watch"]), step.get("headers", {}))
        watch.wait_open(3)
        answer: dict[str, Any] = {"status": watch.status}
        if watch.status != 200:
            watch.wait_end(3)
            answer["body"] = self.normal.value(watch.body, step)
        return answer

    def events(self, step: Step) -> dict[str, Any]:
        watch, seconds = self.watches[step["events"]], step.get("seconds", 5)
        self.last = watch.take(step.get("count", 1), seconds)
        answer: dict[str, Any] = {"events": self.normal.value(self.last, step)}
        if step.get("ended"):
            answer["ended"] = watch.wait_end(seconds)
        return answer

    def save(self, step: Step) -> None:
        for name, source in step.get("save", {}).items():
            value = self.last
            for part in source.split("."):
                value = value[int(part)] if isinstance(value, list) else value[part]
            self.saved[name] = value


def review_summary(reviews: list[dict[str, Any]], how: str) -> Any:
    """Summarize the received reviews.

    any: whether there was a call; full: every review; otherwise objects per version, regardless of batches.
    """
    if how == "any":
        return bool(reviews)
    if how == "full":
        return reviews
    conversions = {
        f"{obj['metadata'].get('name')}: {obj['apiVersion']} -> {review['desiredAPIVersion']}"
        for review in reviews
        for obj in review.get("objects", ())
    }
    return sorted(conversions | {_admitted(review) for review in reviews if "request" in review})


def _admitted(review: dict[str, Any]) -> str:
    """Describe an admission review: the webhook's path, the operation, the resource and the object's name."""
    request = review["request"]
    subresource = f"/{request['subResource']}" if request.get("subResource") else ""
    resource = request["resource"]["resource"] + subresource
    return f"{review['path']}: {request['operation']} {resource} {request.get('name', '')}"


def title(step: Step) -> str:
    return next(f"{k} {step[k]}" for k in (*VERBS, "watch", "events", "reviews", "same") if k in step)
