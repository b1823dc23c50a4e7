/** An object as YAML. Colours at the left show the field managers; arrow keys move from line to line. */
import type { TargetedKeyboardEvent, VNode } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { ownersOf, type Manager } from "../objects/field_managers";
import type { FieldPath } from "../objects/field_path";
import { yamlLines, type YamlLine } from "../objects/yaml_lines";

/** The number of colours for managers. */
export const COLORS = 6;
const MAX_LINES = 4000;

export interface YamlViewProps {
  label: string;
  object: unknown;
  managers: readonly Manager[];
  /** The index of the manager whose fields are emphasized, or -1. */
  emphasis: number;
  onField: (path: FieldPath) => void;
}

export function YamlView({ label, object, managers, emphasis, onField }: YamlViewProps): VNode {
  const all = useMemo(() => yamlLines(object), [object]);
  const [complete, setComplete] = useState(false);
  const [current, setCurrent] = useState(-1);
  const lines = complete ? all : all.slice(0, MAX_LINES);
  const owners = useMemo(() => lines.map((line) => (line.key || line.dash ? ownersOf(managers, object, line.path) : [])), [lines, managers, object]);
  const id = useId();
  const root = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (current >= 0 && lines[current]) onField(lines[current].path);
  }, [current]);

  function onKeyDown(event: TargetedKeyboardEvent<HTMLDivElement>): void {
    const moves: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: lines.length - 1 };
    const wanted = moves[event.key];
    if (wanted === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(lines.length - 1, wanted));
    setCurrent(next);
    root.current?.querySelector(`#${CSS.escape(`${id}-${next}`)}`)?.scrollIntoView({ block: "nearest" });
  }

  return (
    <>
      <div
        class="lines yaml"
        ref={root}
        role="listbox"
        aria-label={label}
        aria-activedescendant={current >= 0 ? `${id}-${current}` : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        {lines.map((line, index) => (
          <div
            key={index}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            class={`line ${emphasis >= 0 ? (owners[index]!.includes(emphasis) ? "emphasized" : "faded") : ""}`}
            onPointerEnter={() => setCurrent(index)}
            onClick={() => setCurrent(index)}
          >
            <span class="stripes" aria-hidden="true">
              {owners[index]!.map((owner) => (
                <span key={owner} class={`stripe manager-${owner % COLORS}`} />
              ))}
            </span>
            <span class="line-number" aria-hidden="true">
              {index + 1}
            </span>
            <LineText line={line} />
          </div>
        ))}
      </div>
      {lines.length < all.length && (
        <button type="button" onClick={() => setComplete(true)}>
          Show all {all.length} lines
        </button>
      )}
    </>
  );
}

function LineText({ line }: { line: YamlLine }): VNode {
  return (
    <code>
      {" ".repeat(line.indent)}
      {line.dash && <span class="punctuation">- </span>}
      {line.key && (
        <>
          <span class="key">{line.key}</span>
          <span class="punctuation">:{line.text ? " " : ""}</span>
        </>
      )}
      <span class={scalarClass(line)}>{line.text}</span>
    </code>
  );
}

function scalarClass(line: YamlLine): string {
  if (/^(true|false|null|-?\d+(\.\d+)?)$/.test(line.text)) return "literal";
  return "scalar";
}
