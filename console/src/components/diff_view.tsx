/** The difference of two texts, with signs in front of the lines. */
import type { VNode } from "preact";
import { diffLines, withContext } from "../objects/line_diff";

const CLASSES = { " ": "", "+": "added", "-": "removed", "…": "gap" } as const;
const NAMES = { " ": "", "+": "added: ", "-": "removed: ", "…": "" } as const;

export function DiffView({ before, after, label }: { before: readonly string[]; after: readonly string[]; label: string }): VNode {
  const lines = withContext(diffLines(before, after));
  if (lines.length === 0) return <p class="hint">No difference.</p>;
  return (
    <div class="lines diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map((line, index) => (
        <div key={index} class={`line ${CLASSES[line.sign]}`}>
          <span class="line-sign" aria-hidden="true">
            {line.sign}
          </span>
          <code>
            {NAMES[line.sign] && <span class="hidden-text">{NAMES[line.sign]}</span>}
            {line.text}
          </code>
        </div>
      ))}
    </div>
  );
}
