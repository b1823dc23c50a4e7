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
  /** The manager of the last write, or "". */
  manager: string;
}

export function useHistory(object: KubeObject | null): readonly HistoryEntry[] {
  const [entries, setEntries] = useState<readonly HistoryEntry[]>([]);
  useEffect(() => {
    if (!object) return;
    const resourceVersion = object.metadata.resourceVersion ?? "";
    setEntries((known) => {
      if (known.at(-1)?.resourceVersion === resourceVersion) return known;
      const entry = { resourceVersion, seen: Date.now(), lines: readLines(object), manager: lastManager(object) };
      return [...known, entry].slice(-MAX_ENTRIES);
    });
  }, [object]);
  return entries;
}

/** Return the YAML without what every write changes. */
function readLines(object: KubeObject): string[] {
  const { resourceVersion: _, ...metadata } = withoutManagedFields(object).metadata;
  return yamlLines({ ...object, metadata }).map(lineText);
}

function lastManager(object: KubeObject): string {
  const managers = readManagers(object.metadata.managedFields);
  return managers.reduce((latest, manager) => (manager.time > (latest?.time ?? "") ? manager : latest), managers[0])?.label ?? "";
}
