/** The states of an object since its page was opened. */
import { useEffect, useState } from "preact/hooks";
import type { KubeObject } from "../api/types";
import { readManagers } from "../objects/field_managers";
import { lineText, yamlLines } from "../objects/yaml_lines";
import { withoutManagedFields } from "./yaml_tab";

const MAX_ENTRIES = 100;

export interface HistoryEntry {
  resourceVersion: string;
  /** The time at which the console saw the state. */
  seen: number;
  lines: readonly string[];
  /** The managers whose fields differ from the state before. */
  writers: readonly string[];
  /** By manager: its entry in managedFields. */
  managed: ReadonlyMap<string, string>;
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
      const writers = [...managed].filter(([name, entry]) => before?.managed.get(name) !== entry).map(([name]) => name);
      return [...known, { resourceVersion, seen: Date.now(), lines: readLines(object), writers, managed }].slice(-MAX_ENTRIES);
    });
  }, [object]);
  return entries;
}

/** Return the YAML without what every write changes. */
function readLines(object: KubeObject): string[] {
  const { resourceVersion: _, ...metadata } = withoutManagedFields(object).metadata;
  return yamlLines({ ...object, metadata }).map(lineText);
}

function readManaged(object: KubeObject): Map<string, string> {
  return new Map(readManagers(object.metadata.managedFields).map((manager) => [manager.label, JSON.stringify([manager.time, manager.fields])]));
}
