import { expect, test } from "vitest";
import { align, differences, leavesOf, type Row } from "./alignment";
import { forEditor, inline, joinPath, withoutNoise, type JsonMap } from "./json";
import { similarity } from "./similarity";

const V1: JsonMap = { spec: { schedule: "0 3 * * *", bucket: "shop", path: "orders", retention: { count: 7 }, timeZone: "UTC" } };
const OLD: JsonMap = { spec: { cron: "0 3 * * *", target: "shop/orders", keep: 7 } };

function leaf(rows: Row[], path: string): Row {
  const found = [...leavesOf(rows)].find((row) => row.path === path);
  if (!found) throw new Error(`no row ${path} in ${[...leavesOf(rows)].map((row) => row.path).join(" ")}`);
  return found;
}

test("equal objects have equal rows only", () => {
  const rows = align([{ version: "a", object: V1 }, { version: "b", object: structuredClone(V1) }]);
  expect(rows.every((row) => row.equal)).toBe(true);
});

test("renamed, joined and lost fields are told apart", () => {
  const rows = align([{ version: "v1", object: V1 }, { version: "old", object: OLD }]);
  expect(leaf(rows, "spec.schedule").cells[1]).toMatchObject({ mark: "moved", note: "spec.cron", value: undefined });
  expect(leaf(rows, "spec.cron").cells[1]).toMatchObject({ mark: "moved", note: "spec.schedule" });
  expect(leaf(rows, "spec.bucket").cells[1]).toMatchObject({ mark: "moved", note: "spec.target" });
  expect(leaf(rows, "spec.target").cells[1]!.note).toBe("spec.bucket, spec.path");
  expect(leaf(rows, "spec.retention.count").cells[1]).toMatchObject({ mark: "moved", note: "spec.keep" });
  expect(leaf(rows, "spec.timeZone").cells[1]).toMatchObject({ mark: "lost", note: "" });
});

test("a field that was split names all its parts", () => {
  const rows = align([{ version: "old", object: OLD }, { version: "v1", object: V1 }]);
  expect(leaf(rows, "spec.target").cells[1]).toMatchObject({ mark: "moved", note: "spec.bucket, spec.path" });
  expect(leaf(rows, "spec.path").cells[1]).toMatchObject({ mark: "moved", note: "spec.target" });
});

test("values before an edit do not change the marks", () => {
  const columns = [{ keep: 3 }, { keep: 3 }, { keep: 7 }, { keep: 7 }].map((object, index) => ({ version: `${index % 2}`, object }));
  const row = leaf(align(columns, 0, 2), "keep");
  expect(row.cells.slice(0, 2).map((cell) => cell.mark)).toEqual(["same", "same"]);
  expect(row.equal).toBe(false);
});

test("thousands of different fields are aligned in a moment", () => {
  const many = (prefix: string): JsonMap => Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`${prefix}${index}`, `value ${prefix} ${index}`]));
  const rows = align([{ version: "a", object: many("x") }, { version: "b", object: many("y") }]);
  expect(rows.length).toBe(6000);
});

test("a value that says little moves only to a similar name", () => {
  const rows = align([{ version: "a", object: { on: true } }, { version: "b", object: { verbose: true } }]);
  expect(leaf(rows, "on").cells[1]!.mark).toBe("lost");
  const renamed = align([{ version: "a", object: { enable: true } }, { version: "b", object: { enabled: true } }]);
  expect(leaf(renamed, "enable").cells[1]!.mark).toBe("moved");
});

test("changed values, new values and defaults", () => {
  const defaultAt = (path: string): number | undefined => (path === "keep" ? 7 : undefined);
  const rows = align([{ version: "a", object: { x: 1 } }, { version: "b", object: { x: 2, keep: 7, z: "new" }, defaultAt }]);
  expect(leaf(rows, "x").cells.map((cell) => cell.mark)).toEqual(["changed", "changed"]);
  expect(leaf(rows, "keep").cells[1]!.mark).toBe("default");
  expect(leaf(rows, "z").cells[1]!.mark).toBe("only");
});

test("list items are aligned by their name, else by their position", () => {
  const rows = align([
    { version: "a", object: { ports: [{ name: "http", port: 80 }, { name: "https", port: 443 }], args: ["a"] } },
    { version: "b", object: { ports: [{ name: "https", port: 443 }], args: ["a", "b"] } },
  ]);
  expect(leaf(rows, "ports[name=https].port").equal).toBe(true);
  expect(leaf(rows, "ports[name=http].port").cells[1]!.mark).toBe("lost");
  expect(leaf(rows, "args[1]").cells[1]!.mark).toBe("only");
});

test("a version that cannot be shown marks nothing", () => {
  const rows = align([{ version: "a", object: { x: 1 } }, { version: "b", object: undefined }]);
  expect(leaf(rows, "x").cells[1]).toMatchObject({ mark: "none", value: undefined });
});

test("values of different types are one row", () => {
  const rows = align([{ version: "a", object: { x: { y: 1 } } }, { version: "b", object: { x: "1" } }]);
  expect(leaf(rows, "x").cells.map((cell) => cell.mark)).toEqual(["changed", "changed"]);
});

test("keys of other versions come after their predecessors", () => {
  const rows = align([{ version: "a", object: { a: 1, c: 1 } }, { version: "b", object: { a: 1, b: 1, c: 1 } }]);
  expect(rows.map((row) => row.key)).toEqual(["a", "b", "c"]);
});

test("differences between two objects", () => {
  expect(differences({ a: 1, b: { c: 1 } }, { b: { c: 2 }, d: [] })).toEqual([
    { path: "a", kind: "removed", before: 1, after: undefined },
    { path: "b.c", kind: "changed", before: 1, after: 2 },
    { path: "d", kind: "added", before: undefined, after: [] },
  ].sort((one, other) => one.path.localeCompare(other.path)) as never);
});

test("bookkeeping is noise, labels and annotations are not", () => {
  const object = { apiVersion: "a/v1", kind: "A", metadata: { name: "a", uid: "1", labels: { x: "y" }, managedFields: [] }, spec: {} };
  expect(withoutNoise(object)).toEqual({ metadata: { name: "a", labels: { x: "y" } }, spec: {} });
  expect(Object.keys(forEditor(object))).toEqual(["apiVersion", "kind", "metadata", "spec"]);
});

test("paths and values as text", () => {
  expect(joinPath("metadata.annotations", "example.com/a")).toBe('metadata.annotations["example.com/a"]');
  expect(inline("7")).toBe('"7"');
  expect(inline("daily")).toBe("daily");
  expect(inline(7)).toBe("7");
  expect(similarity("keep", "keeps")).toBeGreaterThan(0.6);
  expect(similarity("keep", "target")).toBe(0);
});
