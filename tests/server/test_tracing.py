"""Traces of requests, received by a gRPC server with OpenTelemetry's own message types."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from polykind.http.messages import Request
from polykind.server.settings import SettingsError
from polykind.server.tracing import RequestSpan, _server_address, read_tracing_config, span_name
from tests.support.hook import Call, Hook, Reply
from tests.support.live import Live, live
from tests.support.server import free_port

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """An OTLP receiver."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self._server = grpc.server(ThreadPoolExecutor(1))
        handler = grpc.unary_unary_rpc_method_handler(
            self._export, ExportTraceServiceRequest.FromString, ExportTraceServiceResponse.SerializeToString
        )
        service = "opentelemetry.proto.collector.trace.v1.TraceService"
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def _export(self, request: ExportTraceServiceRequest, _: object) -> ExportTraceServiceResponse:
        self.requests.append(request)
        return ExportTraceServiceResponse()

    @property
    def spans(self) -> dict[str, Any]:
        """The received spans by their names."""
        return {
            span.name: span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }

    def stop(self) -> None:
        self._server.stop(None)


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.stop()


def configuration(folder: Path, port: int, rate: int) -> Path:
    path = folder / "tracing.yaml"
    path.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
        f"endpoint: 127.0.0.1:{port}\nsamplingRatePerMillion: {rate}\n"
    )
    return path


def attributes(span: Any) -> dict[str, str | int]:
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


async def test_each_request_is_a_span(tmp_path: Path, collector: Collector) -> None:
    path = configuration(tmp_path, collector.port, 1_000_000)
    async with live(tmp_path, tracing_config_file=path) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        server.client.headers = ("X-Forwarded-For: 192.0.2.7, 10.0.0.1",)
        await server.ask("POST", f"{CONFIG_MAPS}?dryRun=All", body)
        await server.ask("GET", f"{CONFIG_MAPS}/none", expect=404)
        await server.until("/api/v1/namespaces", lambda kind, obj: obj["metadata"]["name"] == "default")
    # A stop exports what is left, so there is nothing to wait for.
    spans = collector.spans
    created = spans["POST /api/v1/namespaces/{:namespace}/configmaps"]
    found = attributes(created)
    assert found["http.request.method"] == "POST"
    assert found["url.path"] == CONFIG_MAPS
    assert found["http.target"] == f"{CONFIG_MAPS}?dryRun=All"
    assert found["http.response.status_code"] == 201
    # These are the attributes of kube-apiserver's spans, except for ports: the client's Host header has none.
    assert found.keys() == {
        *("server.address", "client.address", "network.peer.address", "network.protocol.version"),
        *("http.request.method", "http.response.status_code", "http.response.body.size", "http.target"),
        *("url.path", "url.scheme", "user_agent.original", "audit-id"),
    }
    assert found["server.address"] == found["network.peer.address"] == "127.0.0.1"
    assert found["client.address"] == "192.0.2.7"
    assert found["network.protocol.version"] == "1.1"
    assert int(found["http.response.body.size"]) > 100
    assert len(str(found["audit-id"])) == 36
    assert (len(created.trace_id), len(created.span_id), created.parent_span_id) == (16, 8, b"")
    assert created.kind == 2
    assert 0 < created.end_time_unix_nano - created.start_time_unix_nano < 60 * 10**9
    missing = spans["GET /api/v1/namespaces/{:namespace}/configmaps/{:name}"]
    assert (attributes(missing)["http.response.status_code"], missing.status.code) == (404, 0)
    assert "GET /api/v1/namespaces" in spans
    (resource,) = collector.requests[0].resource_spans
    values = attributes(resource.resource)
    assert values["service.name"] == "apiserver"
    assert str(values["service.instance.id"]).startswith("apiserver-")


async def test_a_trusted_client_continues_its_trace(tmp_path: Path, collector: Collector) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("secret,alice,1\n")
    path = configuration(tmp_path, collector.port, 0)
    async with live(tmp_path, tracing_config_file=path, token_auth_file=tokens) as server:
        await server.ask("GET", "/version")
        for token, sampled, target in (
            (server.server.token, "01", CONFIG_MAPS),
            (server.server.token, "00", "/api/v1/nodes"),
            ("secret", "01", "/api/v1/secrets"),
        ):
            async with server.another() as client:
                client.token = token
                client.headers = (f"traceparent: 00-{TRACE}-{SPAN}-{sampled}",)
                await client.call("GET", target)
    # Only the sampled request of the admin: the rate is 0, and other users cannot force a trace.
    (span,) = collector.spans.values()
    assert span.name == "GET /api/v1/namespaces/{:namespace}/configmaps"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN)


