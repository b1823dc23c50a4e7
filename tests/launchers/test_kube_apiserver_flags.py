"""kube-apiserver's flags: their syntax, and what `polykind serve` gets."""

from __future__ import annotations

import argparse

import pytest

from polykind.cli.serve import add_serve_flags
from polykind.launchers.kube_apiserver import main
from polykind.launchers.kube_apiserver_flags import (
    BOOLEANS,
    POLYKIND,
    SERVED,
    WITHOUT_EFFECT,
    FlagError,
    help_text,
    parse_flags,
    serve_arguments,
)


def translated(*arguments: str) -> tuple[list[str], list[str]]:
    """Return the arguments for `polykind serve` after the launcher's defaults, and the remarks."""
    found = serve_arguments(parse_flags(arguments), ["KnownGate"])
    # Without flags, --ephemeral follows the defaults.
    defaults = serve_arguments([], []).arguments[:-1]
    assert found.arguments[: len(defaults)] == defaults
    return found.arguments[len(defaults) :], found.remarks


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        (["--secure-port", "1"], [("secure-port", "1")]),
        (["--secure-port=1"], [("secure-port", "1")]),
        (["--secure_port=1"], [("secure-port", "1")]),
        (["--allow-privileged", "--cert-dir=/a=b"], [("allow-privileged", "true"), ("cert-dir", "/a=b")]),
        (["--profiling=false"], [("profiling", "false")]),
        (["--cert-dir", "--odd"], [("cert-dir", "--odd")]),
        (["--api-audiences="], [("api-audiences", "")]),
        (["-v", "4"], [("v", "4")]),
        (["-v=4"], [("v", "4")]),
        (["-v4"], [("v", "4")]),
        (["--v=4"], [("v", "4")]),
        (["-h"], [("help", "true")]),
        (["--"], []),
    ],
)
def test_flags_have_the_syntax_of_pflag(arguments: list[str], flags: list[tuple[str, str]]) -> None:
    assert parse_flags(arguments) == flags


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--secure-prt=1"], "unknown flag: --secure-prt; did you mean --secure-port?"),
        (["--zzz"], "unknown flag: --zzz"),
        (["--insecure-port=0"], "unknown flag: --insecure-port; did you mean --secure-port?"),
        (["--cert-dir"], "flag needs an argument: --cert-dir"),
        (["-v"], "flag needs an argument: -v"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["stray"], '"kube-apiserver" does not take any arguments, got "stray"'),
        (["--profiling", "true"], '"kube-apiserver" does not take any arguments, got "true"'),
        (["--", "stray"], '"kube-apiserver" does not take any arguments, got "stray"'),
    ],
)
def test_invalid_arguments_are_errors(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError) as caught:
        parse_flags(arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("argument", "served"),
    [
        ("--cert-dir=/c", ["--cert-dir=/c"]),
        ("-v=5", ["--verbosity=5"]),
        ("--authorization-mode=Node,RBAC", ["--authorization-mode=RBAC"]),
        ("--authorization-mode=Node", ["--authorization-mode=AlwaysDeny"]),
        ("--feature-gates=kube:KnownGate=true,Other=false", ["--feature-gates=KnownGate=true"]),
        ("--etcd-servers=http://localhost:1", []),
        ("--enable-garbage-collector", []),
    ],
)
def test_flags_become_flags_of_serve(argument: str, served: list[str]) -> None:
    assert translated(argument)[0] == [*served, "--ephemeral"]


def test_data_is_kept_if_a_data_directory_is_given() -> None:
    assert translated("--data-dir=/d") == (["--data-dir=/d"], [])


@pytest.mark.parametrize(
    ("settings", "served", "unserved"),
    [
        (["batch/v1=false"], ["batch/v1=false"], ""),
        (["storagemigration.k8s.io/v1beta1=true"], ["storagemigration.k8s.io/v1beta1=true"], ""),
        (["api/beta=true"], ["api/beta=true"], ""),
        (["resource.k8s.io/v1beta1=true,resource.k8s.io/v1=true"], ["resource.k8s.io/v1=true"], "v1beta1=true"),
        (["resource.k8s.io/v1alpha3/devicetaintrules"], [], "v1alpha3/devicetaintrules"),
        (["storage.k8s.io/v1beta1=false", "batch/v1"], ["batch/v1"], ""),
    ],
)
def test_versions_are_those_of_kube_apiserver(settings: list[str], served: list[str], unserved: str) -> None:
    flags = [("runtime-config", setting) for setting in settings]
    found = serve_arguments(flags, [])
    (config,) = [value for value in found.arguments if value.startswith("--runtime-config=")]
    values = config.removeprefix("--runtime-config=").split(",")
    off = ["storagemigration.k8s.io/v1=false", "storagemigration.k8s.io/v1beta1=false"]
    assert [value for value in values if value not in off] == served
    assert ("storagemigration.k8s.io/v1=false" in values) == ("api/beta=true" not in values)
    assert [remark.rpartition(": ")[2] for remark in found.remarks] == (
        [f"resource.k8s.io/{unserved}"] if unserved else []
    )


def test_one_remark_names_all_flags_without_effect() -> None:
    remarks = translated("--watch-cache", "--etcd-servers=http://a", "--watch-cache=false", "--feature-gates=A=true")[1]
    assert remarks == [
        "these flags have no effect: --etcd-servers --watch-cache",
        "these feature gates have no effect: A=true",
    ]


def test_the_table_agrees_with_the_flags_of_serve() -> None:
    parser = argparse.ArgumentParser()
    add_serve_flags(parser)
    actions = {flag[2:]: action for action in parser._actions for flag in action.option_strings if flag[:2] == "--"}
    assert actions.keys() >= SERVED | POLYKIND
    for name in SERVED | POLYKIND:
        assert (name in BOOLEANS) == (actions[name].nargs == "?"), name
    # Only the flags of etcd have a meaning for `polykind serve` and none for the launcher.
    assert all(name.startswith("etcd-") for name in WITHOUT_EFFECT & actions.keys())
    assert not WITHOUT_EFFECT & (SERVED | POLYKIND)


def test_help_lists_flags_and_no_insecure_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert printed == help_text() + "\n"
    assert "--secure-port" in printed
    assert "--insecure-port" not in printed


def test_version_is_that_of_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("Kubernetes v1.")


def test_an_unknown_flag_ends_the_launcher(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--zzz"]) == 1
    assert capsys.readouterr().err == "Error: unknown flag: --zzz\n"
