/** Lists a collection and follows it with watches, as client-go's Reflector does. */
import { ApiError, asApiError } from "./client";
import { delay, pageVisible, reportConnection, untilVisible } from "./connection";
import { withQuery } from "./paths";
import type { ListMeta, Status, WatchEvent } from "./types";
import { watchEvents } from "./watch";

const FIRST_RETRY = 500;
const LONGEST_RETRY = 15_000;
/** How long a hidden page keeps its watch. A browser allows six connections to a server in all tabs together. */
const HIDDEN_GRACE = 20_000;

export interface ReflectorSource<T> {
  /** The path of the collection with its selectors, without `watch`. */
  path: string;
  accept: string;
  /** List everything and return the list's metadata. Called again if the server no longer has the last revision. */
  list: (signal: AbortSignal) => Promise<ListMeta>;
  /** Apply events in their order. */
  apply: (events: WatchEvent<T>[]) => void;
  /** Return the revision of a watched object. Tables have it in the metadata of the table. */
  revision: (object: T) => string | undefined;
  /**
   * Report an error of the list. With `final` it ends the reflector: a missing permission, or a kind that is no longer
   * served. Else the reflector tries again: for example, a conversion webhook may work later.
   */
  onError: (error: ApiError, final: boolean) => void;
}

/** Follow a collection until `signal` aborts. */
export async function reflect<T>(source: ReflectorSource<T>, signal: AbortSignal): Promise<void> {
  const id = Symbol(source.path);
  let revision = "";
  let retry = FIRST_RETRY;
  signal.addEventListener("abort", () => reportConnection(id, true), { once: true });
  while (!signal.aborted) {
    try {
      if (!pageVisible.value) await untilVisible(signal);
      if (signal.aborted) return;
      if (!revision) {
        revision = (await source.list(signal)).resourceVersion ?? "";
        reportConnection(id, true);
      }
      const outcome = await followOnce(source, revision, signal, (seen) => {
        revision = seen;
        retry = FIRST_RETRY;
      }, () => reportConnection(id, true));
      if (outcome === "expired") revision = "";
    } catch (error) {
      if (signal.aborted) return;
      const known = asApiError(error);
      if (known.code === 410) {
        revision = "";
        continue;
      }
      if (known.code >= 400 && known.code < 500 && known.code !== 429) {
        reportConnection(id, true);
        source.onError(known, true);
        return;
      }
      const failedList = !revision && !known.unreachable;
      if (failedList) source.onError(known, false);
      reportConnection(id, failedList);
      await delay(retry, signal);
      retry = Math.min(retry * 2, LONGEST_RETRY);
    }
  }
}

/** Run one watch until it ends. Return "expired" if the collection has to be listed again. */
async function followOnce<T>(
  source: ReflectorSource<T>,
  revision: string,
  signal: AbortSignal,
  onRevision: (revision: string) => void,
  onConnected: () => void,
): Promise<"ended" | "expired"> {
  const attempt = new AbortController();
  const abort = (): void => attempt.abort();
  signal.addEventListener("abort", abort, { once: true });
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const stop = pageVisible.subscribe((visible) => {
    clearTimeout(hidden);
    if (!visible) hidden = setTimeout(abort, HIDDEN_GRACE);
  });
  const path = withQuery(source.path, { watch: 1, allowWatchBookmarks: true, resourceVersion: revision });
  const joined = source.path.includes("?") ? `${source.path}&${path.slice(path.indexOf("watch="))}` : path;
  const started = performance.now();
  try {
    for await (const events of watchEvents<T>(joined, source.accept, attempt.signal, onConnected)) {
      const failed = events.find((event) => event.type === "ERROR");
      if (failed) {
        const status = failed.object as unknown as Status;
        if (status.code === 410) return "expired";
        throw new ApiError(status.code ?? 500, status.message ?? "the watch failed", status.reason);
      }
      source.apply(events.filter((event) => event.type !== "BOOKMARK"));
      const seen = source.revision(events.at(-1)!.object);
      if (seen) onRevision(seen);
    }
    // A server that stops ends its watches at once: do not ask it again in a loop.
    if (performance.now() - started < 1000) await delay(FIRST_RETRY, signal);
    return "ended";
  } catch (error) {
    if (attempt.signal.aborted && !signal.aborted) return "ended";
    throw error;
  } finally {
    stop();
    clearTimeout(hidden);
    signal.removeEventListener("abort", abort);
    abort();
  }
}
