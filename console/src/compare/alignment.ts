/** One object at several versions, aligned field by field: a tree of rows with one cell per version. */
import { inline, isList, isMap, joinPath, type Json, type JsonMap } from "./json";
import { sameValue } from "../objects/field_path";
import { similarity } from "./similarity";

/**
 * - `same`: all versions have this value.
 * - `changed`: another version has another value at the same path.
 * - `moved`: the value is at another path in another version; `note` says where.
 * - `lost`: this version lacks the field, and no other field of it has the value.
 * - `only`: this version has a field that the base version lacks.
 * - `default`: as `only`, and the schema of this version sets the value as a default.
 * - `none`: there is nothing to say, for example in a version that cannot be shown.
 */
export type Mark = "same" | "changed" | "moved" | "lost" | "only" | "default" | "none";

export interface Cell {
  /** The value, or undefined if the version lacks the field. */
  value: Json | undefined;
  mark: Mark;
  /** For `moved` the other path, else words that replace the usual ones of the mark. */
  note: string;
}

export interface Row {
  path: string;
  key: string;
  cells: Cell[];
  children: Row[];
  /** True if all versions have the same value here and below. */
  equal: boolean;
}

export interface Column {
  version: string;
  /** The object, or undefined if it cannot be shown at this version. */
  object: JsonMap | undefined;
  /** Return the default that the schema of this version has at a path. */
  defaultAt?: (path: string) => Json | undefined;
}

/**
 * Align an object at several versions. `base` is the index of the version that the others are compared with. Columns
 * from `shown` on are aligned, too, but the marks of the columns before them do not depend on them.
 */
export function align(columns: readonly Column[], base = 0, shown = columns.length): Row[] {
  const rows = childRows(
    "",
    columns.map((column) => column.object),
    base,
    shown,
  );
  const leaves = [...leavesOf(rows)];
  columns.slice(0, shown).forEach((column, index) => {
    if (index === base || column.object === undefined || columns[base]?.object === undefined) return;
    markMoves(leaves, base, index);
  });
  for (const leaf of leaves) markDefaults(leaf, columns, base);
  for (const leaf of leaves) {
    leaf.cells.forEach((cell, index) => {
      if (columns[index]?.object === undefined) Object.assign(cell, { mark: "none", note: "" });
    });
  }
  return rows;
}

/** Yield the rows without children, from top to bottom. */
export function* leavesOf(rows: readonly Row[]): Generator<Row> {
  for (const row of rows) {
    if (row.children.length) yield* leavesOf(row.children);
    else yield row;
  }
}

function childRows(path: string, values: readonly (Json | undefined)[], base: number, shown: number): Row[] {
  const maps = values.map((value) => (isMap(value) ? value : undefined));
  return mergedKeys(maps, base).map((key) =>
    makeRow(
      joinPath(path, key),
      key,
      maps.map((map) => map?.[key]),
      base,
      shown,
    ),
  );
}

function makeRow(path: string, key: string, values: readonly (Json | undefined)[], base: number, shown: number): Row {
  const present = values.filter((value) => value !== undefined);
  let children: Row[] = [];
  if (present.every((value) => isMap(value) && Object.keys(value).length > 0)) children = childRows(path, values, base, shown);
  else if (present.every((value) => isList(value) && value.length > 0)) children = itemRows(path, values, base, shown);
  const same = present.length === values.length && values.every((value) => sameValue(value, values[base]));
  if (children.length) {
    const cells = values.map((value): Cell => ({ value, mark: same ? "same" : "none", note: "" }));
    return { path, key, cells, children, equal: same };
  }
  return { path, key, cells: leafCells(values, base, shown, same), children, equal: same };
}

function leafCells(values: readonly (Json | undefined)[], base: number, shown: number, same: boolean): Cell[] {
  const expected = values[base];
  return values.map((value, index) => {
    let mark: Mark = "changed";
    if (same) mark = "same";
    else if (value === undefined) mark = expected === undefined ? "none" : "lost";
    else if (expected === undefined) mark = "only";
    else if (index === base) mark = values.slice(0, shown).some((other) => other !== undefined && !sameValue(other, value)) ? "changed" : "same";
    else if (sameValue(value, expected)) mark = "same";
    return { value, mark, note: "" };
  });
}

const ITEM_KEYS = ["name", "key", "id", "type", "path"];

function itemRows(path: string, values: readonly (Json | undefined)[], base: number, shown: number): Row[] {
  const lists = values.map((value) => (isList(value) ? value : undefined));
  const key = ITEM_KEYS.find((candidate) => lists.every((list) => !list || isUniqueKey(list, candidate)));
  if (key !== undefined) {
    const byKey = lists.map((list) => list && Object.fromEntries(list.map((item) => [String((item as JsonMap)[key]), item])));
    return mergedKeys(byKey, base).map((name) =>
      makeRow(
        `${path}[${key}=${name}]`,
        name,
        byKey.map((items) => items?.[name]),
        base,
        shown,
      ),
    );
  }
  const length = Math.max(...lists.map((list) => list?.length ?? 0));
  return Array.from({ length }, (_, index) =>
    makeRow(
      `${path}[${index}]`,
      `${index}`,
      lists.map((list) => list?.[index]),
      base,
      shown,
    ),
  );
}

