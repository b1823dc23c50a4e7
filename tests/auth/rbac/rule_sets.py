"""Sets of roles and bindings, and the rules that users have by them.

`python -m tests.auth.rbac.rule_sets URL TOKEN` records the answers of kube-apiserver. TOKEN is an administrator's.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.client import Client

RECORDED = Path(__file__).with_name("recorded_rules.json")
SETS = 36
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_API = "rbac.authorization.k8s.io"
Object = dict[str, Any]


def _rule(chance: random.Random) -> Object:
    verbs = chance.sample(["get", "list", "watch", "create", "update", "patch", "delete", "impersonate"], 3)
    rule: Object = {
        "verbs": ["*"] if chance.random() < 0.2 else sorted(verbs),
        "apiGroups": chance.sample(["", "apps", "example.com", "*"], chance.randint(1, 2)),
        "resources": chance.sample(["pods", "pods/log", "crontabs", "crontabs/status", "*", "*/scale", "secrets"], 2),
    }
    if chance.random() < 0.3:
        rule["resourceNames"] = chance.sample(["one", "two", "three"], chance.randint(1, 2))
    return rule


def _path_rule(chance: random.Random) -> Object:
    urls = chance.sample(["/healthz", "/metrics*", "/apis/*", "*"], chance.randint(1, 2))
    return {"verbs": chance.choice([["get"], ["*"], ["get", "post"]]), "nonResourceURLs": urls}


def _subjects(chance: random.Random, number: int) -> list[Object]:
    subjects = [
        {"kind": "User", "name": f"user-{number}", "apiGroup": _API},
        {"kind": "Group", "name": f"group-{number}", "apiGroup": _API},
        {"kind": "ServiceAccount", "name": "robot", "namespace": f"a-{number}"},
    ]
    return chance.sample(subjects, chance.randint(1, 3))


def objects(number: int) -> Iterator[tuple[str, Object]]:
    """Return the objects of one set, each with the path to post it to."""
    chance = random.Random(number)
    namespaces = [f"a-{number}", f"b-{number}"]
    cluster_roles, roles = [f"c{number}-{n}" for n in range(3)], {name: ["r0", "r1"] for name in namespaces}
    for namespace in namespaces:
        yield "/api/v1/namespaces", {"metadata": {"name": namespace}}
        for name in roles[namespace]:
            rules = [_rule(chance) for _ in range(chance.randint(0, 3))]
            yield f"{RBAC}/namespaces/{namespace}/roles", {"metadata": {"name": name}, "rules": rules}
    aggregated: list[Object] = []
    for name in cluster_roles:
        rules = [_rule(chance) for _ in range(chance.randint(1, 2))] + [_path_rule(chance)][: chance.randint(0, 1)]
        aggregated += [rule for rule in rules if rule not in aggregated]
        yield f"{RBAC}/clusterroles", {"metadata": {"name": name, "labels": {"set": str(number)}}, "rules": rules}
    # kube-apiserver alone does not aggregate roles, so the rules are those that its controller would write.
    selector = {"clusterRoleSelectors": [{"matchLabels": {"set": str(number)}}]}
    whole = {"metadata": {"name": f"all{number}"}, "aggregationRule": selector, "rules": aggregated}
    yield f"{RBAC}/clusterroles", whole
    kinds = [*((namespace, "Role") for namespace in namespaces), *((one, "ClusterRole") for one in (*namespaces, ""))]
    for index, (namespace, kind) in enumerate(chance.sample(kinds, chance.randint(2, 4))):
        name = chance.choice(roles[namespace] if kind == "Role" else [*cluster_roles, f"all{number}"])
        if chance.random() < 0.1:
            name = "missing"
        binding: Object = {
            "metadata": {"name": f"b{number}-{index}"},
            "roleRef": {"apiGroup": _API, "kind": kind, "name": name},
            "subjects": _subjects(chance, number),
        }
        path = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
        yield path, binding


def users(number: int) -> dict[str, tuple[str, ...]]:
    """Return the headers that impersonate each user of a set."""
    return {
        "user": (f"Impersonate-User: user-{number}",),
        "member": ("Impersonate-User: someone", f"Impersonate-Group: group-{number}"),
        "robot": (f"Impersonate-User: system:serviceaccount:a-{number}:robot",),
    }


async def create_all(client: Client) -> None:
    for number in range(SETS):
        for path, obj in objects(number):
            reply = await client.call("POST", path, obj)
            assert reply.status == 201, reply.body


async def ask_all(client: Client) -> dict[str, Object]:
    """Return the status of a SelfSubjectRulesReview for each user of each set in each namespace.

    Rules that every user has are only in the status of `nobody`.
    """
    found = {"nobody": await _ask(client, ("Impersonate-User: nobody",), "default")}
    common = [rule for key in ("resourceRules", "nonResourceRules") for rule in found["nobody"][key]]
    for number in range(SETS):
        for name, headers in users(number).items():
            for namespace in (f"a-{number}", f"b-{number}"):
                status = await _ask(client, headers, namespace)
                for key in ("resourceRules", "nonResourceRules"):
                    status[key] = [rule for rule in status[key] if rule not in common]
                found[f"{name} of set {number} in {namespace}"] = status
    return found


async def _ask(client: Client, headers: tuple[str, ...], namespace: str) -> Object:
    client.headers = headers
    review = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    reply = await client.call("POST", path, {**review, "spec": {"namespace": namespace}})
    assert reply.status == 201, reply.body
    return _sorted(reply.json()["status"])


def _sorted(status: Object) -> Object:
    """Return a status with sorted rules, because kube-apiserver reads bindings in no particular order."""
    for key in ("resourceRules", "nonResourceRules"):
        status[key] = sorted(status[key], key=lambda rule: json.dumps(rule, sort_keys=True))
    if error := status.get("evaluationError", ""):
        status["evaluationError"] = _sorted_errors(error)
    return status


def _sorted_errors(text: str) -> str:
    return ", ".join(sorted(text.strip("[]").split(", ")))


async def _record(url: str, token: str) -> None:
    async with Client(url, token) as client:
        await create_all(client)
        await asyncio.sleep(3)
        lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in (await ask_all(client)).items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    asyncio.run(_record(*sys.argv[1:3]))
