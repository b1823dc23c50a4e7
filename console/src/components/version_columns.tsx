/** An object at several versions as a table: one row per field, one column per version, differences in colour. */
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { leavesOf, type Cell, type Mark, type Row } from "../compare/alignment";
import { inline, isMap, type Json } from "../compare/json";
import { sameValue } from "../objects/field_path";
import { count } from "../format";
import { Icon } from "./icon";

export interface ColumnHead {
  version: string;
  badges: ComponentChildren;
  action?: ComponentChildren;
  error?: string;
}

/** Widths in rem. A table with more versions than fit scrolls sideways. */
const FIELD_WIDTH = 12;
const VERSION_WIDTH = 11;

const WORDS: Record<Mark, string> = {
  same: "",
  none: "",
  changed: "differs",
  moved: "",
  lost: "not in this version",
  only: "only here",
  default: "default",
};

/**
 * `rows` may have more cells than there are heads: the cells after them are the values before an edit, in the same
 * order.
 */
export function VersionColumns({ heads, rows, label, showEqual }: { heads: readonly ColumnHead[]; rows: readonly Row[]; label: string; showEqual: boolean }): VNode {
  return (
    <div class="scroller columns-scroller" tabIndex={0} role="region" aria-label={label}>
      <table class="version-columns" style={{ minWidth: `${FIELD_WIDTH + heads.length * VERSION_WIDTH}rem` }}>
        <caption class="hidden-text">{label}</caption>
        <colgroup>
          <col class="field-column" />
        </colgroup>
        <thead>
          <tr>
            <th scope="col">Field</th>
            {heads.map((head) => (
              <th key={head.version} scope="col">
                <span class="column-head">
                  <span class="column-version">{head.version}</span>
                  {head.badges}
                  {head.action}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {heads.some((head) => head.error) && (
            <tr>
              <th scope="row">Error</th>
              {heads.map((head) => (
                <td key={head.version} class={head.error ? "cell lost" : ""}>
                  {head.error}
                </td>
              ))}
            </tr>
          )}
          <Rows rows={rows} heads={heads} depth={0} showEqual={showEqual} />
        </tbody>
      </table>
    </div>
  );
}

function Rows(props: { rows: readonly Row[]; heads: readonly ColumnHead[]; depth: number; showEqual: boolean }): VNode {
  const out: VNode[] = [];
  let run: Row[] = [];
  const flush = (): void => {
    if (run.length) out.push(<EqualRows key={`equal ${run[0]!.path}`} {...props} rows={run} />);
    run = [];
  };
  for (const row of props.rows) {
    if (row.equal && !props.showEqual) {
      run.push(row);
      continue;
    }
    flush();
    out.push(<FieldRow key={row.path} {...props} row={row} />);
  }
  flush();
  return <>{out}</>;
}

/** Neighbouring fields that are equal in all versions, closed until the user opens them. */
function EqualRows(props: { rows: readonly Row[]; heads: readonly ColumnHead[]; depth: number }): VNode {
  const [open, setOpen] = useState(false);
  const leaves = [...leavesOf(props.rows)].length;
  const names = props.rows.map((row) => row.key).join(", ");
  return (
    <>
      <tr class="equal-rows">
        <th scope="row" colSpan={props.heads.length + 1}>
          <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)} style={{ marginLeft: `${props.depth}rem` }}>
            <Icon name={open ? "down" : "chevron"} />
            {count(leaves, "equal field")}
            <span class="equal-names">{names}</span>
          </button>
        </th>
      </tr>
      {open && <Rows rows={props.rows} heads={props.heads} depth={props.depth} showEqual />}
    </>
  );
}

function FieldRow(props: { row: Row; heads: readonly ColumnHead[]; depth: number; showEqual: boolean }): VNode {
  const { row, heads, depth } = props;
  const width = heads.length;
  const edited = row.cells.length > width;
  return (
    <>
      <tr class={row.children.length ? "container" : ""}>
        <th scope="row" title={row.path}>
          <code style={{ paddingLeft: `${depth}rem` }}>{row.key}</code>
        </th>
        {heads.map((head, at) => (
          <FieldCell
            key={head.version}
            cell={row.cells[at]!}
            before={edited ? row.cells[at + width] : undefined}
            container={row.children.length > 0}
          />
        ))}
      </tr>
      {row.children.length > 0 && <Rows {...props} rows={row.children} depth={depth + 1} />}
    </>
  );
}

function FieldCell({ cell, before, container }: { cell: Cell; before: Cell | undefined; container: boolean }): VNode {
  if (container) return <td class="cell" />;
  const edited = before !== undefined && !sameValue(cell.value, before.value);
  const note = cell.mark === "moved" ? `${cell.value === undefined ? "at" : "from"} ${cell.note}` : cell.note || WORDS[cell.mark];
  return (
    <td class={`cell ${cell.mark} ${edited ? "edited" : ""}`}>
      {edited && before.value !== undefined && (
        <del>
          <span class="hidden-text">before: </span>
          <Value value={before.value} />
        </del>
      )}
      {cell.value !== undefined && (edited ? <ins><span class="hidden-text">after the edit: </span><Value value={cell.value} /></ins> : <Value value={cell.value} />)}
      {edited && cell.value === undefined && <span class="cell-note">removed by saving</span>}
      {note && !(edited && cell.value === undefined) && <span class="cell-note">{note}</span>}
    </td>
  );
}

function Value({ value }: { value: Json }): VNode {
  const text = typeof value === "string" && value.includes("\n") ? value : inline(value);
  const long = text.length > 160 || isMap(value);
  return <code class={long ? "long" : ""}>{text}</code>;
}

/** What the colours mean. Each cell says it in words, too. */
export function Legend(): VNode {
  const entries: readonly [Mark, string][] = [
    ["changed", "another value"],
    ["moved", "at another place"],
    ["only", "only in this version"],
    ["default", "a default of this version"],
    ["lost", "not in this version"],
  ];
  return (
    <ul class="mark-legend" aria-label="Colours">
      {entries.map(([mark, text]) => (
        <li key={mark}>
          <span class={`mark-swatch cell ${mark}`} aria-hidden="true" />
          {text}
        </li>
      ))}
    </ul>
  );
}
