/** A report of `polykind check`: findings by severity, and effects on objects. */
import type { VNode } from "preact";
import type { CheckFinding, CheckReport } from "../compare/reports";
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
            rows={each.groups.map((group) => [EFFECTS[group.effect] ?? group.effect, group.version, <code key="path">{group.path}</code>, formatNumber(group.count), group.examples.join("; ")])}
          />
        </section>
      ))}
      <section aria-labelledby="check-findings">
        <h3 id="check-findings">Findings</h3>
        {report.findings.map((finding, index) => (
          <Finding key={index} finding={finding} />
        ))}
      </section>
    </div>
  );
}

function Finding({ finding }: { finding: CheckFinding }): VNode {
  const level = finding.accepted ? "note" : (LEVELS[finding.severity] ?? "none");
  return (
    <article class={`card ${level === "note" ? "" : level}`}>
      <h4>
        <Sign level={level} />
        {finding.message}
      </h4>
      <p class="finding-facts">
        <span class={`badge ${level}`}>{finding.severity}</span>
        <code>{finding.finding}</code>
        {finding.version && <span>{finding.version}</span>}
        {finding.path && <code>{finding.path}</code>}
        {finding.position && <code class="hint">{finding.position}</code>}
      </p>
      {finding.meaning && <p>{finding.meaning}</p>}
      {finding.advice && <p class="remark note">{finding.advice}</p>}
      {finding.accepted && <p class="remark">Accepted: {finding.accepted}</p>}
    </article>
  );
}
