/** The state of the connection to the server, which the header shows. */
import { computed, signal } from "@preact/signals";

const lost = signal<ReadonlySet<symbol>>(new Set());

/** True while at least one watch tries to reconnect. */
export const reconnecting = computed(() => lost.value.size > 0);

/** Report that a watch has lost its connection, or that it has one again. */
export function reportConnection(watch: symbol, connected: boolean): void {
  if (connected !== lost.peek().has(watch)) return;
  const next = new Set(lost.peek());
  if (connected) next.delete(watch);
  else next.add(watch);
  lost.value = next;
}

/** True while the browser shows the page. */
export const pageVisible = signal(document.visibilityState !== "hidden");
document.addEventListener("visibilitychange", () => {
  pageVisible.value = document.visibilityState !== "hidden";
});

/** Wait until the page is visible. */
export function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = pageVisible.subscribe((visible) => {
      if (!visible && !signal.aborted) return;
      queueMicrotask(() => stop());
      resolve();
    });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Wait, or return at once when the signal aborts. */
export function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
