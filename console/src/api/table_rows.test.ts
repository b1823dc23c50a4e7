import { expect, it } from "vitest";
import { TableRows } from "./table_rows";
import type { TableRow } from "./types";

const row = (name: string, cell: unknown = name): TableRow => ({ cells: [cell], object: { metadata: { name, namespace: "n" } } });
const names = (rows: TableRows): string[] => rows.rows.map((found) => String(found.cells[0]));

it("keeps pages and watched rows in the order of their keys", () => {
  const rows = new TableRows(100);
  rows.addPage([row("b"), row("d")]);
  rows.put(row("c"));
  rows.put(row("z"));
  rows.addPage([row("e"), row("f")]);
  rows.finishList();
  rows.put(row("a"));
  expect(names(rows)).toEqual(["a", "b", "c", "d", "e", "f", "z"]);
});

it("prefers watch events to later pages of the older list", () => {
  const rows = new TableRows(100);
  rows.addPage([row("a")]);
  rows.put(row("x", "new"));
  rows.remove(row("y"));
  rows.addPage([row("x", "old"), row("y", "old")]);
  rows.finishList();
  expect(names(rows)).toEqual(["a", "new"]);
});

it("replaces and removes rows", () => {
  const rows = new TableRows(100);
  rows.addPage([row("a"), row("b"), row("c")]);
  rows.finishList();
  rows.put(row("b", "changed"));
  rows.remove(row("c"));
  rows.remove(row("unknown"));
  expect(names(rows)).toEqual(["a", "changed"]);
});

it("is bounded", () => {
  const rows = new TableRows(2);
  rows.addPage([row("a"), row("b"), row("c")]);
  rows.put(row("d"));
  rows.put(row("a", "changed"));
  expect(names(rows)).toEqual(["changed", "b"]);
  expect(rows.full).toBe(true);
});