function isUniqueKey(list: readonly Json[], key: string): boolean {
  const found = list.map((item) => (isMap(item) ? item[key] : undefined));
  return found.every((value) => typeof value === "string") && new Set(found).size === found.length;
}

/** Return the keys of all maps: those of the base in their order, each other key after its predecessor, else last. */
function mergedKeys(maps: readonly (JsonMap | undefined)[], base: number): string[] {
  const out = Object.keys(maps[base] ?? {});
  for (const map of maps) {
    let at = -1;
    for (const key of Object.keys(map ?? {})) {
      const found = out.indexOf(key);
      if (found >= 0) at = found;
      else if (at >= 0) out.splice(++at, 0, key);
      else out.push(key);
    }
  }
  return out;
}

/** The number of fields that are compared with each other, so that large objects do not take seconds. */
const MAX_MOVES = 400;

/** Find values of the base version that are at another path in another version, alone or as a part of a text. */
function markMoves(leaves: readonly Row[], base: number, index: number): void {
  const gone = leaves.filter((leaf) => leaf.cells[index]!.mark === "lost").slice(0, MAX_MOVES);
  const fresh = leaves.filter((leaf) => leaf.cells[index]!.mark === "only" || (leaf.cells[base]!.value !== undefined && leaf.cells[index]!.mark === "changed")).slice(0, MAX_MOVES);
  for (const leaf of gone) {
    const value = leaf.cells[base]!.value!;
    const scored = fresh
      .map((candidate) => ({ candidate, score: moveScore(leaf, value, candidate, candidate.cells[index]!.value!) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score);
    const best = scored[0];
    if (!best) continue;
    const target = best.candidate.cells[index]!;
    Object.assign(leaf.cells[index]!, { mark: "moved", note: best.candidate.path });
    if (target.mark === "only" || target.mark === "moved") {
      target.note = target.mark === "moved" ? `${target.note}, ${leaf.path}` : leaf.path;
      target.mark = "moved";
    }
  }
  // A value that was split: several fields have a part of it.
  for (const leaf of fresh.filter((each) => each.cells[index]!.mark === "only")) {
    const cell = leaf.cells[index]!;
    const source = gone.find((each) => moveScore(leaf, cell.value!, each, each.cells[base]!.value!) > 0);
    if (!source) continue;
    const left = source.cells[index]!;
    Object.assign(cell, { mark: "moved", note: source.path });
    Object.assign(left, { mark: "moved", note: left.note ? `${left.note}, ${leaf.path}` : leaf.path });
  }
}

const SHORT = 3;

/** Return how likely a field has moved to another one; 0 if the values are unrelated. */
function moveScore(from: Row, value: Json, to: Row, other: Json): number {
  const names = similarity(from.key, to.key);
  if (sameValue(value, other)) {
    const telling = typeof value === "string" ? value.length >= SHORT : isMap(value) || isList(value) || (typeof value === "number" && Math.abs(value) > 1);
    return telling || names >= 0.6 ? 2 + names : 0;
  }
  const texts = [inline(value), inline(other)];
  if (texts.some((text) => text.length < SHORT) || typeof value === "boolean" || typeof other === "boolean") return 0;
  return texts[1]!.includes(texts[0]!) || texts[0]!.includes(texts[1]!) ? 1 + names : 0;
}

function markDefaults(leaf: Row, columns: readonly Column[], base: number): void {
  leaf.cells.forEach((cell, index) => {
    if (index === base || cell.mark !== "only" || cell.value === undefined) return;
    const wanted = columns[index]!.defaultAt?.(leaf.path);
    if (wanted !== undefined && sameValue(wanted, cell.value)) cell.mark = "default";
  });
}

export interface Difference {
  path: string;
  kind: "added" | "removed" | "changed";
  before: Json | undefined;
  after: Json | undefined;
}

/** Return the fields in which two objects differ. */
export function differences(before: JsonMap, after: JsonMap): Difference[] {
  const out: Difference[] = [];
  for (const leaf of leavesOf(align([{ version: "", object: before }, { version: "", object: after }]))) {
    if (leaf.equal) continue;
    const [one, other] = [leaf.cells[0]!.value, leaf.cells[1]!.value];
    const kind = one === undefined ? "added" : other === undefined ? "removed" : "changed";
    out.push({ path: leaf.path, kind, before: one, after: other });
  }
  return out;
}
