/** A watch over a streamed response, one JSON event per line. */
import { send } from "./client";
import type { WatchEvent } from "./types";

/**
 * Yield the events of one watch request until the server ends it. Throw ApiError if the server rejects the watch.
 * `onConnected` is called when the server has accepted the watch. An `ERROR` event, such as 410 Gone, is yielded as any other.
 */
export async function* watchEvents<T>(
  path: string,
  accept: string,
  signal: AbortSignal,
  onConnected: () => void,
): AsyncGenerator<WatchEvent<T>[]> {
  const response = await send(path, { accept, signal });
  onConnected();
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      const events = lines.filter(Boolean).map((line) => JSON.parse(line) as WatchEvent<T>);
      if (events.length) yield events;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
