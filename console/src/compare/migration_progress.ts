/** How many objects of a kind are stored at each version. */
import type { VersionReport } from "../api/version_report";
import type { Sample } from "./metrics";

export interface StoredCount {
  version: string;
  count: number;
}

/** Return the stored objects of a resource by version, from the metric `polykind_stored_objects`. */
export function storedObjects(samples: readonly Sample[], group: string, resource: string): StoredCount[] {
  return samples
    .filter(({ name, labels }) => name === "polykind_stored_objects" && labels["group"] === group && labels["resource"] === resource)
    .map(({ labels, value }) => ({ version: labels["version"] ?? "", count: value }))
    .sort((one, other) => one.version.localeCompare(other.version));
}

/**
 * Return the stored objects of a resource by version, or null if they are unknown. Metrics are newer than a version
 * report, but they have only the resources that a client has used since the server started.
 */
export function storedCounts(samples: readonly Sample[], group: string, resource: string, report: VersionReport | null): StoredCount[] | null {
  const measured = storedObjects(samples, group, resource);
  if (measured.some((each) => each.count > 0)) return measured;
  return report && report.versions.map(({ name, storedObjects: count }) => ({ version: name, count }));
}
