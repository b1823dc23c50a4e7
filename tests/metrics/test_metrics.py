"""Metrics and their scrape page."""

from __future__ import annotations

import time
from types import SimpleNamespace

from prometheus_client.parser import text_string_to_metric_families

from polykind.metrics.metrics import Metrics


async def _samples(metrics: Metrics) -> dict[str, float]:
    page = (await metrics.render()).decode()
    return {
        f"{s.name}{sorted(s.labels.items())}": s.value
        for family in text_string_to_metric_families(page)
        for s in family.samples
    }


async def test_requests_are_counted_under_the_names_of_kube_apiserver() -> None:
    metrics = Metrics()
    series = metrics.request("LIST", "example.com", "v1", "crontabs", scope="namespace")
    series.done(200, 0.03, 2500)
    series.done(200, 7.0, 100)
    series.done(500, 0.001, 10)
    page = (await metrics.render()).decode()
    assert "# TYPE apiserver_request_total counter" in page
    counts = [line for line in page.splitlines() if line.startswith("apiserver_request_total{")]
    assert len(counts) == 2
    assert any('code="200"' in line and 'dry_run=""' in line and line.endswith(" 2.0") for line in counts)
    samples = await _samples(metrics)
    seconds = {k: v for k, v in samples.items() if k.startswith("apiserver_request_duration_seconds_bucket")}
    by_bound = {k.split("'le', '")[1].split("'")[0]: v for k, v in seconds.items()}
    assert (by_bound["0.005"], by_bound["0.05"], by_bound["6"], by_bound["8"], by_bound["+Inf"]) == (1, 2, 2, 3, 3)
    assert 'le="1000"' in page


async def test_two_servers_in_one_process_have_separate_metrics() -> None:
    one, two = Metrics(), Metrics()
    one.watch_events.of("g", "v1", "r").add()
    assert await _samples(one) != await _samples(two)


async def test_conversions_are_counted_by_crd_converter_and_cause() -> None:
    metrics = Metrics()
    timeout = SimpleNamespace(kind="conversion_webhook_call_failure", cause="Timeout", timed_out=True)
    metrics.converter_called("crd", 5, 0.01, None)
    metrics.converter_called("crd", 1, 30.0, timeout)
    metrics.objects_converted("crd", "https://c/", "v1", "v2", 0.02, None)
    metrics.objects_converted("crd", "https://c/", "v1", "v2", 30.0, timeout)
    metrics.conversion_request_seconds.of().observe(30.02)
    page = (await metrics.render()).decode()
    for line in (
        'apiserver_conversion_webhook_request_total{failure_type="",result="success"} 1.0',
        '{failure_type="conversion_webhook_call_failure",result="failure"} 1.0',
        'polykind_conversion_objects_total{crd="crd"} 6.0',
        'polykind_conversion_failures_total{cause="Timeout",converter="https://c/",crd="crd"} 1.0',
        'polykind_conversion_timeouts_total{converter="https://c/",crd="crd"} 1.0',
        "polykind_conversion_request_duration_seconds_sum 30.02",
    ):
        assert line in page
    assert 'le="0.064",succeeded="true",to_version="v2"' in page


async def test_forget_crd_drops_its_series() -> None:
    metrics = Metrics()
    failure = SimpleNamespace(kind="k", cause="TLS", timed_out=True)
    for crd in ("gone", "stays"):
        metrics.converter_called(crd, 1, 0.1, None)
        metrics.objects_converted(crd, "c", "v1", "v2", 0.1, failure)
    metrics.forget_crd("gone")
    page = (await metrics.render()).decode()
    assert '"gone"' not in page
    assert '"stays"' in page


def test_recording_a_request_takes_about_a_microsecond() -> None:
    series = Metrics().request("GET", "example.com", "v1", "crontabs")
    best = 1.0
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(2000):
            series.done(200, 0.003, 1500)
        best = min(best, (time.perf_counter() - started) / 2000)
    assert best < 5e-6


async def test_forget_resource_drops_its_stored_object_series() -> None:
    metrics = Metrics()
    for plural in ("foos", "bars"):
        metrics.stored_objects.of("g", plural, "v1").set(3)
        metrics.migration_objects.of("g", plural, "migrated").add()
    metrics.forget_resource("g", "foos")
    text = (await metrics.render()).decode()
    assert 'resource="foos"' not in text
    assert 'polykind_stored_objects{group="g",resource="bars",version="v1"} 3.0' in text


def test_oldest_series_of_webhooks_are_dropped() -> None:
    metrics = Metrics()
    for number in range(1_500):
        metrics.webhook_called(f"w{number}", "validating", "CREATE", 0.1, 200, rejected=False)
    expected = [f"w{number}" for number in range(500, 1_500)]
    assert [values[0] for values, _ in metrics.admission_seconds.items()] == expected
    assert [values[0] for values, _ in metrics.admission_requests.items()] == expected
