/** Scrapes of /metrics while a page is open, and what is derived from two of them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { parseMetrics, type Sample } from "../compare/metrics";
import type { ApiError } from "./client";
import { send } from "./client";

export interface Scrape {
  /** The time in milliseconds. */
  time: number;
  samples: readonly Sample[];
}

export interface MetricsHistory<T> {
  latest: Scrape | null;
  /** What `derive` has returned for each two neighbouring scrapes, the oldest first. */
  points: readonly T[];
  error: ApiError | null;
}

const LENGTH = 200;
const FIRST = 1_000;

/** Scrape the metrics every `interval` milliseconds while the page is visible. */
export function useMetricsHistory<T>(interval: number, derive: (before: Scrape, after: Scrape) => T): MetricsHistory<T> {
  const [state, setState] = useState<MetricsHistory<T>>({ latest: null, points: [], error: null });
  const latest = useRef<Scrape | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    const load = async (): Promise<void> => {
      if (document.visibilityState === "hidden") return;
      try {
        const text = await (await send("/metrics", { accept: "text/plain", signal: controller.signal })).text();
        const before = latest.current;
        const after = { time: Date.now(), samples: parseMetrics(text) };
        latest.current = after;
        setState(({ points }) => ({ latest: after, error: null, points: before ? [...points, derive(before, after)].slice(-LENGTH) : points }));
      } catch (error) {
        if (controller.signal.aborted) return;
        setState((old) => ({ ...old, error: error as ApiError }));
        if ((error as ApiError).forbidden) clearInterval(timer);
      }
    };
    const timer = setInterval(() => void load(), interval);
    void load();
    // The second scrape comes early, so that there is something to show.
    const early = setTimeout(() => void load(), Math.min(FIRST, interval));
    return (): void => {
      clearTimeout(early);
      clearInterval(timer);
      controller.abort();
    };
  }, [interval]);
  return state;
}
