/** Version reports: the objects and clients that use each version of a CRD. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, requestJson } from "./client";

export interface VersionClient {
  user: string;
  agent: string;
  reads: number;
  writes: number;
  last: string;
}

export interface VersionUse {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated: boolean;
  storedObjects: number;
  managedObjects: number;
  clients: VersionClient[];
  /** The reasons why the version cannot be removed yet, each with its remedy. */
  hindrances: string[];
}

export interface VersionReport {
  definition: string;
  /** The start of the server, since which clients are counted. */
  since: string;
  versions: VersionUse[];
}

const PARALLEL = 2;
let running = 0;
const waiting: (() => void)[] = [];

/** Run a few requests at a time, so that a page with many CRDs does not occupy all connections of the browser. */
async function queued<T>(action: () => Promise<T>): Promise<T> {
  if (running >= PARALLEL) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await action();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

const REFRESH = 10_000;

export interface ReportState {
  report: VersionReport | null;
  error: ApiError | null;
}

/** Load the version report of a CRD, again when `revision` changes, and every ten seconds while the page is visible. */
export function useVersionReport(crd: string | null, revision: string): ReportState {
  const [state, setState] = useState<ReportState>({ report: null, error: null });
  useEffect(() => {
    if (crd === null) return undefined;
    const controller = new AbortController();
    const load = async (): Promise<void> => {
      if (document.visibilityState === "hidden") return;
      try {
        const report = await queued(() =>
          requestJson<VersionReport>(`/polykind/versions/${crd}`, { signal: controller.signal }),
        );
        if (!controller.signal.aborted) setState({ report, error: null });
      } catch (error) {
        if (controller.signal.aborted || !(error instanceof ApiError) || error.unreachable) return;
        setState({ report: null, error });
        clearInterval(timer);
      }
    };
    const timer = setInterval(() => void load(), REFRESH);
    void load();
    return (): void => {
      clearInterval(timer);
      controller.abort();
    };
  }, [crd, revision]);
  return state;
}
