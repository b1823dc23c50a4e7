/** A report of `polykind rehearse`: a timeline of releases, there and back, with what was found at each. */
import type { VNode } from "preact";
import { inline } from "../compare/json";
import type { RehearsalFinding, RehearsalReport, RehearsalStep } from "../compare/reports";
import { count, formatNumber } from "../format";
import { Facts, TimelineStep, Verdict, type Level } from "./report_parts";

const LEVELS: Record<string, Level> = { error: "error", warning: "warning", acknowledged: "note" };

export function RehearsalView({ report }: { report: RehearsalReport }): VNode {
  const findings = report.steps.flatMap((step) => step.findings);
  const number = (level: string): number => findings.filter((finding) => finding.level === level).reduce((sum, each) => sum + each.count, 0);
  const problems = number("error");
  const stuck = report.steps.some((step) => step.stuck);
  return (
    <div class="report">
      <h2>Rehearsal of an upgrade</h2>
      <Verdict level={problems ? "error" : number("warning") ? "warning" : "ok"}>{stuck ? "Stuck: the upgrade or the way back does not finish" : problems ? count(problems, "problem") : "Nothing got lost"}</Verdict>
      <Facts
        facts={[
          ["Steps", formatNumber(report.steps.length)],
          ["Objects", formatNumber(Math.max(0, ...report.steps.map((step) => step.objects)))],
          ["Problems", formatNumber(problems)],
          ["Warnings", formatNumber(number("warning"))],
        ]}
      />
      <ol class="timeline" aria-label="Steps">
        {report.steps.map((step, index) => (
          <Step key={index} step={step} />
        ))}
      </ol>
    </div>
  );
}

function Step({ step }: { step: RehearsalStep }): VNode {
  const levels = step.findings.map((finding) => finding.level);
  const level: Level = step.stuck || levels.includes("error") ? "error" : levels.includes("warning") ? "warning" : "ok";
  const seconds = step.phases.reduce((sum, phase) => sum + phase.seconds, 0);
  return (
    <TimelineStep title={step.direction === "back" ? `Back to ${step.release}` : step.release} level={level} time={`${seconds.toFixed(1)} s`} text={`${step.versions.join(" ")} · ${count(step.objects, "object")}${step.stuck ? " · stuck" : ""}`}>
      <ul>
        {step.phases.map((phase) => {
          const found = step.findings.filter((finding) => finding.phase === phase.name && finding.level === "error").reduce((sum, each) => sum + each.count, 0);
          return (
            <li key={phase.name}>
              {phase.text.charAt(0).toUpperCase() + phase.text.slice(1)}: {found ? <strong class="bad">{count(found, "problem")}</strong> : "ok"}
            </li>
          );
        })}
      </ul>
      {step.findings.map((finding, index) => (
        <Finding key={index} finding={finding} />
      ))}
    </TimelineStep>
  );
}

function Finding({ finding }: { finding: RehearsalFinding }): VNode {
  const facts: [string, string][] = [
    ["Object", finding.object],
    ["Client", finding.client],
    ["Seen at", finding.version],
    ["Field", finding.field],
    ["Before", finding.before !== undefined ? inline(finding.before) : finding.after !== undefined ? "missing" : ""],
    ["After", finding.after !== undefined ? inline(finding.after) : finding.before !== undefined ? "missing" : ""],
  ];
  return (
    <article class="card">
      <p class={`remark ${LEVELS[finding.level] ?? "none"}`}>
        {finding.text}
        {finding.count > 1 && ` (and ${finding.count - 1} more like it)`}
      </p>
      <dl class="terms">
        {facts.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
      {finding.advice && <p class="remark note">What to do: {finding.advice}</p>}
    </article>
  );
}
