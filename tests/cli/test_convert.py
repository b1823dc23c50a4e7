"""`polykind convert`: output, files and exit codes."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from polykind.cli import main
from tests.toolkit.example import EXAMPLE, importable

OURS = "# mine\napiVersion: example.com/v1alpha1\nkind: Backup\nmetadata:\n  name: a\nspec:\n  cron: x  # when\n"
CONVERTED = "# mine\napiVersion: example.com/v1\nkind: Backup\nmetadata:\n  name: a\nspec:\n  schedule: x  # when\n"
CURRENT = "apiVersion: example.com/v1\nkind: Backup\n"
OTHER = "kind:   Pod\n"
BAD = "apiVersion: example.com/v1alpha1\nkind: Backup\nmetadata: {name: bad}\nspec: {target: 7}\n"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory, in which the example's conversions can be imported."""
    monkeypatch.chdir(tmp_path)
    importable(monkeypatch)
    return tmp_path


class CommandRun:
    """The exit code and the output of one run."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = main(["convert", "--converter=conversions:backups", "--to=v1", *arguments])
        self.out, self.err = capsys.readouterr()


def test_converted_file_is_printed_and_not_changed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "a.yaml").write_text(f"{OURS}---\n{OTHER}---\n{CURRENT}")
    ran = CommandRun(capsys, "a.yaml")
    assert ran.out == f"{CONVERTED}---\n{OTHER}---\n{CURRENT}"
    assert ran.err == "1 converted, 1 already v1, 1 of other kinds\n"
    assert ran.code == 0
    assert (directory / "a.yaml").read_text() == f"{OURS}---\n{OTHER}---\n{CURRENT}"


def test_several_files_are_printed_as_one_yaml_stream(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "a.yaml").write_text(OURS.removesuffix("\n"))
    (directory / "b.json").write_text('{"kind":"Pod"}')
    (directory / "c.yaml").write_text(f"---\n{OTHER}")
    assert CommandRun(capsys, ".").out == f'{CONVERTED}---\n{{"kind":"Pod"}}\n---\n{OTHER}'


def test_in_place_writes_only_changed_files(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a.yaml", OURS), ("b.yaml", OTHER), ("c.yaml", CURRENT)):
        (directory / name).write_text(text)
    inodes = [(directory / name).stat().st_ino for name in ("b.yaml", "c.yaml")]
    ran = CommandRun(capsys, "--in-place", ".")
    assert (ran.code, ran.out) == (0, "a.yaml:2: Backup a: v1alpha1 to v1\n")
    assert ran.err == "1 converted, 1 already v1, 1 of other kinds\n"
    assert (directory / "a.yaml").read_text() == CONVERTED
    assert [(directory / name).stat().st_ino for name in ("b.yaml", "c.yaml")] == inodes
    second_run = CommandRun(capsys, "--in-place", ".")
    assert (second_run.code, second_run.out, second_run.err) == (0, "", "0 converted, 2 already v1, 1 of other kinds\n")


def test_check_lists_changes_writes_nothing_and_exits_with_1(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "a.yaml").write_text(OURS)
    ran = CommandRun(capsys, "--check", ".")
    assert (ran.code, ran.out) == (1, "a.yaml:2: Backup a: v1alpha1 to v1\n")
    assert ran.err == "1 to convert, 0 already v1, 0 of other kinds\n"
    assert (directory / "a.yaml").read_text() == OURS
    (directory / "a.yaml").write_text(CURRENT)
    assert CommandRun(capsys, "--check", ".").code == 0


def test_failure_leaves_its_file_unchanged_and_others_are_converted(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "a.yaml").write_text(f"{OURS}---\n{BAD}")
    (directory / "b.yaml").write_text(OURS)
    ran = CommandRun(capsys, "--in-place", ".")
    assert (ran.code, ran.out) == (1, "b.yaml:2: Backup a: v1alpha1 to v1\n")
    assert ran.err == (
        "a.yaml:9: failed: Backup bad cannot be converted from v1alpha1 to v1beta1: "
        "AttributeError: 'int' object has no attribute 'partition'\n"
        "1 converted, 0 already v1, 0 of other kinds, 1 failed, 1 not written, in files with a failure\n"
    )
    assert (directory / "a.yaml").read_text() == f"{OURS}---\n{BAD}"
    assert (directory / "b.yaml").read_text() == CONVERTED
    assert CommandRun(capsys, "a.yaml").out == f"{OURS}---\n{BAD}"


def test_unreadable_document_fails_only_if_it_mentions_the_group(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "values.yaml").write_text("{{- if .Values.x }}\nkind: Deployment\n{{- end }}\n")
    (directory / "a.yaml").write_text(OURS)
    ran = CommandRun(capsys, "--in-place", ".")
    assert (ran.code, ran.err) == (
        0,
        "1 converted, 0 already v1, 0 of other kinds, 1 unreadable and skipped\n",
    )
    (directory / "values.yaml").write_text("{{- if .Values.x }}\napiVersion: example.com/v1alpha1\n{{- end }}\n")
    ran = CommandRun(capsys, "--in-place", ".")
    assert ran.code == 1
    assert ran.err.startswith("values.yaml:1: failed: yaml: ")


def test_crds_come_from_the_flag_or_from_the_input(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "a.yaml").write_text(OURS.replace("  cron", "  odd: 1\n  target: b/c\n  cron"))
    from_flag = CommandRun(capsys, f"--crd={EXAMPLE / 'crd.yaml'}", "a.yaml")
    shutil.copy(EXAMPLE / "crd.yaml", directory)
    from_files = CommandRun(capsys, "a.yaml", "crd.yaml")
    assert from_flag.out == CONVERTED + "  bucket: b\n  path: c\n  retention:\n    count: 7\n"
    assert from_files.out == from_flag.out + "---\n" + (directory / "crd.yaml").read_text()
    warnings = (
        "a.yaml:2: warning: spec.odd: not in the schema of v1alpha1, dropped\n"
        "a.yaml:2: warning: spec.retention: written out, because the defaults of v1 differ from those of v1alpha1\n"
    )
    assert from_flag.err == warnings + "1 converted, 0 already v1, 0 of other kinds\n"
    assert from_files.err == warnings + "1 converted, 0 already v1, 1 of other kinds\n"


def test_invalid_crd_among_the_files_is_a_failure(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "crd.yaml").write_text((EXAMPLE / "crd.yaml").read_text().replace("scope: Namespaced", "scope: Wide"))
    ran = CommandRun(capsys, "--check", "crd.yaml")
    assert ran.code == 1
    assert ran.err.startswith("crd.yaml:1: failed: ")
    assert 'spec.scope: Unsupported value: "Wide"' in ran.err


def test_output_prints_every_document_in_one_format(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "a.yaml").write_text(f"{OURS}---\n# nothing\n---\n{OTHER}")
    (directory / "b.json").write_text('{"kind":"Pod"}')
    assert CommandRun(capsys, "--output=yaml", ".").out == (
        "apiVersion: example.com/v1\nkind: Backup\nmetadata:\n  name: a\nspec:\n  schedule: x\n"
        "---\nkind: Pod\n---\nkind: Pod\n"
    )
    decoder, text = json.JSONDecoder(), CommandRun(capsys, "--output=json", ".").out
    first, end = decoder.raw_decode(text)
    assert first["spec"] == {"schedule": "x"}
    assert text[end:] == '\n{\n    "kind": "Pod"\n}\n{\n    "kind": "Pod"\n}\n'


def test_standard_input_is_converted(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{OURS}---\n{BAD}".encode())))
    ran = CommandRun(capsys, "-", "--check")
    assert ran.err.startswith("<stdin>:9: failed: Backup bad cannot be converted ")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OURS.encode())))
    assert CommandRun(capsys, "-").out == CONVERTED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.yaml"], "nowhere.yaml: no such file"),
        (["--in-place", "-"], "--in-place cannot be used with - (standard input)"),
        (["--to=v9", "."], "--to v9: no step of --converter conversions:backups leads there, only to v1alpha1, "),
        (["--converter=conversions:missing", "."], "--converter conversions:missing: module 'conversions' has no attr"),
        (["--crd=.", "."], "--crd: no CRD of a kind that --converter conversions:backups converts"),
    ],
)
def test_invalid_usage_exits_with_2(
    directory: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    ran = CommandRun(capsys, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"polykind convert: {message}")


def test_invalid_crd_exits_with_2(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "crd.yaml").write_text((EXAMPLE / "crd.yaml").read_text().replace("scope: Namespaced", "scope: Wide"))
    ran = CommandRun(capsys, "--crd=crd.yaml", ".")
    assert ran.code == 2
    assert ran.err.startswith("polykind convert: --crd crd.yaml: ")


def test_read_only_directory_is_a_failure(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "a.yaml").write_text(OURS)

    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("polykind.toolkit.files.manifests.replace_file", refuse)
    ran = CommandRun(capsys, "--in-place", "a.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "a.yaml: failed: Permission denied\n0 converted, 0 already v1, 0 of other kinds, 1 failed\n"
