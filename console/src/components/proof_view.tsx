/** A report of `polykind prove`: properties by pair of versions, findings with their smallest object, and losses. */
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { align, leavesOf, type Column, type Row } from "../compare/alignment";
import { inline, withoutNoise } from "../compare/json";
import { pairsOf, propertiesOf, type FieldDifference, type ProofReport, type PropertyResult } from "../compare/reports";
import { count, formatNumber } from "../format";
import { DataTable, Facts, Matrix, SignBadge, Verdict, type Level, type MatrixCell } from "./report_parts";
import { VersionColumns } from "./version_columns";

const anchor = (result: PropertyResult): string => `finding-${result.property}-${result.from}-${result.to}`;
const OPENED = 3;

/** Open the finding that a link of the matrix leads to. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  const details = target?.querySelector("details");
  if (details) details.open = true;
}

export function ProofView({ report }: { report: ProofReport }): VNode {
  useEffect(() => {
    window.addEventListener("hashchange", openTarget);
    return (): void => window.removeEventListener("hashchange", openTarget);
  }, []);
  const failed = report.results.filter((result) => !result.ok);
  const lost = report.losses.filter((loss) => loss.acknowledged === null).length;
  const pairs = pairsOf(report);
  return (
    <div class="report">
      <h2>{report.definition}</h2>
      <Verdict level={report.ok ? "ok" : failed.length ? "error" : "warning"}>
        {failed.length ? count(failed.length, "finding") : report.ok ? "All properties hold" : "No property fails, but see the remarks"}
        {report.interrupted ? " (interrupted)" : ""}
      </Verdict>
      <Facts
        facts={[
          ["Tested with", count(report.tested, "object")],
          ["Pairs of versions", formatNumber(pairs.length)],
          ["Losses", lost ? `${lost} not acknowledged` : report.losses.length ? `${report.losses.length}, all acknowledged` : "none"],
          ["Seed", String(report.seed)],
          ["Duration", `${report.seconds.toFixed(1)} s`],
        ]}
      />
      {report.remarks.map((text) => (
        <p key={text} class="remark warning">
          {text}
        </p>
      ))}
      <section aria-labelledby="properties">
        <h3 id="properties">Properties</h3>
        <Matrix
          caption="Properties by pair of versions"
          corner="Property"
          columns={pairs.map(([from, to]) => `${from} → ${to}`)}
          rows={propertiesOf(report).map((name) => [name, pairs.map((pair) => resultCell(report, name, pair))])}
        />
      </section>
      {failed.length > 0 && (
        <section aria-labelledby="findings">
          <h3 id="findings">Findings</h3>
          <p class="hint">Each object was simplified as far as the finding stays.</p>
          {failed.map((result, index) => (
            <Finding key={anchor(result)} result={result} opened={index < OPENED} />
          ))}
        </section>
      )}
      {report.losses.length > 0 && (
        <section aria-labelledby="losses">
          <h3 id="losses">Losses</h3>
          <DataTable
            caption="Fields that changed on the way to another version and back"
            head={["Pair", "Field", "Loss", "Times", "Acknowledged"]}
            numbers={[3]}
            rows={report.losses.map((loss) => [
              `${loss.from} → ${loss.to}`,
              <code key="path">{loss.path}</code>,
              loss.kind,
              formatNumber(loss.count),
              loss.acknowledged ?? <SignBadge key="no" level="error">no</SignBadge>,
            ])}
          />
        </section>
      )}
    </div>
  );
}

function resultCell(report: ProofReport, property: string, [from, to]: readonly [string, string]): MatrixCell {
  const found = report.results.find((result) => result.property === property && result.from === from && result.to === to);
  if (!found) return { level: "none", word: "does not apply" };
  return found.ok ? { level: "ok", word: "holds" } : { level: "error", text: "failed", href: `#${anchor(found)}` };
}

const LEVELS: Record<string, Level> = { dropped: "error", invented: "ok", changed: "warning" };

function Finding({ result, opened }: { result: PropertyResult; opened: boolean }): VNode {
  const { from, to, object, converted, returned } = result;
  const columns = [
    { version: from, label: "the object", object },
    { version: to, label: "converted", object: converted },
    { version: from, label: "and back", object: returned },
  ].filter((column) => column.object !== null);
  return (
    <article class="card error" id={anchor(result)}>
      <h4>
        {result.property} <span class="badge none">{`${from} → ${to}`}</span>
      </h4>
      <details open={opened}>
        <summary>
          {result.said}
          {result.differences.length > 0 && ": "}
          {result.differences.slice(0, 3).map((each) => (
            <code key={each.path}>{each.path} </code>
          ))}
        </summary>
        <div class="card-body">
          {result.raised && <p>Raised at <code>{result.raised}</code></p>}
          {result.edit && <p>A client edited the object: <code>{editText(result.edit)}</code></p>}
          {columns.length > 0 && (
            <VersionColumns
              label={`${result.property}: the object at each step`}
              showEqual={false}
              heads={columns.map((column, index) => ({ version: `${index + 1}. ${column.version}`, badges: <span>{column.label}</span> }))}
              rows={stepRows(columns.map((column) => ({ version: column.version, object: withoutNoise(column.object!) })))}
            />
          )}
          {result.differences.length > 0 && (
            <DataTable
              caption="Fields that differ"
              head={["Field", "Difference", "Expected", "Actual"]}
              rows={result.differences.map((each) => [
                <code key="path">{each.path}</code>,
                <SignBadge key="kind" level={LEVELS[each.kind] ?? "none"}>{each.kind}</SignBadge>,
                each.before === undefined ? "" : <code key="before">{inline(each.before)}</code>,
                each.after === undefined ? "" : <code key="after">{inline(each.after)}</code>,
              ])}
            />
          )}
          {result.advice && <p class="remark note">{result.advice}</p>}
          {result.way.length > 0 && (
            <ol class="plain">
              {result.way.map((step, index) => (
                <li key={index}>
                  <code>{step}</code>
                </li>
              ))}
            </ol>
          )}
          {result.repeat && (
            <pre class="code" tabIndex={0} role="region" aria-label="The command that repeats this finding">
              <code>{result.repeat}</code>
            </pre>
          )}
        </div>
      </details>
    </article>
  );
}

/** Align the steps of a conversion. What is missing at the other version is no loss if it comes back. */
function stepRows(columns: readonly Column[]): Row[] {
  const rows = align(columns);
  for (const { cells } of leavesOf(rows)) {
    for (const cell of cells) if (cell.mark === "lost") cell.note = "lost";
    if (cells.length === 3 && cells[2]!.mark === "same" && cells[1]!.mark === "lost") Object.assign(cells[1]!, { mark: "none", note: "" });
    if (cells.length === 3 && cells[1]!.mark === "only" && cells[2]!.value === undefined) cells[1]!.mark = "none";
  }
  return rows;
}

function editText({ path, before, after }: FieldDifference): string {
  if (after === undefined) return `${path} removed`;
  return before === undefined ? `${path} set to ${inline(after)}` : `${path} changed from ${inline(before)} to ${inline(after)}`;
}
