/** The rows of the comparison of versions, before and after an edit. */
import type { ObjectVersions } from "../api/object_versions";
import type { Crd } from "../api/crd";
import { align, differences, type Column, type Difference, type Row } from "./alignment";
import { isMap, withoutNoise, type JsonMap } from "./json";
import { defaultAt } from "./schema_diff";

/** Return the rows. With a preview, the cells of the stored object follow those of the preview. */
export function versionRows(stored: ObjectVersions, preview: ObjectVersions | null, base: string, crd: Crd | null): Row[] {
  const shown = preview ? [...columnsOf(preview, crd), ...columnsOf(stored, crd)] : columnsOf(stored, crd);
  const at = shown.findIndex((column) => column.version === base && column.object !== undefined);
  const usable = at >= 0 ? at : Math.max(0, shown.findIndex((column) => column.object !== undefined));
  return align(shown, usable, preview ? preview.items.length : shown.length);
}

function columnsOf(versions: ObjectVersions, crd: Crd | null): Column[] {
  return versions.items.map(({ version, object }) => {
    const schema = crd?.spec.versions.find((entry) => entry.name === version)?.schema?.openAPIV3Schema;
    const column: Column = { version, object: object && withoutNoise(object) };
    return isMap(schema) ? { ...column, defaultAt: (path) => defaultAt(schema, path) } : column;
  });
}

export interface VersionDifferences {
  version: string;
  differences: Difference[];
}

/** Return, for each version, the fields in which two states of an object differ. */
export function stateDifferences(before: ObjectVersions, after: ObjectVersions): VersionDifferences[] {
  return before.items.flatMap(({ version, object }) => {
    const other = after.items.find((item) => item.version === version)?.object;
    if (!object || !other) return [];
    return [{ version, differences: differences(withoutNoise(object), withoutNoise(other)) }];
  });
}

/** Return the fields of an edited object that the saved object does not have, or has with another value. */
export function editLosses(edited: JsonMap, result: ObjectVersions, version: string): Difference[] {
  const saved = result.items.find((item) => item.version === version)?.object;
  if (!saved) return [];
  return differences(withoutNoise(edited), withoutNoise(saved)).filter(({ kind }) => kind !== "added");
}

/** Return the fields that saving adds to an edited object: defaults, and what admission sets. */
export function editAdditions(edited: JsonMap, result: ObjectVersions, version: string): Difference[] {
  const saved = result.items.find((item) => item.version === version)?.object;
  if (!saved) return [];
  return differences(withoutNoise(edited), withoutNoise(saved)).filter(({ kind, path }) => kind === "added" && !path.startsWith("metadata."));
}
