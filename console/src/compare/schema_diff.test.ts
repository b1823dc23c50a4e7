import { expect, test } from "vitest";
import type { JsonMap } from "./json";
import { countChanges, defaultAt, diffSchemas, everyNode, typeName } from "./schema_diff";

const object = (properties: JsonMap, more: JsonMap = {}): JsonMap => ({ type: "object", properties, ...more });

function changes(before: JsonMap, after: JsonMap): string[] {
  const nodes = diffSchemas(object({ x: before }), object({ x: after }));
  return [...everyNode(nodes)].flatMap((node) => node.changes.map((change) => `${change.severity}: ${node.path} ${change.kind}`));
}

test.each([
  [{ type: "string" }, { type: "integer" }, ["breaking: x type changed"]],
  [{ type: "integer" }, { type: "number" }, ["harmless: x type widened"]],
  [{ type: "integer" }, { "x-kubernetes-int-or-string": true }, ["harmless: x type widened"]],
  [{ type: "integer", maximum: 10 }, { type: "integer", maximum: 5 }, ["breaking: x limit tightened"]],
  [{ type: "integer", minimum: 1 }, { type: "integer" }, ["harmless: x limit loosened"]],
  [{ type: "string", enum: ["a", "b"] }, { type: "string", enum: ["b", "c"] }, ["breaking: x enum narrowed", "harmless: x enum widened"]],
  [{ type: "string" }, { type: "string", enum: ["a"] }, ["breaking: x enum added"]],
  [{ type: "string", default: "a" }, { type: "string", default: "b" }, ["breaking: x default changed"]],
  [{ type: "string" }, { type: "string", default: "b" }, ["dangerous: x default added"]],
  [{ type: "string", pattern: "a" }, { type: "string", pattern: "b" }, ["dangerous: x pattern changed"]],
  [{ type: "string", nullable: true }, { type: "string" }, ["breaking: x not nullable"]],
  [{ type: "array", items: { type: "string" } }, { type: "array", items: { type: "integer" } }, ["breaking: x[*] type changed"]],
  [object({}), object({}, { "x-kubernetes-validations": [{ rule: "self.a > 1" }] }), ["breaking: x rule added"]],
  [object({}), object({}, { "x-kubernetes-validations": [{ rule: "self == oldSelf" }] }), ["dangerous: x rule added"]],
  [object({ a: { type: "string" } }), object({}), ["breaking: x.a field removed"]],
  [object({}), object({ a: { type: "string" } }), ["harmless: x.a field added"]],
  [object({ a: { type: "string" } }), object({ a: { type: "string" } }, { required: ["a"] }), ["breaking: x.a became required"]],
  [object({}), object({ a: { type: "string", default: "" } }, { required: ["a"] }), ["harmless: x.a field added"]],
  [object({}), object({ a: { type: "string" } }, { required: ["a"] }), ["breaking: x.a field added"]],
  [{ type: "string", description: "a" }, { type: "string", description: "b" }, []],
])("%j to %j", (before, after, expected) => {
  expect(changes(before as JsonMap, after as JsonMap)).toEqual(expected);
});

test("a removed field names the added field that is similar", () => {
  const [gone] = [...everyNode(diffSchemas(object({ cronSpec: { type: "string" } }), object({ cronSpecification: { type: "string" } })))].filter((node) => node.state === "removed");
  expect(gone!.changes[0]!.text).toContain("similar to cronSpecification");
});

test("counts and types", () => {
  expect(countChanges(diffSchemas(object({ a: { type: "string" } }), object({})))).toEqual({ breaking: 1, dangerous: 0, harmless: 0 });
  expect(typeName({ type: "array", items: { type: "string" } })).toBe("list of string");
  expect(typeName({ type: "object", additionalProperties: { type: "integer" } })).toBe("map of integer");
});

test("defaults are found through parents, lists and maps", () => {
  const schema = object({ spec: object({ retention: object({ count: { type: "integer", default: 14 } }, { default: {} }), ports: { type: "array", items: object({ protocol: { type: "string", default: "TCP" } }) }, limits: object({}, { default: { cpu: "1" } }) }) });
  expect(defaultAt(schema, "spec.retention.count")).toBe(14);
  expect(defaultAt(schema, "spec.ports[name=a].protocol")).toBe("TCP");
  expect(defaultAt(schema, "spec.limits.cpu")).toBe("1");
  expect(defaultAt(schema, "spec.other")).toBeUndefined();
});
