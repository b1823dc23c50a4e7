/**
 * The apply configuration of an edit.
 *
 * An edit applies the fields that it has changed, and the fields that the console applied before: an apply removes the
 * fields of its manager that it no longer contains. Everything else is left to its managers.
 */
import type { FieldSet, ManagedFields } from "../api/types";
import { itemSet } from "./field_managers";
import { isMap, sameValue, type FieldPath, type JsonMap } from "./field_path";

export const FIELD_MANAGER = "polykind-console";

/** Metadata that the server sets. An edit shows none of it. */
const SERVER_METADATA = ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/** Return the part of an object that a user can edit. */
export function editablePart(object: JsonMap, hasStatus: boolean): JsonMap {
  const metadata = { ...(object["metadata"] as JsonMap) };
  for (const name of SERVER_METADATA) delete metadata[name];
  const out: JsonMap = {};
  for (const name of ["apiVersion", "kind"]) if (name in object) out[name] = object[name];
  out["metadata"] = metadata;
  for (const [name, value] of Object.entries(object)) {
    if (!(name in out) && !(hasStatus && name === "status")) out[name] = value;
  }
  return out;
}

export interface Edit {
  /** The configuration to apply, or null if the edit changes nothing. */
  configuration: JsonMap | null;
  /** The fields that the edit removes. An apply removes them only if no other manager owns them. */
  removed: FieldPath[];
}

/** Return what to apply to turn `base` into `edited`. Both are editable parts of the same object. */
export function planEdit(base: JsonMap, edited: JsonMap, managedFields: readonly ManagedFields[] | undefined): Edit {
  const sets = (managedFields ?? []).map((entry) => entry.fieldsV1 ?? {});
  const own = managedFields?.find((entry) => entry.manager === FIELD_MANAGER && entry.operation === "Apply" && !entry.subresource);
  const removed: FieldPath[] = [];
  const walker = new Walker(removed);
  const part = walker.changed(base, edited, own?.fieldsV1, sets, []) ?? {};
  if (sameValue(base, edited)) return { configuration: null, removed };
  const { name, namespace } = edited["metadata"] as JsonMap;
  const metadata = { ...(part["metadata"] as JsonMap | undefined), name, ...(namespace ? { namespace } : {}) };
  return { configuration: { ...part, apiVersion: edited["apiVersion"], kind: edited["kind"], metadata }, removed };
}

class Walker {
  constructor(private readonly removed: FieldPath[]) {}

  /** Return the changed and owned parts of a map, or undefined if there are none. */
  changed(base: JsonMap, edited: JsonMap, own: FieldSet | undefined, sets: readonly FieldSet[], path: FieldPath): JsonMap | undefined {
    const out: JsonMap = {};
    for (const [key, value] of Object.entries(edited)) {
      const below = sets.flatMap((set) => set[`f:${key}`] ?? []);
      const found = key in base
        ? this.value(base[key], value, own?.[`f:${key}`], below, [...path, key])
        : value;
      if (found !== undefined) out[key] = found;
    }
    for (const key of Object.keys(base)) if (!(key in edited)) this.removed.push([...path, key]);
    return Object.keys(out).length ? out : undefined;
  }

  private value(base: unknown, edited: unknown, own: FieldSet | undefined, sets: readonly FieldSet[], path: FieldPath): unknown {
    if (sameValue(base, edited)) return own ? ownedPart(edited, own) : undefined;
    if (isMap(base) && isMap(edited)) return this.changed(base, edited, own, sets, path);
    const keys = Array.isArray(base) && Array.isArray(edited) ? mergeKeys(sets) : null;
    if (!keys) return edited;
    return this.items(base as unknown[], edited as unknown[], keys, own, sets, path);
  }

  /** Return the changed and owned items of a list whose items have keys. */
  private items(base: unknown[], edited: unknown[], keys: readonly string[], own: FieldSet | undefined, sets: readonly FieldSet[], path: FieldPath): unknown {
    const same = (one: unknown, other: unknown): boolean =>
      isMap(one) && isMap(other) && keys.every((key) => sameValue(one[key], other[key]));
    const out: unknown[] = [];
    for (const [index, item] of edited.entries()) {
      const before = base.find((candidate) => same(candidate, item));
      if (!isMap(item) || !isMap(before)) {
        out.push(item);
        continue;
      }
      const below = sets.flatMap((set) => itemSet(set, item, index) ?? []);
      const mine = own && itemSet(own, item, index);
      const found = this.value(before, item, mine, below, [...path, index]);
      if (found !== undefined) out.push({ ...pick(item, keys), ...(found as JsonMap) });
    }
    for (const [index, item] of base.entries()) {
      if (!edited.some((candidate) => same(candidate, item))) this.removed.push([...path, index]);
    }
    return out.length ? out : undefined;
  }
}

/** Return the names of the fields that identify the items of a list, or null if the list is replaced as a whole. */
function mergeKeys(sets: readonly FieldSet[]): string[] | null {
  for (const set of sets) {
    for (const key of Object.keys(set)) {
      if (key.startsWith("k:")) return Object.keys(JSON.parse(key.slice(2)) as JsonMap);
    }
  }
  return null;
}

/** Return the part of a value that a field set contains. */
function ownedPart(value: unknown, own: FieldSet): unknown {
  const names = Object.keys(own);
  if (names.length === 0) return value;
  if (Array.isArray(value)) {
    const out: unknown[] = [];
    for (const [index, item] of value.entries()) {
      const set = itemSet(own, item, index);
      if (!set) continue;
      const keys = names.flatMap((name) => (name.startsWith("k:") && own[name] === set ? Object.keys(JSON.parse(name.slice(2)) as JsonMap) : []));
      out.push(isMap(item) ? { ...pick(item, keys), ...(ownedPart(item, set) as JsonMap | undefined) } : item);
    }
    return out;
  }
  if (!isMap(value)) return value;
  const out: JsonMap = {};
  for (const [key, item] of Object.entries(value)) {
    const set = own[`f:${key}`];
    const found = set && ownedPart(item, set);
    if (found !== undefined) out[key] = found;
  }
  return Object.keys(out).length || "." in own ? out : undefined;
}

function pick(map: JsonMap, keys: readonly string[]): JsonMap {
  return Object.fromEntries(keys.map((key) => [key, map[key]]));
}
