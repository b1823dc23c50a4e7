/** CustomResourceDefinitions, and what the console reads from them. */
import type { Condition, KubeObject } from "./types";

export const CRDS = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" } as const;
export const CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: unknown };
}

export interface Crd extends KubeObject {
  spec: {
    group: string;
    scope: "Namespaced" | "Cluster";
    names: { plural: string; kind: string; singular?: string; shortNames?: string[]; categories?: string[] };
    versions: CrdVersion[];
    conversion?: { strategy: "None" | "Webhook" };
  };
  status?: { conditions?: Condition[]; storedVersions?: string[] };
}

export type Level = "ok" | "warning" | "error" | "note" | "none";

export interface Health {
  level: Level;
  label: string;
  message: string;
}

/** Return the health of a CRD's converter, from the condition ConversionHealthy that the server maintains. */
export function converterHealth(crd: Crd): Health {
  const found = crd.status?.conditions?.find((condition) => condition.type === "ConversionHealthy");
  if (found?.status === "False") return { level: "error", label: "Failing", message: found.message ?? "" };
  if (found?.reason === "CertificateExpires") {
    return { level: "warning", label: "Certificate ends soon", message: found.message ?? "" };
  }
  if (found?.status === "True") return { level: "ok", label: "Healthy", message: found.message ?? "" };
  if (found?.reason === "NoSuccessYet") return { level: "warning", label: "No success yet", message: found.message ?? "" };
  if (crd.spec.conversion?.strategy === "Webhook") {
    return { level: "note", label: "No failure", message: "No conversion has failed since the server started." };
  }
  return { level: "none", label: "None needed", message: "Strategy None: only apiVersion changes." };
}

/** Return a problem that keeps the CRD from being served, or "". */
export function crdProblem(crd: Crd): string {
  for (const condition of crd.status?.conditions ?? []) {
    const wanted = condition.type === "Established" || condition.type === "NamesAccepted" ? "True" : "";
    if (wanted && condition.status !== wanted) return `${condition.type}: ${condition.message ?? condition.reason ?? ""}`;
    if (condition.type === "NonStructuralSchema" && condition.status === "True") return condition.message ?? condition.type;
    if (condition.type === "Terminating" && condition.status === "True") return "The CRD is being deleted.";
  }
  return "";
}
