/** Live collections of whole objects. Components that use the same collection share one watch. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, requestJson } from "./client";
import { reflect } from "./reflector";
import type { KubeObject, ListMeta, ObjectList, WatchEvent } from "./types";

const JSON_TYPE = "application/json";
/** How long an unused collection is kept, so that a page that is opened again shows it at once. */
const LINGER = 5_000;

export interface LiveState<T> {
  /** The objects, or null until the first list. */
  objects: readonly T[] | null;
  error: ApiError | null;
}

interface Shared {
  state: ReturnType<typeof signal<LiveState<KubeObject>>>;
  controller: AbortController;
  users: number;
  timer?: ReturnType<typeof setTimeout>;
}

const shared = new Map<string, Shared>();

function keyOf(object: KubeObject): string {
  return object.metadata.uid ?? `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

function start(path: string): Shared {
  const state = signal<LiveState<KubeObject>>({ objects: null, error: null });
  const controller = new AbortController();
  let objects = new Map<string, KubeObject>();
  const publish = (): void => {
    state.value = { objects: [...objects.values()], error: null };
  };
  void reflect<KubeObject>(
    {
      path,
      accept: JSON_TYPE,
      list: async (abort): Promise<ListMeta> => {
        const list = await requestJson<ObjectList>(path, { signal: abort });
        objects = new Map(list.items.map((item) => [keyOf(item), item]));
        publish();
        return list.metadata;
      },
      apply: (events: WatchEvent<KubeObject>[]) => {
        for (const { type, object } of events) {
          if (type === "DELETED") objects.delete(keyOf(object));
          else objects.set(keyOf(object), object);
        }
        if (events.length) publish();
      },
      revision: (object) => object.metadata.resourceVersion,
      onError: (error, final) => {
        state.value = { objects: state.peek().objects, error };
        if (final) shared.delete(path);
      },
    },
    controller.signal,
  );
  return { state, controller, users: 0 };
}

/** Use a collection. Return its state and a function that releases it. */
export function followObjects(path: string): [ReadonlySignal<LiveState<KubeObject>>, () => void] {
  let entry = shared.get(path);
  if (!entry) {
    entry = start(path);
    shared.set(path, entry);
  }
  const found = entry;
  found.users += 1;
  clearTimeout(found.timer);
  return [
    found.state as ReadonlySignal<LiveState<KubeObject>>,
    (): void => {
      found.users -= 1;
      if (found.users > 0) return;
      found.timer = setTimeout(() => {
        found.controller.abort();
        if (shared.get(path) === found) shared.delete(path);
      }, LINGER);
    },
  ];
}

/** Stop all watches, for example when the user signs out. */
export function stopAllWatches(): void {
  for (const entry of shared.values()) entry.controller.abort();
  shared.clear();
}

const EMPTY: LiveState<never> = { objects: null, error: null };

/** Follow a collection while the component is mounted. A null path follows nothing. */
export function useLiveObjects<T extends KubeObject>(path: string | null): LiveState<T> {
  const [state, setState] = useState<LiveState<KubeObject>>(EMPTY);
  useEffect(() => {
    setState(EMPTY);
    if (path === null) return undefined;
    const [live, release] = followObjects(path);
    const stop = live.subscribe(setState);
    return (): void => {
      stop();
      release();
    };
  }, [path]);
  return state as LiveState<T>;
}
