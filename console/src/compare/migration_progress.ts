/** How many objects of a kind are stored at each version. */
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
