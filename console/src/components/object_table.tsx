/** A table of objects with virtual scrolling, sorting by columns, and movement by arrow keys. */
import type { TargetedKeyboardEvent, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row } from "../api/table_rows";
import type { TableColumn } from "../api/types";
import { age } from "../format";
import { scrollToRow, visibleRows } from "./virtual_rows";

const ROW_HEIGHT = 37;
const HEAD_HEIGHT = 38;
const SAMPLE = 200;

export interface ObjectTableProps {
  label: string;
  columns: readonly TableColumn[];
  /** True to show the columns of a lower priority, too. */
  wide: boolean;
  rows: readonly Row[];
  /** True to show the namespace of each object. */
  namespaces: boolean;
  href: (row: Row) => string;
}

interface ShownColumn {
  name: string;
  description: string;
  numeric: boolean;
  text: (row: Row, now: number) => string;
  /** The value to sort by. */
  value: (row: Row) => unknown;
}

interface Sorting {
  column: string;
  descending: boolean;
}

function shownColumns(columns: readonly TableColumn[], wide: boolean, namespaces: boolean): ShownColumn[] {
  const shown = columns.flatMap((column, index): ShownColumn[] => {
    const { name, description, priority } = column;
    if (priority > 0 && !wide) return [];
    if (name === "Age") {
      // The server's text was right when it was sent. This one stays right.
      const text = (row: Row, now: number): string => (row.created ? age(row.created, now) : "<unknown>");
      return [{ name, description, numeric: false, text, value: (row) => -row.created }];
    }
    const numeric = column.type === "integer" || column.type === "number";
    return [{ name, description, numeric, text: (row) => cellText(row.cells[index]), value: (row) => row.cells[index] }];
  });
  if (!namespaces) return shown;
  const namespace: ShownColumn = {
    name: "Namespace", description: "", numeric: false, text: (row) => row.namespace, value: (row) => row.namespace,
  };
  return [shown[0]!, namespace, ...shown.slice(1)];
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function compare(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [a, b] = [cellText(one), cellText(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

export function ObjectTable({ label, columns, wide, rows, namespaces, href }: ObjectTableProps): VNode {
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [view, setView] = useState({ top: 0, height: 600, bars: 0 });
  const [active, setActive] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const focusActive = useRef(false);
  const now = useNow();
  const shown = useMemo(() => shownColumns(columns, wide, namespaces), [columns, wide, namespaces]);
  const sorted = useMemo(() => sortRows(rows, shown, sorting), [rows, shown, sorting]);
  const widths = useWidths(shown, rows, now);

  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = (): void => setView(readView(element));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return (): void => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  const { first, end } = visibleRows(view.top, view.height, ROW_HEIGHT, sorted.length);
  const current = Math.min(active, Math.max(0, sorted.length - 1));
  // A layout effect, because a passive effect of an earlier render may run after the key press and focus the old row.
  useLayoutEffect(() => {
    if (!focusActive.current) return;
    focusActive.current = false;
    scroller.current?.querySelector<HTMLElement>(`[data-row="${current}"] a`)?.focus({ preventScroll: true });
  });

  function onKeyDown(event: TargetedKeyboardEvent<HTMLDivElement>): void {
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 2);
    const moves: Record<string, number> = {
      ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page, Home: 0, End: sorted.length - 1,
    };
    const wanted = moves[event.key];
    if (wanted === undefined || sorted.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(sorted.length - 1, wanted));
    const element = scroller.current!;
    element.scrollTop = scrollToRow(next, element.scrollTop, element.clientHeight, ROW_HEIGHT, HEAD_HEIGHT);
    focusActive.current = true;
    setActive(next);
    setView(readView(element));
  }

  function toggle(column: string): void {
    if (sorting?.column !== column) setSorting({ column, descending: false });
    else setSorting(sorting.descending ? null : { column, descending: true });
  }

  return (
    <div class="scroller objects" ref={scroller} onKeyDown={onKeyDown} tabIndex={-1} role="region" aria-label={label} style={{ maxHeight: `${HEAD_HEIGHT + sorted.length * ROW_HEIGHT + view.bars}px` }}>
      <table aria-rowcount={sorted.length + 1} style={{ minWidth: `${widths.reduce((sum, width) => sum + width, 0)}ch` }}>
        <colgroup>
          {widths.map((width, index) => (
            <col key={index} style={{ width: `${width}ch` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {shown.map((column) => {
              const direction = sorting?.column === column.name ? (sorting.descending ? "descending" : "ascending") : undefined;
              return (
                <th key={column.name} scope="col" class={column.numeric ? "number" : ""} aria-sort={direction} title={column.description}>
                  <button class="sort" type="button" onClick={() => toggle(column.name)}>
                    {column.name}
                    <span aria-hidden="true">{direction ? (direction === "ascending" ? " ↑" : " ↓") : ""}</span>
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Spacer rows={first} columns={shown.length} />}
          {sorted.slice(first, end).map((row, offset) => {
            const index = first + offset;
            return (
              <tr key={row.key} data-row={index} aria-rowindex={index + 2} class={row.deleting ? "deleting" : ""}>
                {shown.map((column, position) => {
                  const text = column.text(row, now);
                  if (position === 0) {
                    return (
                      <th key={column.name} scope="row">
                        <a href={href(row)} title={text.length > 20 ? text : undefined} tabIndex={index === current ? 0 : -1} onFocus={() => setActive(index)}>
                          {text}
                        </a>
                        {row.deleting && <span class="badge warning">Deleting</span>}
                      </th>
                    );
                  }
                  return (
                    <td key={column.name} class={column.numeric ? "number" : ""} title={text.length > 20 ? text : undefined}>
                      {text}
                    </td>
                  );
                })}
              </tr>
            );
          })}
          {end < sorted.length && <Spacer rows={sorted.length - end} columns={shown.length} />}
        </tbody>
      </table>
    </div>
  );
}

/** Return the visible part of the table, and the height of its borders and its horizontal scroll bar. */
function readView(element: HTMLElement): { top: number; height: number; bars: number } {
  return { top: element.scrollTop, height: element.clientHeight, bars: element.offsetHeight - element.clientHeight };
}

function Spacer({ rows, columns }: { rows: number; columns: number }): VNode {
  return (
    <tr aria-hidden="true" class="spacer" style={{ height: `${rows * ROW_HEIGHT}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}

function sortRows(rows: readonly Row[], columns: readonly ShownColumn[], sorting: Sorting | null): readonly Row[] {
  const column = sorting && columns.find((entry) => entry.name === sorting.column);
  if (!column) return rows;
  const sign = sorting.descending ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(column.value(a), column.value(b)));
}

/** Return the width of each column in characters, from the first rows. Scrolling must not change the widths. */
function useWidths(columns: readonly ShownColumn[], rows: readonly Row[], now: number): number[] {
  const sample = rows.length > SAMPLE ? SAMPLE : rows.length;
  return useMemo(
    () =>
      columns.map((column, index) => {
        let width = column.name.length + 3;
        for (let at = 0; at < sample; at += 1) width = Math.max(width, column.text(rows[at]!, now).length);
        return Math.min(index === 0 ? 56 : 36, width) * 0.95 + 4;
      }),
    [columns, sample],
  );
}

/** The current time, every five seconds. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return (): void => clearInterval(timer);
  }, []);
  return now;
}
