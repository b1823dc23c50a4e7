from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml

from polykind.declare.library import Library
from polykind.toolkit.crd_versions import read_crd
from polykind.toolkit.proving.proof_outcome import collect
from polykind.toolkit.proving.proof_terminal import print_outcome
from polykind.toolkit.proving.proofs import PROPERTIES, failure_report, objects, proofs
from polykind.toolkit.reporting.terminal import open_console
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run

test_crontabs = proofs(c.manifest(), conversions(), examples=20)
test_acknowledged = proofs(
    c.CRONTAB_CRD,
    conversions(c.bare_down, loses={"spec.timeZone": "UTC only", "spec.hosts": "one only"}),
    examples=40,
    without=["output-validates"],
)

pytest_plugins = ["pytester"]


def written(pytester: pytest.Pytester, test: str) -> None:
    """Create a user's project: a CRD, conversions, and a test of two lines."""
    pytester.mkdir("crds")
    Path(pytester.path, "crds", "crontabs.yaml").write_text(yaml.safe_dump(c.manifest()))
    pytester.makepyfile(
        conversions="""
        from polykind.convert import Conversions
        crontabs = Conversions("CronTab.stable.example.com")

        @crontabs.step("v2", "v1")
        def down(obj):
            spec = obj.get("spec", {})
            spec.pop("timeZone", None)
            if "schedule" in spec:
                spec["cronSpec"] = spec.pop("schedule")
            if "hosts" in spec:
                spec["host"] = ",".join(spec.pop("hosts"))

        @crontabs.step("v1", "v2")
        def up(obj):
            spec = obj.get("spec", {})
            if "cronSpec" in spec:
                spec["schedule"] = spec.pop("cronSpec")
            if "host" in spec:
                spec["hosts"] = spec.pop("host").split(",")
        """
    )
    pytester.makepyfile(test)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    options = ("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function", "-W", "error")
    return pytester.runpytest_subprocess(*options, *arguments)


def test_proofs_in_a_user_project(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        """
        from conversions import crontabs
        from polykind.toolkit.proving.proofs import proofs
        test_crontabs = proofs("crds/crontabs.yaml", crontabs)
        """,
    )
    result = run(pytester)
    result.assert_outcomes(passed=25, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_crontabs?there-and-back-v2-v1?*",
            "there-and-back, v2 to v1: what came back from v1 is not the v2 object that was sent",
            "    v2 to v1  down (conversions.py:4)",
            "  Run again: pytest *test_crontabs?there-and-back-v2-v1?*, with seed=0",
        ]
    )
    assert not Path(pytester.path, ".hypothesis").exists()
    again = run(pytester, "-k", "there-and-back", "--tb=short")
    again.assert_outcomes(failed=1, deselected=25)


def test_stale_acknowledgement_fails_the_test(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        """
        from conversions import crontabs, down
        from polykind.toolkit.proving.proofs import proofs
        crontabs.steps["v2", "v1"].loses["spec.replicas"] = "nobody knows"
        test_crontabs = proofs("crds/crontabs.yaml", crontabs, without=["there-and-back"])
        """,
    )
    result = run(pytester)
    result.assert_outcomes(passed=25, failed=1)
    result.stdout.fnmatch_lines(["*test_crontabs?acknowledged-losses?*", "*loses spec.replicas (nobody knows), but*"])


def test_cases_combine_each_property_with_each_pair() -> None:
    (mark,) = test_crontabs.pytestmark  # type: ignore[attr-defined]
    names = [parameters.id for parameters in mark.args[1]]
    assert names[:3] == ["never-fails-v2-v1", "there-and-back-v2-v1", "edit-survives-v2-v1"]
    assert len(names) == 2 * (len(PROPERTIES) - 2), "paths-agree needs three versions"
    (mark,) = test_acknowledged.pytestmark  # type: ignore[attr-defined]
    names = [parameters.id for parameters in mark.args[1]]
    assert names[-1] == "acknowledged-losses"
    assert not [name for name in names if name.startswith("output-validates")]


def test_unknown_property_cannot_be_excluded() -> None:
    with pytest.raises(
        ValueError, match="there is no property there-and-there: the properties are never-fails, there-and-back,"
    ):
        proofs(c.CRONTAB_CRD, conversions(), without=["there-and-there"])


def test_read_crd_requires_one_crd_of_a_converted_kind(tmp_path: Path) -> None:
    file, library = tmp_path / "crd.yaml", Library("mine", conversions())
    with pytest.raises(ValueError, match=r"crd\.yaml: No such file"):
        read_crd(file, library)
    file.write_text("kind: Pod\n")
    with pytest.raises(ValueError, match=r"crd\.yaml: the file has no CustomResourceDefinition"):
        read_crd(file, library)
    other = c.manifest()
    other["metadata"]["name"], other["spec"]["names"] = "pods.stable.example.com", {"plural": "pods", "kind": "Pod"}
    file.write_text(yaml.safe_dump(other))
    with pytest.raises(ValueError, match=r"defines Pod\.stable\.example\.com, and mine converts none of them"):
        read_crd(file, library)
    file.write_text(yaml.safe_dump_all([other, c.manifest()]))
    assert read_crd(file, library).kind == c.KIND
    with pytest.raises(ValueError, match=r"defines Pod\.stable.*, CronTab\.stable.*, and all converts several of them"):
        read_crd(file, Library("all", lambda obj, to: obj))


def test_objects_rejects_unknown_version() -> None:
    with pytest.raises(ValueError, match=r"crontabs\.stable\.example\.com has no version v9: it has v1, v2"):
        objects(c.CRONTAB_CRD, "v9")


def test_objects_without_hypothesis_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "polykind.toolkit.proving.hypothesis_strategy", raising=False)
    monkeypatch.delattr("polykind.toolkit.proving.hypothesis_strategy", raising=False)
    with pytest.raises(ImportError, match=r"objects\(\) needs Hypothesis: pip install 'polykind\[test\]'"):
        objects(c.CRONTAB_CRD, "v1")


def test_failure_in_pytest_is_the_text_of_the_command_line() -> None:
    run = proof_run(conversions(c.bare_down), examples=20, properties=["there-and-back"])
    shown = failure_report(run, "there-and-back", ("v2", "v1"))
    out = io.StringIO()
    print_outcome(open_console("never", out), collect(run, run.pairs))
    assert shown.partition("\n  Run again: ")[0] in out.getvalue()
    assert "Run again: pytest " in shown
