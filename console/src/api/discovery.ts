/** The kinds that the server serves, from aggregated discovery. */
import { signal } from "@preact/signals";
import { errorMessage, requestJson } from "./client";

/** A resource at one served version. */
export interface KindVersion {
  version: string;
  kind: string;
  namespaced: boolean;
  verbs: readonly string[];
  subresources: readonly string[];
}

/** A resource with its served versions, the preferred version first. */
export interface Kind {
  group: string;
  plural: string;
  kind: string;
  singular: string;
  shortNames: readonly string[];
  namespaced: boolean;
  versions: readonly KindVersion[];
}

interface DiscoveredResource {
  resource: string;
  responseKind?: { kind?: string };
  scope: "Namespaced" | "Cluster";
  singularResource?: string;
  shortNames?: string[];
  verbs: string[];
  subresources?: { subresource: string }[];
}

export interface DiscoveryDocument {
  items: { metadata?: { name?: string }; versions: { version: string; resources?: DiscoveredResource[] }[] }[];
}

const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export const kinds = signal<readonly Kind[] | null>(null);
export const discoveryError = signal("");

/** Load all kinds. A later call replaces them, for example after a CRD has changed. */
export async function loadKinds(): Promise<void> {
  try {
    const documents = await Promise.all(
      ["/api", "/apis"].map((path) => requestJson<DiscoveryDocument>(path, { accept: ACCEPT })),
    );
    kinds.value = documents.flatMap(readKinds);
    discoveryError.value = "";
  } catch (error) {
    discoveryError.value = errorMessage(error);
  }
}

/** Return the kinds of a discovery document. */
export function readKinds(document: DiscoveryDocument): Kind[] {
  const out: Kind[] = [];
  for (const group of document.items) {
    const found = new Map<string, Kind & { versions: KindVersion[] }>();
    for (const { version, resources } of group.versions) {
      for (const resource of resources ?? []) {
        const kind = resource.responseKind?.kind ?? "";
        let entry = found.get(resource.resource);
        if (!entry) {
          entry = {
            group: group.metadata?.name ?? "",
            plural: resource.resource,
            kind,
            singular: resource.singularResource ?? kind.toLowerCase(),
            shortNames: resource.shortNames ?? [],
            namespaced: resource.scope === "Namespaced",
            versions: [],
          };
          found.set(resource.resource, entry);
        }
        entry.versions.push({
          version,
          kind,
          namespaced: resource.scope === "Namespaced",
          verbs: resource.verbs,
          subresources: (resource.subresources ?? []).map((sub) => sub.subresource),
        });
      }
    }
    out.push(...found.values());
  }
  return out;
}

/** True if objects of the kind can be listed. Reviews, for example, cannot. */
export function isListable(kind: Kind): boolean {
  return kind.versions.some((version) => version.verbs.includes("list"));
}

export function findKind(group: string, plural: string): Kind | undefined {
  return kinds.value?.find((kind) => kind.group === group && kind.plural === plural);
}

/** Return the kind of an apiVersion and kind, as in owner references. */
export function findByKind(apiVersion: string, kind: string): Kind | undefined {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0]! : "";
  return kinds.value?.find((entry) => entry.group === group && entry.kind === kind && isListable(entry));
}