def allow(call: Call) -> Reply:
    response = {"uid": call.review["request"]["uid"], "allowed": True}
    return Reply(json.dumps({**call.review, "response": response}).encode())


async def test_webhooks_receive_the_trace(tmp_path: Path, collector: Collector) -> None:
    path = configuration(tmp_path, collector.port, 1_000_000)
    async with Hook(behaviour=allow) as hook, live(tmp_path, tracing_config_file=path) as server:
        webhook = {
            "name": "trace.example.com",
            "clientConfig": {"url": hook.url, "caBundle": hook.bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        await server.ask(
            "POST",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "trace"},
                "webhooks": [webhook],
            },
        )
        await server.ask("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    span = collector.spans["POST /api/v1/namespaces/{:namespace}/configmaps"]
    (call,) = hook.calls
    headers = {name.lower(): value for name, value in call.headers.items()}
    assert headers["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"


async def test_spans_are_dropped_if_the_collector_is_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = configuration(tmp_path, free_port(), 1_000_000)
    async with live(tmp_path, tracing_config_file=path) as server:
        for _ in range(600):
            await server.ask("GET", CONFIG_MAPS)
        async with asyncio.timeout(30):
            while 'polykind_trace_spans_total{result="dropped"} 0.0' in (await page(server)):
                await asyncio.sleep(0.05)
    assert caplog.text.count("tracing: cannot export spans") == 1


async def page(server: Live) -> str:
    content: bytes = await server.ask("GET", "/metrics")
    return content.decode()


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/version", "GET"),
        ("GET", "/apis/apps/v1", "GET"),
        ("GET", "/api/v1/nodes", "GET /api/v1/nodes"),
        ("PUT", "/api/v1/nodes/a/status", "PUT /api/v1/nodes/{:name}/status"),
        ("GET", "/api/v1/namespaces/a", "GET /api/v1/namespaces/{:namespace}/namespaces/{:name}"),
        (
            "PUT",
            "/api/v1/namespaces/a/finalize",
            "PUT /api/v1/namespaces/{:namespace}/namespaces/{:name}/finalize",
        ),
        (
            "PATCH",
            "/apis/example.com/v1/namespaces/a/crontabs/b/scale",
            "PATCH /apis/example.com/v1/namespaces/{:namespace}/crontabs/{:name}/scale",
        ),
        ("GET", "/api/v1/watch/namespaces/a/pods", "GET /api/v1/namespaces/{:namespace}/pods"),
    ],
)
def test_names_are_those_of_kube_apiserver(method: str, path: str, name: str) -> None:
    assert span_name(method, path) == name


def test_the_sampling_rate_holds_for_requests_without_a_trace() -> None:
    request = Request("GET", "/", "", {}, b"")
    sampled = sum(RequestSpan(request, 200_000).sampled for _ in range(5000))
    assert 800 < sampled < 1200


@pytest.mark.parametrize("header", ["", "00-0-0-01", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", "é" * 55])
def test_an_invalid_traceparent_is_ignored(header: str) -> None:
    span = RequestSpan(Request("GET", "/", "", {b"traceparent": header.encode("latin-1")}, b""), 0)
    assert span.link is None
    assert not span.sampled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("samplingRatePerMillion: -1", "Invalid value: -1: sampling rate must be positive"),
        ("samplingRatePerMillion: 1000001", "sampling rate per million must be less than or equal to one million"),
        ("endpoint: unix:///run/otel", "endpoint unix:///run/otel is not supported; use HOST:PORT"),
        ("endpoint: http://a:1", "endpoint http://a:1 is not supported"),
        ("endpoint: a:many", "endpoint a:many is not supported"),
        ("rate: 1", 'unknown field "rate"'),
    ],
)
def test_an_invalid_configuration_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tracing.yaml"
    path.write_text(f"apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n{text}\n")
    with pytest.raises(SettingsError) as error:
        read_tracing_config(path)
    assert message in str(error.value)


def test_endpoints_have_defaults(tmp_path: Path) -> None:
    path = tmp_path / "tracing.yaml"
    text = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
    path.write_text(text)
    assert read_tracing_config(path) == ("localhost", 4317, 0)
    path.write_text(text + "endpoint: dns:///collector\n")
    assert read_tracing_config(path) == ("collector", 4317, 0)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a.example:8443", ("a.example", 8443)),
        ("[::1]:1", ("::1", 1)),
        ("a", ("a", 0)),
        ("a:x", ("", 0)),
        ("", ("", 0)),
    ],
)
def test_the_address_of_the_server_is_that_of_the_host_header(host: str, expected: tuple[str, int]) -> None:
    assert _server_address(host) == expected
