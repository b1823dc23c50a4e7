/** Fields that differ between two objects, with their values before and after. */
import type { VNode } from "preact";
import type { Difference } from "../compare/alignment";
import { inline } from "../compare/json";
import { DataTable, SignBadge, type Level } from "./report_parts";

const LEVELS: Record<Difference["kind"], Level> = { added: "ok", removed: "error", changed: "warning" };

export function DifferenceList({ label, differences, words = {} }: { label: string; differences: readonly Difference[]; words?: Partial<Record<Difference["kind"], string>> }): VNode {
  return (
    <DataTable
      caption={label}
      head={["Field", "Difference", "Before", "After"]}
      rows={differences.map((each) => [
        <code key="path">{each.path}</code>,
        <SignBadge key="kind" level={LEVELS[each.kind]}>
          {words[each.kind] ?? each.kind}
        </SignBadge>,
        each.before === undefined ? "" : <code key="before">{inline(each.before)}</code>,
        each.after === undefined ? "" : <code key="after">{inline(each.after)}</code>,
      ])}
    />
  );
}
