from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from polykind.contract import JsonObject
from polykind.toolkit.checking.crd_sources import CRDSource, decode_source, read_sources, rejection_errors
from tests.evolution.crds import changed, manifest


def write(file: Path, *values: JsonObject) -> Path:
    file.write_text(yaml.safe_dump_all(values, sort_keys=False))
    return file


def other() -> JsonObject:
    def rename(crd: JsonObject) -> None:
        crd["metadata"]["name"] = "jobs.stable.example.com"
        crd["spec"]["names"] = {"plural": "jobs", "kind": "Job"}

    return changed(rename)


def test_a_folder_has_many_crds_and_other_documents(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", {"kind": "ConfigMap", "apiVersion": "v1"}, manifest())
    (tmp_path / "b.json").write_text(json.dumps(other()))
    (tmp_path / "notes.yaml").write_text("{{ template }}")
    sources = read_sources(str(tmp_path))
    assert list(sources) == ["crontabs.stable.example.com", "jobs.stable.example.com"]
    assert sources["jobs.stable.example.com"].kind == "Job.stable.example.com"


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "crds.yaml", other(), manifest())
    source = read_sources(str(file))["crontabs.stable.example.com"]
    line = source.line(("spec", "scope"))
    assert file.read_text().splitlines()[line - 1].strip() == "scope: Namespaced"
    assert line > file.read_text().splitlines().index("---")
    missing = source.line(("spec", "names", "categories", 3))
    assert file.read_text().splitlines()[missing - 1].strip() == "names:"


def test_a_git_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crds").mkdir()
    file = write(tmp_path / "crds" / "crd.yaml", manifest())
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], check=True)
    write(file, other())
    assert list(read_sources("HEAD:crds/crd.yaml")) == ["crontabs.stable.example.com"]
    assert list(read_sources("HEAD:crds")) == ["crontabs.stable.example.com"]
    assert list(read_sources("crds/crd.yaml")) == ["jobs.stable.example.com"]
    with pytest.raises(ValueError, match="not a Git revision"):
        read_sources("HEAD:missing.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "crd.yaml"),
        ("kind: ConfigMap", "contains no CustomResourceDefinition"),
        ("kind: CustomResourceDefinition\napiVersion: v7", "v7 is not a version"),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1", "no name or no versions"),
    ],
)
def test_files_without_a_crd_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_sources(str(file))
    with pytest.raises(ValueError, match="no such file"):
        read_sources(str(tmp_path / "missing"))


def test_two_crds_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="defined twice"):
        read_sources(str(write(tmp_path / "crd.yaml", manifest(), manifest())))


def source(value: JsonObject) -> CRDSource:
    return decode_source(value, "crd.yaml")


def test_rejections_by_the_api_server() -> None:
    broken = changed(lambda crd: crd["spec"]["versions"][0].update(storage=False))
    assert rejection_errors(source(manifest()), None) == []
    assert rejection_errors(source(manifest()), source(manifest())) == []
    assert any("storage" in error for error in rejection_errors(source(broken), source(manifest())))
