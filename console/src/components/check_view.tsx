/** A report of `polykind check`: findings by severity, and effects on objects. */
import type { VNode } from "preact";
import { groupsOf, type CheckFinding, type CheckReport } from "../compare/reports";
import { count, formatNumber } from "../format";
import { DataTable, Facts, Sign, Verdict, type Level } from "./report_parts";

const LEVELS: Record<string, Level> = { breaking: "error", dangerous: "warning", info: "note" };
const EFFECTS: Record<string, string> = {
  invalid: "become invalid",
  lost: "lose a field",
  changed: "change by a default",
  "not-served": "are not served any more",
  unconvertible: "cannot be converted",
};

export function CheckView({ report }: { report: CheckReport }): VNode {
  const { breaking = 0, dangerous = 0, info = 0 } = report.counts;
  const objects = report.objects.reduce((sum, each) => sum + each.objects, 0);
  return (
    <div class="report">
      <h2>{[...new Set(report.findings.map((finding) => finding.crd))].join(", ") || "Check of a CRD"}</h2>
      <Verdict level={breaking ? "error" : dangerous ? "warning" : "ok"}>{breaking ? count(breaking, "breaking change") : dangerous ? count(dangerous, "dangerous change") : "Nothing breaks"}</Verdict>
      <Facts facts={[["Breaking", formatNumber(breaking)], ["Dangerous", formatNumber(dangerous)], ["Info", formatNumber(info)], ["Objects checked", formatNumber(objects)]]} />
      {report.objects.filter((each) => each.groups.length > 0).map((each) => (
        <section key={each.crd} aria-label={`Objects of ${each.crd}`}>
          <h3>Objects of {each.crd}</h3>
          <DataTable
            caption={`Effects on the objects of ${each.crd}`}
            head={["Effect", "Version", "Field or message", "Objects", "Examples"]}
            numbers={[3]}
            rows={each.groups.map((group) => [EFFECTS[group.effect] ?? group.effect, group.version, <code key="path">{group.path}</code>, formatNumber(group.count), <Examples key="examples" texts={group.examples} />])}
          />
        </section>
      ))}
      <section aria-labelledby="check-findings">
        <h3 id="check-findings">Findings</h3>
        {groupsOf(report).map((group, index) => (
          <FindingGroup key={index} findings={group} />
        ))}
      </section>
    </div>
  );
}

/** The names of some objects. What follows a name repeats the message of the row. */
function Examples({ texts }: { texts: readonly string[] }): VNode {
  return (
    <ul class="plain">
      {texts.map((text) => (
        <li key={text} title={text}>
          {text.split(": ")[0]}
        </li>
      ))}
    </ul>
  );
}

/** Findings that mean the same for several fields or versions. */
function FindingGroup({ findings }: { findings: readonly CheckFinding[] }): VNode {
  const [first, ...others] = findings as [CheckFinding, ...CheckFinding[]];
  const level = first.accepted ? "note" : (LEVELS[first.severity] ?? "none");
  const place = ({ file, line }: CheckFinding): string => file && `${file}:${line}`;
  return (
    <article class={`card ${level === "note" ? "" : level}`}>
      <h4>
        <Sign level={level} />
        {others.length ? `${count(findings.length, "change")}: ${first.finding}` : first.message}
      </h4>
      <p class="finding-facts">
        <span class={`badge ${level}`}>{first.severity}</span>
        {!others.length && (
          <>
            <code>{first.finding}</code>
            {first.version && <span>{first.version}</span>}
            {first.path && <code>{first.path}</code>}
            {first.file && <code class="hint">{place(first)}</code>}
          </>
        )}
      </p>
      {first.meaning && <p>{first.meaning}</p>}
      {first.advice && <p class="remark note">{first.advice}</p>}
      {first.accepted && <p class="remark">Accepted: {first.accepted}</p>}
      {others.length > 0 && (
        <DataTable
          caption={`Changes of the kind ${first.finding}`}
          head={["Version", "Change", "Place"]}
          rows={findings.map((finding) => [finding.version, finding.message, <code key="place" class="hint">{place(finding)}</code>])}
        />
      )}
    </article>
  );
}
