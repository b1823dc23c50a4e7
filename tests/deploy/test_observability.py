"""The Grafana dashboard and the Prometheus rules use metrics and labels that a server has."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.live import live

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "polykind.json").read_text())
GROUPS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
TARGET_LABELS = {"job", "instance"}
"""Labels that Prometheus adds to every series."""


def dashboard_expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]


def parse(expression: str) -> Any:
    """Parse PromQL, after replacing Grafana's variables."""
    return promql_parser.parse(expression.replace("$__rate_interval", "5m").replace("$job", "j"))


def selectors(node: Any) -> Iterator[tuple[str, set[str]]]:
    """Yield each metric of an expression with the labels that its matchers name, and with those it is grouped by."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node.name or "", {matcher.name for matcher in node.matchers.matchers}
    elif isinstance(node, promql_parser.MatrixSelector):
        yield from selectors(node.vector_selector)
    elif isinstance(node, promql_parser.AggregateExpr):
        grouped = set(node.modifier.labels) if node.modifier is not None else set()
        for name, labels in selectors(node.expr):
            yield name, labels | grouped
    elif isinstance(node, promql_parser.Call):
        for argument in node.args:
            yield from selectors(argument)
    elif isinstance(node, promql_parser.BinaryExpr):
        yield from selectors(node.lhs)
        yield from selectors(node.rhs)
    elif isinstance(node, promql_parser.ParenExpr | promql_parser.UnaryExpr):
        yield from selectors(node.expr)
    else:
        assert isinstance(node, promql_parser.NumberLiteral), type(node)


@pytest.fixture
async def series(tmp_path: Path) -> AsyncIterator[dict[str, set[str]]]:
    """The names of the samples on the page of a server, with their labels.

    A metric without samples has the labels that its declaration names.
    """
    async with live(tmp_path) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        await server.ask("POST", "/api/v1/namespaces/default/configmaps", body)
        await server.until("/api/v1/configmaps", lambda kind, obj: obj["metadata"]["name"] == "a")
        page = (await server.ask("GET", "/metrics")).decode()
        found: dict[str, set[str]] = {}
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        metrics = server.server.metrics
        for declared in (*metrics.counters, *metrics.gauges):
            assert f"# TYPE {declared.name} " in page
            found.setdefault(declared.name, set(declared.labels))
        for histogram, _ in metrics.histograms:
            found.setdefault(f"{histogram.name}_bucket", {"le", *histogram.labels})
        yield found


async def test_every_metric_and_label_exists(series: dict[str, set[str]]) -> None:
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    expressions = [*dashboard_expressions(), *(rule["expr"] for rule in RULES)]
    assert len(expressions) > 40
    for expression in expressions:
        for name, labels in selectors(parse(expression)):
            if name in recorded or name == "up":
                continue
            assert name in series, f"{name} in {expression}"
            assert labels <= series[name] | TARGET_LABELS, f"{labels - series[name]} in {expression}"


def test_a_wrong_metric_or_label_would_be_found() -> None:
    expression = 'sum by (verb) (rate(no_such_total{code="1"}[$__rate_interval])) / (1 + other_total)'
    assert list(selectors(parse(expression))) == [("no_such_total", {"code", "verb"}), ("other_total", set())]
    with pytest.raises(ValueError, match="unclosed"):
        promql_parser.parse("sum(")


def test_alerts_are_complete_and_their_texts_use_labels_they_have() -> None:
    alerts = [rule for rule in RULES if "alert" in rule]
    assert len({alert["alert"] for alert in alerts}) == len(alerts)
    for alert in alerts:
        assert alert["labels"]["severity"] in ("critical", "warning")
        assert set(alert["annotations"]) == {"summary", "action"}
        used = set(re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"]))
        record = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
        expression = alert["expr"]
        for name, definition in record.items():
            expression = expression.replace(name, f"({definition})")
        grouped = [set(labels.split(", ")) for labels in re.findall(r"by \(([^)]*)\)", expression)]
        assert all(used <= labels for labels in grouped) if grouped else used <= TARGET_LABELS, alert["alert"]


def test_the_dashboard_has_unique_panels_that_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
