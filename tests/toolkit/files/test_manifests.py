"""Manifest files: parsed like Kubernetes, and written without changing other documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from polykind.toolkit.files import manifests
from polykind.toolkit.files.manifests import ManifestReadError, parse
from polykind.toolkit.files.yaml_rewriter import UnwritableError

MIXED = (
    "\ufeff# about all\n%YAML 1.1\n---\n# about a\na: 1\n\n--- # next\nb: on\n...\n---\n\n# nothing here\n---\n"
    '{"c": 3}\n{"d": 4}\n---\n- 1\n- 2'
).encode()


def values(data: bytes) -> list[Any]:
    return [document.value for document in parse(data).documents]


def test_documents_are_split_without_losing_text() -> None:
    found = parse(MIXED)
    assert [d.value for d in found.documents] == [{"a": 1}, {"b": True}, {"c": 3}, {"d": 4}, [1, 2]]
    assert [d.line for d in found.documents] == [5, 8, 14, 15, 17]
    assert [d.format for d in found.documents] == ["yaml", "yaml", "json", "json", "yaml"]
    assert found.replace({}) == MIXED


def test_replaced_document_keeps_its_format_and_others_their_bytes() -> None:
    assert parse(MIXED).replace({0: {"a": 2}, 2: {"c": 5}}) == MIXED.replace(b"a: 1", b"a: 2").replace(
        b'{"c": 3}', b'{"c": 5}'
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('a: "on"', "on"),
        ("a: on", True),
        ("a: 012", 10),
        ('a: "012"', "012"),
        ("a: 1e3", 1000),
        ("a: 2020-01-01", "2020-01-01"),
        ("a: 12:30", "12:30"),
        ("a: ~", None),
    ],
)
def test_scalars_are_parsed_like_kubernetes(text: str, value: Any) -> None:
    assert values(text.encode()) == [{"a": value}]


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ('{"a":1,"b":[2]}', '{"a":9,"b":[2]}'),
        ('\n{"a": 1, "b": [2]}\n', '\n{"a": 9, "b": [2]}\n'),
        ('{\n    "a": 1\n}\n', '{\n    "a": 9\n}\n'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 9\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 9\r\n}\r\n'),
    ],
)
def test_json_keeps_its_layout(text: str, out: str) -> None:
    found = parse(text.encode())
    assert found.replace({0: {**found.documents[0].value, "a": 9}}) == out.encode()


def test_windows_line_endings_are_kept() -> None:
    found = parse(b"# c\r\na: 1\r\nb: x\r\n---\r\nc: 2\r\n")
    assert found.replace({0: {"a": 1, "b": "z", "d": [1]}}) == b"# c\r\na: 1\r\nb: z\r\nd:\r\n- 1\r\n---\r\nc: 2\r\n"


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("a: 1\n---\nx: {{ .Values }}\n", 3, "yaml: invalid map key: "),
        ("a: 1\n---\n\nb: [\n", 4, "yaml: line 4: did not find expected node content"),
        ("a: 1\n---\nb: 1\nb: 2\n", 3, 'line 4: key "b" already set in map'),
        ('a: 1\n---\n{"b": 1, "b": 2}\n', 3, 'duplicate field "b"'),
        ("a: 1\n--- {b: 1}\n", 2, "invalid Yaml document separator: {b: 1}"),
        ("a: 1\n---\nb: \udcff\n", 3, "yaml: "),
    ],
)
def test_parse_error_affects_only_its_document(text: str, line: int, fault: str) -> None:
    data = text.encode(errors="surrogateescape")
    found = parse(data)
    assert found.documents[0].value == {"a": 1}
    assert found.documents[1].line == line
    assert found.documents[1].error.startswith(fault)
    assert found.replace({0: {"a": 2}}) == data.replace(b"a: 1", b"a: 2")


def test_nesting_and_aliases_are_limited() -> None:
    deep = parse(b"a: " + b"[" * 2000 + b"]" * 2000).documents[0]
    assert "exceeded max depth" in deep.error
    laughs = "a: &a [x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(9)
    )
    assert parse(laughs.encode()).documents[0].error == "yaml: document contains excessive aliasing"


def test_values_that_json_cannot_represent_are_rejected() -> None:
    with pytest.raises(UnwritableError, match="cannot be written as JSON"):
        parse(b'{"a": 1}').replace({0: {"a": float("inf")}})


def test_files_must_be_small_and_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_BYTES", 1 << 20)
    file = tmp_path / "a.yaml"
    file.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(ManifestReadError, match="larger than 1 MiB"):
        manifests.read_file(file)
    file.write_bytes("a: 1\n".encode("utf-16"))
    with pytest.raises(ManifestReadError, match="UTF-16"):
        manifests.read_file(file)
    with pytest.raises(ManifestReadError, match="No such file"):
        manifests.read_file(tmp_path / "b.yaml")


def test_folders_are_searched_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "d.txt", ".hidden.yaml", ".git/x.yaml", "sub/e.yaml"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
    found = manifests.find_files([tmp_path / "d.txt", tmp_path, tmp_path / "a.yaml"])
    assert [str(file.relative_to(tmp_path)) for file in found] == ["d.txt", "a.yaml", "b.yml", "c.json", "sub/e.yaml"]


def test_unreadable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ManifestReadError, match=f"^{tmp_path}: Permission denied$"):
        list(manifests.find_files([tmp_path]))


def test_file_is_replaced_atomically_with_mode_and_symlink(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("a: 1\n")
    real.chmod(0o640)
    link.symlink_to(real)
    manifests.replace_file(link, b"a: 2\n")
    assert real.read_text() == "a: 2\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link.yaml", "real.yaml"]


def test_failed_write_leaves_the_file_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1\n")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        manifests.replace_file(file, b"a: 2\n")
    assert file.read_text() == "a: 1\n"
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_read_objects_yields_files_folders_and_list_items(tmp_path: Path) -> None:
    listed = "[{kind: CronTab, at: 1}, {kind: CronTab, at: 2}, text]"
    (tmp_path / "a.yaml").write_text(f"kind: CronTabList\nitems: {listed}\n")
    (tmp_path / "b.json").write_text('{"kind": "List", "items": "none"}')
    (tmp_path / "c.yaml").write_text("- no object\n---\nkind: Pod\n")
    assert list(manifests.read_objects([tmp_path])) == [
        {"kind": "CronTab", "at": 1},
        {"kind": "CronTab", "at": 2},
        {"kind": "List", "items": "none"},
        {"kind": "Pod"},
    ]


@pytest.mark.parametrize(("text", "says"), [("a: 1\n---\nb: [", "bad.yaml:"), (None, "No such file or directory")])
def test_read_objects_names_the_unreadable_file(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ValueError, match=says):
        list(manifests.read_objects([tmp_path / "bad.yaml"]))
