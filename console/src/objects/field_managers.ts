/** Which field managers own which fields, from `managedFields`. */
import type { FieldSet, ManagedFields } from "../api/types";
import { isMap, type FieldPath } from "./field_path";

export interface Manager {
  /** The name with the subresource, if it is not the object itself: `controller (status)`. */
  label: string;
  name: string;
  operation: string;
  time: string;
  apiVersion: string;
  fields: FieldSet;
}

/** Return the managers of an object. */
export function readManagers(entries: readonly ManagedFields[] | undefined): Manager[] {
  return (entries ?? []).map((entry) => ({
    label: `${entry.manager || "unknown"}${entry.subresource ? ` (${entry.subresource})` : ""}`,
    name: entry.manager ?? "",
    operation: entry.operation ?? "",
    time: entry.time ?? "",
    apiVersion: entry.apiVersion ?? "",
    fields: entry.fieldsV1 ?? {},
  }));
}

/** Return the member of a field set for a list item: by its keys, by its value, or by its index. */
export function itemSet(fields: FieldSet, item: unknown, index: number): FieldSet | undefined {
  for (const [key, set] of Object.entries(fields)) {
    if (key.startsWith("k:") && isMap(item)) {
      const wanted = JSON.parse(key.slice(2)) as Record<string, unknown>;
      if (Object.entries(wanted).every(([name, value]) => item[name] === value)) return set;
    } else if (key.startsWith("v:") && JSON.stringify(item) === JSON.stringify(JSON.parse(key.slice(2)))) {
      return set;
    }
  }
  return fields[`i:${index}`];
}

/** True if a field set contains a field. A set without members contains everything below it. */
export function owns(fields: FieldSet, root: unknown, path: FieldPath): boolean {
  let set: FieldSet | undefined = fields;
  let value = root;
  for (const [depth, part] of path.entries()) {
    if (depth > 0 && Object.keys(set).length === 0) return true;
    if (typeof part === "number") {
      const item: unknown = Array.isArray(value) ? value[part] : undefined;
      set = itemSet(set, item, part);
      value = item;
    } else {
      set = set[`f:${part}`];
      value = isMap(value) ? value[part] : undefined;
    }
    if (!set) return false;
  }
  return Object.keys(set).length === 0 || "." in set;
}

/** Return the indexes of the managers that own a field. */
export function ownersOf(managers: readonly Manager[], root: unknown, path: FieldPath): number[] {
  return managers.flatMap((manager, index) => (owns(manager.fields, root, path) ? [index] : []));
}
