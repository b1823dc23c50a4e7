import { expect, test } from "vitest";
import { groupsOf, pairsOf, propertiesOf, readReport } from "./reports";

test("a report of prove", () => {
  const failed = { property: "there-and-back", from: "v1", to: "v2", ok: false, said: "lost", object: { spec: { a: 1 } }, differences: [{ path: "spec.a", kind: "dropped", before: 1 }] };
  const report = readReport(JSON.stringify({ definition: "a.b", ok: false, tested: 10, results: [{ property: "never-fails", from: "v1", to: "v2", ok: true }, failed], losses: [{ from: "v1", to: "v2", path: "spec.a", kind: "dropped", count: 3, acknowledged: null }] }));
  if (report.kind !== "prove") throw new Error(report.kind);
  expect(pairsOf(report)).toEqual([["v1", "v2"]]);
  expect(propertiesOf(report)).toEqual(["never-fails", "there-and-back"]);
  expect(report.results[1]).toMatchObject({ said: "lost", converted: null, advice: "", differences: [{ path: "spec.a", before: 1 }] });
  expect(report.results[1]!.differences[0]!.after).toBeUndefined();
});

test("a report of check", () => {
  const report = readReport(JSON.stringify({ counts: { breaking: 1 }, findings: [{ finding: "field-removed", severity: "breaking", file: "crd.yaml", line: 3 }], objects: { "a.b": { objects: 2, groups: [{ effect: "lost", count: 2, examples: ["x"] }] } } }));
  expect(report).toMatchObject({ kind: "check", counts: { breaking: 1 }, findings: [{ file: "crd.yaml", line: "3" }], objects: [{ crd: "a.b", groups: [{ count: 2 }] }] });
});

test("findings of check with the same meaning are a group, and the worst come first", () => {
  const removed = { finding: "field-removed", severity: "breaking", meaning: "It is dropped." };
  const findings = [{ finding: "default-added", severity: "info" }, { ...removed, path: "spec.a" }, { ...removed, path: "spec.b" }];
  const report = readReport(JSON.stringify({ counts: {}, findings, objects: {} }));
  if (report.kind !== "check") throw new Error(report.kind);
  expect(groupsOf(report).map((group) => group.map(({ path }) => path))).toEqual([["spec.a", "spec.b"], [""]]);
});

test("a report of rehearse groups findings that differ only in their objects", () => {
  const finding = { phase: "read", level: "error", version: "v1", field: "spec.a[0]", before: true };
  const report = readReport(JSON.stringify({ ok: false, steps: [{ release: "1", direction: "back", findings: [{ ...finding, object: "a" }, { ...finding, object: "b", field: "spec.a[1]" }] }] }));
  expect(report).toMatchObject({ kind: "rehearse", steps: [{ direction: "back", findings: [{ count: 2, object: "a" }] }] });
});

test("other files are rejected with the reason", () => {
  expect(() => readReport("kind: x")).toThrow("--json");
  expect(() => readReport("{}")).toThrow("not a report");
  expect(() => readReport("[1]")).toThrow("not a report");
});
