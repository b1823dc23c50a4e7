import { describe, expect, it } from "vitest";
import { editablePart, FIELD_MANAGER, planEdit } from "./apply_changes";
import type { ManagedFields } from "../api/types";

const base = {
  apiVersion: "g/v1",
  kind: "K",
  metadata: { name: "a", namespace: "n", labels: { x: "1" } },
  spec: { size: 1, note: "old", items: [{ name: "a", n: 1, m: 1 }, { name: "b", n: 2 }], list: [1, 2] },
};
const head = { apiVersion: "g/v1", kind: "K", metadata: { name: "a", namespace: "n" } };
const other: ManagedFields = {
  manager: "other",
  operation: "Update",
  fieldsV1: { "f:spec": { "f:size": {}, "f:items": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:n": {} } } } },
};

function edited(change: (object: typeof base) => void): typeof base {
  const copy = structuredClone(base);
  change(copy);
  return copy;
}

describe("planEdit", () => {
  it("applies nothing if nothing has changed", () => {
    expect(planEdit(base, edited(() => undefined), [other]).configuration).toBeNull();
  });

  it("applies only changed fields", () => {
    const plan = planEdit(base, edited((o) => (o.spec.note = "new")), [other]);
    expect(plan.configuration).toEqual({ ...head, spec: { note: "new" } });
    expect(plan.removed).toEqual([]);
  });

  it("applies only the changed item of a list with keys", () => {
    const plan = planEdit(base, edited((o) => (o.spec.items[1]!.n = 9)), [other]);
    expect(plan.configuration).toEqual({ ...head, spec: { items: [{ name: "b", n: 9 }] } });
  });

  it("applies other lists as a whole", () => {
    const plan = planEdit(base, edited((o) => o.spec.list.push(3)), [other]);
    expect(plan.configuration).toEqual({ ...head, spec: { list: [1, 2, 3] } });
  });

  it("keeps applying the fields that the console owns", () => {
    const own: ManagedFields = {
      manager: FIELD_MANAGER,
      operation: "Apply",
      fieldsV1: { "f:metadata": { "f:labels": { "f:x": {} } }, "f:spec": { "f:size": {}, "f:items": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:m": {} } } } },
    };
    const plan = planEdit(base, edited((o) => (o.spec.note = "new")), [own]);
    expect(plan.configuration).toEqual({
      ...head,
      metadata: { name: "a", namespace: "n", labels: { x: "1" } },
      spec: { size: 1, note: "new", items: [{ name: "a", m: 1 }] },
    });
  });

  it("names removed fields", () => {
    const plan = planEdit(base, edited((o) => {
      delete (o.spec as Partial<typeof o.spec>).note;
      o.spec.items.shift();
    }), [other]);
    expect(plan.removed).toEqual([["spec", "items", 0], ["spec", "note"]]);
    expect(plan.configuration).toEqual(head);
  });
});

it("hides what the server sets", () => {
  const object = { ...base, metadata: { ...base.metadata, uid: "u", resourceVersion: "1", managedFields: [] }, status: { ok: true } };
  expect(editablePart(object, true)).toEqual(base);
  expect(editablePart(object, false)).toEqual({ ...base, status: { ok: true } });
});
