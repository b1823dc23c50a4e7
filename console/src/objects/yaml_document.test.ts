import { expect, it } from "vitest";
import { parseYaml, pathAt } from "./yaml_document";

const text = "spec:\n  size: 1\n  items:\n  - name: a\n    n: 2\n  - name: b\nstatus: {}\n";

it.each([
  ["size", ["spec", "size"]],
  ["1", ["spec", "size"]],
  ["items", ["spec", "items"]],
  ["n: 2", ["spec", "items", 0, "n"]],
  ["b\n", ["spec", "items", 1, "name"]],
  ["status", ["status"]],
])("finds the field at %j", (part, path) => {
  expect(pathAt(text, text.indexOf(part))).toEqual(path);
});

it("reports the first error", () => {
  expect(parseYaml("a: [1").error).not.toBe("");
  expect(parseYaml("- a").error).toBe("The document is not an object.");
  expect(parseYaml("a: 1").value).toEqual({ a: 1 });
});
