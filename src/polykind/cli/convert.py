"""`polykind convert`: manifests in files, folders and Git trees converted to another version, without a server."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.toolkit.crd_versions import CRD
    from polykind.toolkit.declare.library import Library
    from polykind.toolkit.files.manifests import Document, Manifest
    from polykind.toolkit.files.offline_converter import OfflineConverter

STDIN = Path("-")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "convert",
        help="convert manifests in files to another version",
        description="Convert manifests to another version of their kind, by the same conversions that a server or a "
        "webhook runs. Documents of other kinds, and those of that version, keep every byte. "
        "Exit codes: 0 all is well; 1 a document failed, or with --check, would be converted; 2 nothing was begun.",
    )
    flag = command.add_argument
    flag(
        "--converter",
        required=True,
        metavar="MODULE:OBJECT",
        help="the conversions: a Python object, or a file of rules",
    )
    flag("--to", required=True, metavar="VERSION", help="the version wanted, such as v2 or example.com/v2")
    flag(
        "--crd",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="the kind's definition, whose schemas are applied as the API server does; may be repeated; "
        "definitions among the files are used too",
    )
    mode = command.add_mutually_exclusive_group()
    mode.add_argument("--in-place", action="store_true", help="rewrite the files that change, instead of printing")
    mode.add_argument("--check", action="store_true", help="write nothing; list what would change, and exit with 1")
    mode.add_argument("--output", choices=["yaml", "json"], help="print every document in this format")
    flag("--defaults", action="store_true", help="write out every default of the definition")
    flag("files", nargs="+", type=Path, metavar="FILE", help="a file, a folder, or - for what comes in")
    command.set_defaults(run=run)


class UsageError(Exception):
    """Nothing was begun: the command says something that cannot be done."""


@dataclass
class Source:
    """One file, and what becomes of it."""

    path: Path
    manifest: Manifest
    values: dict[int, JsonObject] = field(default_factory=dict)
    """The documents that were converted, by their index."""
    changes: list[str] = field(default_factory=list)
    failed: bool = False

    @property
    def name(self) -> str:
        return "<stdin>" if self.path == STDIN else str(self.path)

    def place(self, document: Document) -> str:
        return f"{self.name}:{document.line}"


def run(chosen: argparse.Namespace) -> int:
    try:
        return _Run(chosen).run()
    except UsageError as error:
        print(f"polykind convert: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever was reading has seen enough; nor is there anybody to flush to on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


class _Run:
    """One call of the command."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.counts: Counter[str] = Counter()

    def run(self) -> int:
        from polykind.toolkit.declare.loading import load_converter
        from polykind.toolkit.files.offline_converter import OfflineConverter

        chosen = self.chosen
        if chosen.in_place and STDIN in chosen.files:
            raise UsageError("--in-place: what comes in by - is no file")
        if missing := [path for path in (*chosen.files, *chosen.crd) if path != STDIN and not path.exists()]:
            raise UsageError(f"{missing[0]}: no such file")
        try:
            library = load_converter(chosen.converter)
            stated = self._stated(library)
            sources = self._sources()
            found = self._found(library, sources, {definition.kind for definition in stated})
            offline = OfflineConverter(library, chosen.to, [*stated, *found], defaults=chosen.defaults)
        except ValueError as error:
            raise UsageError(str(error)) from None
        for source in sources:
            self._convert(source, offline)
        for source in sources:
            self._write(source)
        self._summarize()
        return 1 if self.counts["failed"] or (chosen.check and self.counts["converted"]) else 0

    def _stated(self, library: Library) -> list[CRD]:
        """The definitions in the files of --crd. Raises UsageError."""
        from polykind.toolkit.crd_versions import CRD
        from polykind.toolkit.files import manifests

        out = []
        for path in manifests.find_files(self.chosen.crd):
            try:
                documents = manifests.parse(manifests.read_file(path)).documents
                wanted = [d for d in documents if d.error or _defines(d.value, library)]
                out += [CRD(_readable(document)) for document in wanted]
            except ValueError as error:
                raise UsageError(f"--crd {path}: {error}") from None
        if self.chosen.crd and not out:
            raise UsageError(f"--crd: no definition of a kind that --converter {library.spec} converts")
        return out

    def _sources(self) -> list[Source]:
        from polykind.toolkit.files import manifests

        out = []
        for path in manifests.find_files(self.chosen.files):
            try:
                data = manifests.read_stream(sys.stdin.buffer) if path == STDIN else manifests.read_file(path)
                out.append(Source(path, manifests.parse(data)))
            except manifests.ManifestReadError as error:
                self._fail(str(path), str(error))
        return out

    def _found(self, library: Library, sources: list[Source], known: set[str]) -> list[CRD]:
        """The definitions among the files, of kinds that --crd does not define."""
        from polykind.toolkit.crd_versions import CRD, RejectedError

        out: dict[str, CRD] = {}
        for source in sources:
            for document in source.manifest.documents:
                if document.error or not _defines(document.value, library):
                    continue
                try:
                    definition = CRD(document.value)
                except RejectedError as error:
                    self._fail(source.place(document), str(error))
                    continue
                if definition.kind not in known:
                    out[definition.kind] = definition
        return list(out.values())

    def _convert(self, source: Source, offline: OfflineConverter) -> None:
        from polykind.toolkit.declare.conversions import ConversionError
        from polykind.toolkit.files.yaml_rewriter import UnwritableError

        for index, document in enumerate(source.manifest.documents):
            place = source.place(document)
            try:
                if document.error:
                    self._unread(source, document, offline)
                    continue
                done = offline.document(document.value)
                if done.changes and not self.chosen.output:
                    document.replace(done.value)
            except (ConversionError, UnwritableError) as error:
                source.failed = True
                self._fail(place, str(error))
                continue
            for warning in done.warnings:
                print(f"{place}: warning: {warning}", file=sys.stderr)
            if done.changes:
                source.values[index] = done.value
                source.changes += (f"{place}: {change}" for change in done.changes)
            self.counts["current"] += done.current
            self.counts["other"] += not done.changes and not done.current

    def _unread(self, source: Source, document: Document, offline: OfflineConverter) -> None:
        """A document that cannot be read is none of ours, such as a template, unless it names the group."""
        groups = offline.groups
        if self.chosen.output or not groups or any(group in document.text for group in groups):
            source.failed = True
            self._fail(source.place(document), document.error)
        else:
            self.counts["unread"] += 1

    def _write(self, source: Source) -> None:
        from polykind.toolkit.files import manifests

        values = source.values
        if source.failed:
            self.counts["held back"] += len(source.changes)
            values = {}
        if not self.chosen.in_place and not self.chosen.check:
            self._print(source, values)
        elif not source.failed:
            if self.chosen.in_place and values:
                try:
                    manifests.replace_file(source.path, source.manifest.replace(values))
                except OSError as error:
                    self._fail(source.name, error.strerror or str(error))
                    return
            for change in source.changes:
                print(change, flush=True)
        if not source.failed:
            self.counts["converted"] += len(source.changes)

    def _print(self, source: Source, values: dict[int, JsonObject]) -> None:
        from polykind.codec import yaml_codec

        output = self.chosen.output
        if output:
            pieces = []
            for index, document in enumerate(source.manifest.documents):
                value = values.get(index, document.value)
                if document.error or value is None:
                    continue
                indented = json.dumps(value, indent=4, ensure_ascii=False) + "\n"
                pieces.append(yaml_codec.encode_ordered(value) if output == "yaml" else indented.encode())
        else:
            pieces = [source.manifest.replace(values)]
        out = sys.stdout.buffer
        for piece in pieces:
            if self.counts["printed"] and output != "json" and not piece.lstrip().startswith(b"---"):
                out.write(b"---\n")
            out.write(piece if piece.endswith(b"\n") or not piece else piece + b"\n")
            self.counts["printed"] += bool(piece.strip())
        out.flush()

    def _fail(self, place: str, why: str) -> None:
        self.counts["failed"] += 1
        print(f"{place}: failed: {why}", file=sys.stderr)

    def _summarize(self) -> None:
        counts, version = self.counts, self.chosen.to.rpartition("/")[2]
        told = [
            f"{counts['converted']} {'to convert' if self.chosen.check else 'converted'}",
            f"{counts['current']} already {version}",
            f"{counts['other']} of other kinds",
        ]
        if counts["unread"]:
            told.append(f"{counts['unread']} unreadable and of no concern")
        if counts["failed"]:
            told.append(f"{counts['failed']} failed")
        if counts["held back"]:
            told.append(f"{counts['held back']} held back, in files with a failure")
        print(", ".join(told), file=sys.stderr)


def _readable(document: Document) -> object:
    if document.error:
        raise ValueError(document.error)
    return document.value


def _defines(value: object, library: Library) -> bool:
    """Whether a document is a definition of a kind that is converted."""
    if not isinstance(value, dict) or value.get("kind") != "CustomResourceDefinition":
        return False
    spec = value.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    if not isinstance(names, dict) or not isinstance(spec, dict):
        return False
    return library.handles(str(spec.get("group")), str(names.get("kind")))
