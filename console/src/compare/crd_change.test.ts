import { expect, test } from "vitest";
import type { Crd, CrdVersion } from "../api/crd";
import { diffReleases, readCrd, readFindings } from "./crd_change";

const schema = (properties: object): NonNullable<CrdVersion["schema"]> => ({ openAPIV3Schema: { type: "object", properties } });
const crd = (...versions: CrdVersion[]): Crd =>
  ({ metadata: { name: "a.b" }, spec: { group: "b", scope: "Namespaced", names: { plural: "a", kind: "A" }, versions } }) as Crd;

test("versions come, go and change", () => {
  const before = crd({ name: "v1", served: true, storage: true, schema: schema({ x: { type: "string" } }) }, { name: "v0", served: false, storage: false });
  const after = crd({ name: "v1", served: true, storage: false, deprecated: true, schema: schema({}) }, { name: "v2", served: true, storage: true });
  const changes = diffReleases(before, after);
  expect(changes.map((change) => [change.version, change.remarks])).toEqual([
    ["v1", ["no longer the storage version", "deprecated now"]],
    ["v2", ["new, served, the storage version"]],
    ["v0", ["removed"]],
  ]);
  expect(changes[0]!.nodes[0]).toMatchObject({ path: "x", state: "removed" });
  expect(diffReleases(before, before)).toEqual([]);
});

test("the CRD is found among other documents", () => {
  const text = "kind: Namespace\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec: {versions: []}\n";
  expect(readCrd(text, "a.b").metadata.name).toBe("a.b");
  expect(() => readCrd(text, "c.d")).toThrow("a.b, and not c.d");
  expect(() => readCrd("kind: Namespace", "a.b")).toThrow("no CustomResourceDefinition");
  expect(() => readCrd("a: [", "a.b")).toThrow();
  expect(() => readCrd(text.replace("apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n"), "a.b")).toThrow("v1beta1");
});

test("warnings of a dry run are findings", () => {
  const found = readFindings([
    "breaking: v1 spec.note was removed [field-removed]",
    "dangerous: v1 spec.x got the default 1 [default-added]",
    "2 of 3 stored objects become invalid, for example default/a: spec.x",
    "only 2 of 3 stored objects were checked in the time of a dry run",
  ]);
  expect(found.map((each) => [each.level, each.severity, each.name])).toEqual([
    ["error", "breaking", "field-removed"],
    ["warning", "dangerous", "default-added"],
    ["error", "objects", ""],
    ["note", "", ""],
  ]);
  expect(found[0]!.text).toBe("v1 spec.note was removed");
});
