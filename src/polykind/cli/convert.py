"""`polykind convert`: converts manifests in files and directories to another version, without a server."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import UsageError

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.declare.library import Library
    from polykind.toolkit.crd_versions import CRD
    from polykind.toolkit.files.manifests import Document, Manifest
    from polykind.toolkit.files.offline_converter import OfflineConverter

STDIN = Path("-")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "convert",
        help="convert manifests in files to another version",
        description="Convert manifests to another version of their kind with the same conversions that a server or a "
        "webhook runs. Documents of other kinds, and documents at that version already, keep every byte. "
        "Exit codes: 0 success; 1 a document failed or, with --check, would be converted; 2 invalid usage.",
    )
    flag = command.add_argument
    flag("--converter", required=True, metavar="MODULE:OBJECT", help="the conversions: a Python object or a rules file")
    flag("--to", required=True, metavar="VERSION", help="target version, such as v2 or example.com/v2")
    flag(
        "--crd",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="CRD of the kind, whose schemas are applied as the API server does; may be repeated; "
        "CRDs among the input files are used too",
    )
    mode = command.add_mutually_exclusive_group()
    mode.add_argument("--in-place", action="store_true", help="rewrite changed files instead of printing them")
    mode.add_argument(
        "--check", action="store_true", help="write nothing; list the documents to convert and exit with 1"
    )
    mode.add_argument("--output", choices=["yaml", "json"], help="print every document in this format")
    flag("--defaults", action="store_true", help="write all defaults of the CRD into the objects")
    flag("files", nargs="+", type=Path, metavar="FILE", help="a file, a directory, or - for standard input")
    command.set_defaults(run=run)


@dataclass
class Source:
    """One input file with its converted documents."""

    path: Path
    manifest: Manifest
    values: dict[int, JsonObject] = field(default_factory=dict)
    """The converted documents, by their index in the file."""
    changes: list[str] = field(default_factory=list)
    failed: bool = False

    @property
    def name(self) -> str:
        return "<stdin>" if self.path == STDIN else str(self.path)

    def location(self, document: Document) -> str:
        return f"{self.name}:{document.line}"


def run(args: argparse.Namespace) -> int:
    try:
        return _Run(args).run()
    except UsageError as error:
        print(f"polykind convert: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader closed the pipe. Redirect stdout, so that the interpreter's flush at exit does not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


class _Run:
    """One run of `polykind convert`. `counts` are the numbers of objects by result, for the summary."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.counts: Counter[str] = Counter()

    def run(self) -> int:
        from polykind.conversion.loading import load_converter
        from polykind.toolkit.files.offline_converter import OfflineConverter

        args = self.args
        if args.in_place and STDIN in args.files:
            raise UsageError("--in-place cannot be used with - (standard input)")
        if missing := [path for path in (*args.files, *args.crd) if path != STDIN and not path.exists()]:
            raise UsageError(f"{missing[0]}: no such file")
        try:
            library = load_converter(args.converter)
            from_flag = self._crds_of_flag(library)
            sources = self._sources()
            from_files = self._crds_among(library, sources, {crd.kind for crd in from_flag})
            offline = OfflineConverter(library, args.to, [*from_flag, *from_files], defaults=args.defaults)
        except ValueError as error:
            raise UsageError(str(error)) from None
        for source in sources:
            self._convert(source, offline)
        for source in sources:
            self._write(source)
        self._summarize()
        return 1 if self.counts["failed"] or (args.check and self.counts["converted"]) else 0

    def _crds_of_flag(self, library: Library) -> list[CRD]:
        """Return the CRDs in the files of --crd. Raise UsageError if a file is invalid or no CRD is found."""
        from polykind.toolkit.crd_versions import CRD
        from polykind.toolkit.files import manifests

        found = []
        for path in manifests.find_files(self.args.crd):
            try:
                documents = manifests.parse(manifests.read_file(path)).documents
                candidates = [d for d in documents if d.error or _is_crd_of(d.value, library)]
                found += [CRD(_decoded(document)) for document in candidates]
            except ValueError as error:
                raise UsageError(f"--crd {path}: {error}") from None
        if self.args.crd and not found:
            raise UsageError(f"--crd: no CRD of a kind that --converter {library.spec} converts")
        return found

    def _sources(self) -> list[Source]:
        from polykind.toolkit.files import manifests

        sources = []
        for path in manifests.find_files(self.args.files):
            try:
                data = manifests.read_stream(sys.stdin.buffer) if path == STDIN else manifests.read_file(path)
                sources.append(Source(path, manifests.parse(data)))
            except manifests.ManifestReadError as error:
                self._fail(str(path), str(error))
        return sources

    def _crds_among(self, library: Library, sources: list[Source], known_kinds: set[str]) -> list[CRD]:
        """Return the CRDs in the input files, except for kinds that --crd defines."""
        from polykind.toolkit.crd_versions import CRD, RejectedError

        found: dict[str, CRD] = {}
        for source in sources:
            for document in source.manifest.documents:
                if document.error or not _is_crd_of(document.value, library):
                    continue
                try:
                    crd = CRD(document.value)
                except RejectedError as error:
                    self._fail(source.location(document), str(error))
                    continue
                if crd.kind not in known_kinds:
                    found[crd.kind] = crd
        return list(found.values())

    def _convert(self, source: Source, offline: OfflineConverter) -> None:
        from polykind.declare.conversions import ConversionError
        from polykind.toolkit.files.yaml_rewriter import UnwritableError

        for index, document in enumerate(source.manifest.documents):
            location = source.location(document)
            try:
                if document.error:
                    self._skip_or_fail(source, document, offline)
                    continue
                result = offline.document(document.value)
                if result.changes and not self.args.output:
                    document.replace(result.value)
            except (ConversionError, UnwritableError) as error:
                source.failed = True
                self._fail(location, str(error))
                continue
            for warning in result.warnings:
                print(f"{location}: warning: {warning}", file=sys.stderr)
            if result.changes:
                source.values[index] = result.value
                source.changes += (f"{location}: {change}" for change in result.changes)
            self.counts["current"] += result.current
            self.counts["other"] += not result.changes and not result.current

    def _skip_or_fail(self, source: Source, document: Document, offline: OfflineConverter) -> None:
        """Skip an unreadable document, such as a template. Report an error if it may contain an object to convert."""
        groups = offline.groups
        if self.args.output or not groups or any(group in document.text for group in groups):
            source.failed = True
            self._fail(source.location(document), document.error)
        else:
            self.counts["unread"] += 1

    def _write(self, source: Source) -> None:
        from polykind.toolkit.files import manifests

        values = source.values
        if source.failed:
            self.counts["held back"] += len(source.changes)
            values = {}
        if not self.args.in_place and not self.args.check:
            self._print(source, values)
        elif not source.failed:
            if self.args.in_place and values:
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

        output = self.args.output
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
        stdout = sys.stdout.buffer
        for piece in pieces:
            if self.counts["printed"] and output != "json" and not piece.lstrip().startswith(b"---"):
                stdout.write(b"---\n")
            stdout.write(piece if piece.endswith(b"\n") or not piece else piece + b"\n")
            self.counts["printed"] += bool(piece.strip())
        stdout.flush()

    def _fail(self, location: str, message: str) -> None:
        self.counts["failed"] += 1
        print(f"{location}: failed: {message}", file=sys.stderr)

    def _summarize(self) -> None:
        counts, version = self.counts, self.args.to.rpartition("/")[2]
        parts = [
            f"{counts['converted']} {'to convert' if self.args.check else 'converted'}",
            f"{counts['current']} already {version}",
            f"{counts['other']} of other kinds",
        ]
        if counts["unread"]:
            parts.append(f"{counts['unread']} unreadable and skipped")
        if counts["failed"]:
            parts.append(f"{counts['failed']} failed")
        if counts["held back"]:
            parts.append(f"{counts['held back']} not written, in files with a failure")
        print(", ".join(parts), file=sys.stderr)


def _decoded(document: Document) -> object:
    if document.error:
        raise ValueError(document.error)
    return document.value


def _is_crd_of(value: object, library: Library) -> bool:
    """True if a document is the CRD of a kind that the library converts."""
    if not isinstance(value, dict) or value.get("kind") != "CustomResourceDefinition":
        return False
    spec = value.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    if not isinstance(names, dict) or not isinstance(spec, dict):
        return False
    return library.handles(str(spec.get("group")), str(names.get("kind")))
