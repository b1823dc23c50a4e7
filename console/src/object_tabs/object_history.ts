/** The states of an object since its page was opened. */
import { useEffect, useState } from "preact/hooks";
import type { KubeObject } from "../api/types";
import { readManagers, type Manager } from "../objects/field_managers";
import { withoutManagedFields } from "./yaml_tab";

const MAX_ENTRIES = 100;

export interface HistoryEntry {
  resourceVersion: string;
  /** The time at which the console saw the state. */
  seen: number;
  /** The object without what every write changes. */
  object: KubeObject;
  /** The managers that have written since the state before. */
  writers: readonly string[];
  /** By manager: its entry in managedFields. */
  managed: ReadonlyMap<string, Manager>;
}

export function useHistory(object: KubeObject | null): readonly HistoryEntry[] {
  const [entries, setEntries] = useState<readonly HistoryEntry[]>([]);
  useEffect(() => {
    if (!object) return;
    const resourceVersion = object.metadata.resourceVersion ?? "";
    setEntries((known) => {
      const before = known.at(-1);
      if (before?.resourceVersion === resourceVersion) return known;
      const managed = readManaged(object);
      const writers = [...managed].filter(([name, entry]) => hasWritten(before?.managed.get(name), entry)).map(([name]) => name);
      return [...known, { resourceVersion, seen: Date.now(), object: withoutBookkeeping(object), writers, managed }].slice(-MAX_ENTRIES);
    });
  }, [object]);
  return entries;
}

function withoutBookkeeping(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = withoutManagedFields(object).metadata;
  return { ...object, metadata };
}

function readManaged(object: KubeObject): Map<string, Manager> {
  return new Map(readManagers(object.metadata.managedFields).map((manager) => [manager.label, manager]));
}

/** True if a manager has a new time, or more fields within the same second. One that only loses fields has not written. */
function hasWritten(before: Manager | undefined, after: Manager): boolean {
  if (!before || before.time !== after.time) return true;
  return JSON.stringify(after.fields).length > JSON.stringify(before.fields).length;
}
