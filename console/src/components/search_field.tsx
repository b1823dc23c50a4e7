/** A field that filters what the page shows while the user types. */
import type { VNode } from "preact";

export function SearchField({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }): VNode {
  return <input type="search" placeholder={label} aria-label={label} value={value} onInput={(event) => onInput(event.currentTarget.value)} />;
}
