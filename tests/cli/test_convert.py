"""`polykind convert`: files and trees, what is printed and written, and how it ends."""

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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is run; the example's conversions can be imported."""
    monkeypatch.chdir(tmp_path)
    importable(monkeypatch)
    return tmp_path


class Ran:
    """How the command ended and what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *given: str) -> None:
        self.code = main(["convert", "--converter=conversions:backups", "--to=v1", *given])
        self.out, self.err = capsys.readouterr()


def test_a_file_is_printed_converted_and_left_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(f"{OURS}---\n{OTHER}---\n{CURRENT}")
    ran = Ran(capsys, "a.yaml")
    assert ran.out == f"{CONVERTED}---\n{OTHER}---\n{CURRENT}"
    assert ran.err == "1 converted, 1 already v1, 1 of other kinds\n"
    assert ran.code == 0
    assert (folder / "a.yaml").read_text() == f"{OURS}---\n{OTHER}---\n{CURRENT}"


def test_several_files_are_printed_as_one_stream(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(OURS.removesuffix("\n"))
    (folder / "b.json").write_text('{"kind":"Pod"}')
    (folder / "c.yaml").write_text(f"---\n{OTHER}")
    assert Ran(capsys, ".").out == f'{CONVERTED}---\n{{"kind":"Pod"}}\n---\n{OTHER}'


def test_in_place_only_files_that_change_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a.yaml", OURS), ("b.yaml", OTHER), ("c.yaml", CURRENT)):
        (folder / name).write_text(text)
    inodes = [(folder / name).stat().st_ino for name in ("b.yaml", "c.yaml")]
    ran = Ran(capsys, "--in-place", ".")
    assert (ran.code, ran.out) == (0, "a.yaml:2: Backup a: v1alpha1 to v1\n")
    assert ran.err == "1 converted, 1 already v1, 1 of other kinds\n"
    assert (folder / "a.yaml").read_text() == CONVERTED
    assert [(folder / name).stat().st_ino for name in ("b.yaml", "c.yaml")] == inodes
    again = Ran(capsys, "--in-place", ".")
    assert (again.code, again.out, again.err) == (0, "", "0 converted, 2 already v1, 1 of other kinds\n")


def test_a_check_lists_what_would_change_writes_nothing_and_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yaml").write_text(OURS)
    ran = Ran(capsys, "--check", ".")
    assert (ran.code, ran.out) == (1, "a.yaml:2: Backup a: v1alpha1 to v1\n")
    assert ran.err == "1 to convert, 0 already v1, 0 of other kinds\n"
    assert (folder / "a.yaml").read_text() == OURS
    (folder / "a.yaml").write_text(CURRENT)
    assert Ran(capsys, "--check", ".").code == 0


def test_a_failure_leaves_its_file_alone_and_stops_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(f"{OURS}---\n{BAD}")
    (folder / "b.yaml").write_text(OURS)
    ran = Ran(capsys, "--in-place", ".")
    assert (ran.code, ran.out) == (1, "b.yaml:2: Backup a: v1alpha1 to v1\n")
    assert ran.err == (
        "a.yaml:9: failed: Backup bad cannot be converted from v1alpha1 to v1beta1: "
        "AttributeError: 'int' object has no attribute 'partition'\n"
        "1 converted, 0 already v1, 0 of other kinds, 1 failed, 1 not written, in files with a failure\n"
    )
    assert (folder / "a.yaml").read_text() == f"{OURS}---\n{BAD}"
    assert (folder / "b.yaml").read_text() == CONVERTED
    assert Ran(capsys, "a.yaml").out == f"{OURS}---\n{BAD}"


def test_what_cannot_be_read_fails_only_if_it_names_the_group(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "values.yaml").write_text("{{- if .Values.x }}\nkind: Deployment\n{{- end }}\n")
    (folder / "a.yaml").write_text(OURS)
    ran = Ran(capsys, "--in-place", ".")
    assert (ran.code, ran.err) == (
        0,
        "1 converted, 0 already v1, 0 of other kinds, 1 unreadable and skipped\n",
    )
    (folder / "values.yaml").write_text("{{- if .Values.x }}\napiVersion: example.com/v1alpha1\n{{- end }}\n")
    ran = Ran(capsys, "--in-place", ".")
    assert ran.code == 1
    assert ran.err.startswith("values.yaml:1: failed: yaml: ")


def test_definitions_are_used_whether_stated_or_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(OURS.replace("  cron", "  odd: 1\n  target: b/c\n  cron"))
    stated = Ran(capsys, f"--crd={EXAMPLE / 'crd.yaml'}", "a.yaml")
    shutil.copy(EXAMPLE / "crd.yaml", folder)
    found = Ran(capsys, "a.yaml", "crd.yaml")
    assert stated.out == CONVERTED + "  bucket: b\n  path: c\n  retention:\n    count: 7\n"
    assert found.out == stated.out + "---\n" + (folder / "crd.yaml").read_text()
    warnings = (
        "a.yaml:2: warning: spec.odd: not in the schema of v1alpha1, dropped\n"
        "a.yaml:2: warning: spec.retention: written out, as the defaults of v1 are not those of v1alpha1\n"
    )
    assert stated.err == warnings + "1 converted, 0 already v1, 0 of other kinds\n"
    assert found.err == warnings + "1 converted, 0 already v1, 1 of other kinds\n"


def test_a_definition_among_the_files_that_is_no_good_is_a_failure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "crd.yaml").write_text((EXAMPLE / "crd.yaml").read_text().replace("scope: Namespaced", "scope: Wide"))
    ran = Ran(capsys, "--check", "crd.yaml")
    assert ran.code == 1
    assert ran.err.startswith("crd.yaml:1: failed: ")
    assert 'spec.scope: Unsupported value: "Wide"' in ran.err


def test_every_document_can_be_printed_in_one_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(f"{OURS}---\n# nothing\n---\n{OTHER}")
    (folder / "b.json").write_text('{"kind":"Pod"}')
    assert Ran(capsys, "--output=yaml", ".").out == (
        "apiVersion: example.com/v1\nkind: Backup\nmetadata:\n  name: a\nspec:\n  schedule: x\n"
        "---\nkind: Pod\n---\nkind: Pod\n"
    )
    decoder, text = json.JSONDecoder(), Ran(capsys, "--output=json", ".").out
    first, end = decoder.raw_decode(text)
    assert first["spec"] == {"schedule": "x"}
    assert text[end:] == '\n{\n    "kind": "Pod"\n}\n{\n    "kind": "Pod"\n}\n'


def test_what_comes_in_is_converted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{OURS}---\n{BAD}".encode())))
    ran = Ran(capsys, "-", "--check")
    assert ran.err.startswith("<stdin>:9: failed: Backup bad cannot be converted ")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OURS.encode())))
    assert Ran(capsys, "-").out == CONVERTED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nowhere.yaml"], "nowhere.yaml: no such file"),
        (["--in-place", "-"], "--in-place cannot be used with - (standard input)"),
        (["--to=v9", "."], "--to v9: no step of --converter conversions:backups leads there, only to v1alpha1, "),
        (["--converter=conversions:missing", "."], "--converter conversions:missing: module 'conversions' has no attr"),
        (["--crd=.", "."], "--crd: no CRD of a kind that --converter conversions:backups converts"),
    ],
)
def test_what_cannot_be_begun_ends_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    ran = Ran(capsys, *given)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"polykind convert: {said}")


def test_a_definition_that_is_no_good_ends_with_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "crd.yaml").write_text((EXAMPLE / "crd.yaml").read_text().replace("scope: Namespaced", "scope: Wide"))
    ran = Ran(capsys, "--crd=crd.yaml", ".")
    assert ran.code == 2
    assert ran.err.startswith("polykind convert: --crd crd.yaml: ")


def test_a_folder_that_cannot_be_written_to_is_a_failure(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.yaml").write_text(OURS)

    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("polykind.toolkit.files.manifests.replace_file", refuse)
    ran = Ran(capsys, "--in-place", "a.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "a.yaml: failed: Permission denied\n0 converted, 0 already v1, 0 of other kinds, 1 failed\n"
