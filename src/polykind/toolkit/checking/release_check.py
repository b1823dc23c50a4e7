"""A check of CRD changes: findings about the manifests, and counted effects on objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from polykind.contract import JsonObject
from polykind.declare.conversions import Incomplete
from polykind.declare.library import Library
from polykind.evolution.change_finding import TRAPS, ChangeFinding, Severity
from polykind.evolution.crd_checks import check_release, check_versions, sort_findings
from polykind.toolkit.checking.accepted_findings import AcceptedFinding
from polykind.toolkit.checking.crd_sources import CRDSource, rejection_errors
from polykind.toolkit.checking.object_check import Convert, ObjectCheck
from polykind.toolkit.checking.witnesses import decide
from polykind.toolkit.crd_versions import CRD, RejectedError
from polykind.toolkit.proving.tested_webhook import TestedWebhook, client_config


@dataclass
class CRDPair:
    """A CRD before and after the change. `old` is None if only the versions of the new CRD are compared."""

    old: CRDSource | None
    new: CRDSource | None
    live: CRDSource | None = None
    """The CRD in the cluster whose objects are checked."""

    @property
    def name(self) -> str:
        source = self.new or self.old
        assert source is not None
        return source.name


@dataclass
class ReportedFinding:
    """A finding with its place, and the reason if a file of accepted findings accepts it."""

    finding: ChangeFinding
    file: str
    line: int
    accepted: str = ""


@dataclass
class CheckReport:
    """The result of a check."""

    findings: list[ReportedFinding] = field(default_factory=list)
    objects: dict[str, ObjectCheck] = field(default_factory=dict)
    """The effects on objects, by the name of the CRD."""
    skipped_objects: int = 0
    """The number of objects of other kinds."""
    crds: int = 0
    stale: list[AcceptedFinding] = field(default_factory=list)
    """The accepted findings that the check did not find."""

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity that are not accepted."""
        return sum(1 for each in self.findings if each.finding.severity == severity and not each.accepted)

    def fails(self, level: Severity) -> bool:
        """True if the check fails, because it has findings of this level or objects that break."""
        if any(each.finding.severity >= level and not each.accepted for each in self.findings):
            return True
        totals = [check.totals for check in self.objects.values()]
        if any(each.unconvertible for each in totals):
            return True
        return level <= Severity.DANGEROUS and any(each.invalid or each.lost for each in totals)


def pair_sources(old: Mapping[str, CRDSource], new: Mapping[str, CRDSource]) -> list[CRDPair]:
    """Match CRDs by name. A single CRD on each side is matched even if its name changed."""
    if len(old) == len(new) == 1:
        return [CRDPair(next(iter(old.values())), next(iter(new.values())))]
    names = dict.fromkeys((*old, *new))
    return [CRDPair(old.get(name), new.get(name)) for name in names]


def check_pairs(pairs: Sequence[CRDPair], accepted: Sequence[AcceptedFinding] = ()) -> CheckReport:
    """Return the findings about all CRDs, the most severe first, accepted findings last."""
    report = CheckReport(crds=len(pairs))
    for pair in pairs:
        for finding in _findings(pair):
            source = pair.old if finding.in_old or pair.new is None else pair.new
            assert source is not None
            entry = next((each for each in accepted if each.covers(finding)), None)
            if entry is not None:
                entry.used += 1
            line = source.line(finding.pointer)
            report.findings.append(ReportedFinding(finding, source.place, line, entry.why if entry else ""))
    report.findings.sort(key=lambda each: (bool(each.accepted), -each.finding.severity))
    report.stale = [each for each in accepted if not each.used]
    return report


def _findings(pair: CRDPair) -> list[ChangeFinding]:
    old, new = pair.old, pair.new
    if new is None:
        message = "the CRD is missing in the new release"
        return [ChangeFinding("crd-removed", TRAPS["crd-removed"].severity, pair.name, "", "", message)]
    findings = [
        ChangeFinding("crd-rejected", Severity.BREAKING, pair.name, "", "", message, ("spec",))
        for message in rejection_errors(new, old)
    ]
    if old is None:
        findings += check_versions(new.crd)
    else:
        findings += decide(check_release(old.crd, new.crd), old.crd, new.crd)
    return sort_findings(findings)


def check_converter(report: CheckReport, pairs: Iterable[CRDPair], library: Library) -> None:
    """Add a finding for each version of a CRD that a converter does not convert."""
    for pair in pairs:
        if pair.new is None or library.declared is None or pair.new.kind not in library.declared:
            continue
        versions = [entry["name"] for entry in pair.new.crd["spec"]["versions"]]
        try:
            library.declared[pair.new.kind].check(versions)
        except Incomplete as error:
            finding = ChangeFinding(
                "converter-incomplete", Severity.BREAKING, pair.name, "", "", str(error), ("spec", "versions")
            )
            line = pair.new.line(finding.pointer)
            report.findings.insert(0, ReportedFinding(finding, pair.new.place, line))


class ObjectChecks:
    """The checks of objects of several CRDs. Objects of other kinds are counted as skipped."""

    def __init__(
        self,
        report: CheckReport,
        pairs: Iterable[CRDPair],
        library: Library | None = None,
        *,
        webhook: JsonObject | None = None,
    ) -> None:
        """`webhook` is the configuration of a webhook that converts the objects, as in spec.conversion.webhook.

        Raise ValueError if a converter is given and a CRD is invalid, because it cannot be used without its CRD.
        """
        self._report = report
        self.calls_webhook = webhook is not None
        self._by_kind: dict[tuple[str, str], ObjectCheck] = {}
        for pair in pairs:
            if pair.new is None:
                continue
            spec = pair.new.crd["spec"]
            group, kind = spec["group"], spec["names"]["kind"]
            convert: Convert | None = None
            crd: CRD | None = None
            if library is not None and library.handles(group, kind):
                crd, convert = _valid_crd(pair.new), library.function(group, kind)
            elif webhook is not None:
                crd = _valid_crd(pair.new)
                convert = _webhook_function(crd, webhook)
            check = ObjectCheck(pair.old.crd if pair.old is not None else None, pair.new.crd, convert, crd)
            self._by_kind[group, kind] = report.objects[pair.name] = check

    def add(self, obj: JsonObject) -> None:
        """Count the effects on one object. The object may be changed."""
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        check = self._by_kind.get((group, str(obj.get("kind", ""))))
        if check is None:
            self._report.skipped_objects += 1
        else:
            check.add(obj)


def webhook_config(url: str | None, ca: Path | None) -> JsonObject | None:
    """Return the configuration of a webhook at a URL, or None without a URL. Raise ValueError if `ca` is unreadable."""
    if url is None:
        return None
    return {"clientConfig": client_config(url, ca), "conversionReviewVersions": ["v1", "v1beta1"]}


def _webhook_function(crd: CRD, config: JsonObject) -> Convert:
    webhook = TestedWebhook(crd, config)

    def convert(obj: JsonObject, to: str) -> JsonObject:
        out: JsonObject = webhook.call(obj, crd.versions[to.rpartition("/")[2]])
        return out

    return convert


def _valid_crd(source: CRDSource) -> CRD:
    try:
        return CRD(source.crd)
    except RejectedError as error:
        raise ValueError(f"{source.place}: {error}") from None
