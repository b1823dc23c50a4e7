/** Differences between two schemas as a tree of fields. */
import type { VNode } from "preact";
import type { Change, SchemaNode, Severity } from "../compare/schema_diff";
import { Badge } from "./badges";
import { SignBadge, type Level } from "./report_parts";

const LEVELS: Record<Severity, Level> = { breaking: "error", dangerous: "warning", harmless: "none" };
const STATES: Record<SchemaNode["state"], Level> = { added: "ok", removed: "error", present: "warning" };

/** With `between`, the names of two versions, the tree says which of them has a field, and nothing of consequences. */
export function SchemaTree({ nodes, label, between }: { nodes: readonly SchemaNode[]; label: string; between?: readonly [string, string] }): VNode {
  return (
    <ul class={between ? "schema-tree" : "schema-tree release-tree"} aria-label={label}>
      {nodes.map((node) => (
        <TreeNode key={node.path} node={node} between={between} depth={0} />
      ))}
    </ul>
  );
}

function TreeNode({ node, between, depth }: { node: SchemaNode; between: readonly [string, string] | undefined; depth: number }): VNode {
  return (
    <li class={node.state}>
      <div class="schema-field" style={{ "--depth": depth }}>
        <span class="schema-name" title={node.description}>
          <code>{node.name}</code> <span class="schema-type">{node.type}</span>
        </span>
        {node.changes.length > 0 && (
          <ul class="schema-changes">
            {node.changes.map((change) => (
              <li key={`${change.kind} ${change.text}`}>
                <ChangeText change={change} node={node} between={between} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {node.children.length > 0 && (
        <ul>
          {node.children.map((child) => (
            <TreeNode key={child.path} node={child} between={between} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}

function ChangeText({ change, node, between }: { change: Change; node: SchemaNode; between: readonly [string, string] | undefined }): VNode {
  const whole = between && (change.kind === "field added" || change.kind === "field removed");
  const level = between ? STATES[node.state] : LEVELS[change.severity];
  const kind = whole ? `only in ${between[change.kind === "field added" ? 1 : 0]}` : change.kind;
  return (
    <>
      {between ? <Badge level={level}>{kind}</Badge> : <SignBadge level={level}>{`${change.severity}: ${kind}`}</SignBadge>}
      {change.text && change.text !== node.type && <span class="schema-text">{change.text}</span>}
      {!between && change.consequence && <span class="hint">{change.consequence}</span>}
    </>
  );
}
