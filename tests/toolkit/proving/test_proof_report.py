from __future__ import annotations

import functools
import re
from textwrap import dedent
from typing import Any

from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.object_diff import MISSING, Difference
from polykind.toolkit.proving.proof_json import to_json
from polykind.toolkit.proving.proof_outcome import collect
from polykind.toolkit.reporting.terminal import plain_table
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run

PAIR = ("v2", "v1")


def failure_of(converter: Any, name: str, rerun: str = "") -> str:
    run = proof_run(converter)
    found = run.finding(name, PAIR)
    assert found is not None
    return re.sub(r"\(\S*?(\w+\.py):\d+\)", r"(\1:N)", proof_report.failure(run, PAIR, found, rerun))


def expected(text: str) -> str:
    return dedent(text).strip("\n")


def test_failure_shows_smallest_object_differences_path_and_advice() -> None:
    converter = conversions(c.bare_down)
    assert failure_of(converter, "there-and-back", "polykind prove") == expected("""
        there-and-back, v2 to v1: what came back from v1 is not the v2 object that was sent

          the smallest object found that shows it:
            apiVersion: stable.example.com/v2
            kind: CronTab
            metadata:
              name: a
              namespace: a
            spec:
              timeZone: a
              replicas: 1

          what differs:
            spec.timeZone  dropped  was "a"

          conversion path:
            v2 to v1  bare_down (converters.py:N)
            v1 to v2  up (converters.py:N)

          Stash the value with put() and take(), or acknowledge the loss: loses={"spec.timeZone": "why"}.
          Run again: polykind prove
        """)


def test_failure_shows_the_edit() -> None:
    assert failure_of(c.stale_stash(), "edit-survives") == expected("""
        edit-survives, v2 to v1: the object written at v1 is not the object read at v1 afterwards

          the smallest object found that shows it:
            apiVersion: stable.example.com/v2
            kind: CronTab
            metadata:
              name: a
              namespace: a
            spec:
              replicas: 1

          edited at v1:
            spec.host  set  "a"

          what differs:
            spec.host  dropped  was "a"

          conversion path:
            v2 to v1  keep (converters.py:N)
            v1 to v2  restore (converters.py:N)

          Restore a stashed value only if its field was not edited: put(..., beside=["spec.x"]).
        """)


def test_failure_shows_where_the_converter_raised() -> None:
    text = failure_of(conversions(c.after(c.needs_spec, c.down)), "partial-object")
    assert text.startswith("partial-object, v2 to v1: nothing but metadata: KeyError: 'spec'\n\n  raised at ")
    assert re.search(r"raised at \S*converters\.py:\d+, in needs_spec\n", text)
    assert 'Use obj.get("spec"), because server-side apply converts partial objects.' in text


def test_table_has_a_row_per_property_and_a_column_per_pair() -> None:
    run = proof_run(conversions(c.bare_down), properties=["there-and-back", "back-and-there", "deterministic"])
    assert "\n".join(plain_table(proof_report.table(run, run.pairs))) == expected("""
                        v2 to v1  v1 to v2
        there-and-back  FAILED    .
        back-and-there  .         ok
        deterministic   ok        ok
        """)


def test_loss_table_shows_reasons_and_examples() -> None:
    run = proof_run(conversions(c.bare_down, loses={"spec.timeZone": "UTC only"}), examples=30)
    run.result(PAIR)
    lines = [
        re.sub(r"\d+ times|e\.g\. .*", "N", line) for line in plain_table(proof_report.loss_table(run.losses.matrix()))
    ]
    assert [re.sub(" +", " ", line) for line in lines] == [
        "v2 to v1 spec.hosts dropped N NOT ACKNOWLEDGED N",
        "v2 to v1 spec.hosts[*] dropped N NOT ACKNOWLEDGED N",
        "v2 to v1 spec.timeZone dropped N acknowledged: UTC only",
    ]


def test_stale_acknowledgement_names_its_function() -> None:
    run = proof_run(conversions(loses={"spec.timeZone": "UTC only"}))
    run.result(PAIR)
    (remark,) = proof_report.stale_acknowledgements(run)
    assert re.fullmatch(
        r"the step from v2 to v1, down \(\S*converters\.py:\d+\), "
        r"acknowledges that it loses spec\.timeZone \(UTC only\), but the field was never lost: remove it from loses=",
        remark.message,
    )
    assert remark.position is not None
    assert remark.position.file.endswith("converters.py")


def test_many_and_long_differences_are_truncated() -> None:
    many = [Difference(("spec", f"f{n}"), "x" * 100, MISSING) for n in range(20)]
    lines = proof_report.format_differences(many).splitlines()
    assert len(lines) == 13
    assert lines[-1] == "and 8 more"
    assert lines[0].endswith("xxx...")
    assert proof_report.format_differences([Difference(("a",), 1, [2])]) == "a  changed  1 -> [2]"


def test_function_location_unwraps_wrappers_and_partials() -> None:
    assert proof_report.function_location(functools.partial(c.up)).startswith("up (")
    assert proof_report.function_location(functools.wraps(c.up)(lambda obj: None)).startswith("up (")


def test_json_report_is_complete() -> None:
    run = proof_run(
        conversions(c.bare_down, loses={"spec.timeZone": "UTC only"}), examples=30, properties=["there-and-back"]
    )
    out = to_json(collect(run, [PAIR]))
    (result,) = out["results"]
    assert (result["property"], result["from"], result["to"], result["ok"]) == ("there-and-back", "v2", "v1", False)
    assert result["object"]["spec"] == {"hosts": [], "replicas": 1}
    assert result["differences"] == [{"path": "spec.hosts", "kind": "dropped", "before": []}]
    assert {loss["path"]: loss["acknowledged"] for loss in out["losses"]} == {
        "spec.hosts": None,
        "spec.hosts[*]": None,
        "spec.timeZone": "UTC only",
    }
    assert (out["seed"], out["examples"], out["stale"], out["health"]) == (0, {"v2:v1": 30}, [], [])
    assert (out["ok"], out["interrupted"], out["tested"], out["remarks"]) == (False, False, 30, [])
    assert result["converted"]["apiVersion"] == "stable.example.com/v1"
    assert "hosts" not in result["returned"]["spec"]
    assert [place.split(":")[0].endswith("converters.py") for place in result["positions"]] == [True, True]
    assert out["coverage"]["v2:v1"]["spec.timeZone"]["distinct"] > 1
