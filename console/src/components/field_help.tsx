/** What the schema says about a field, and which managers own it. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadSchema, typeName, type KindSchema, type Schema } from "../api/openapi";
import type { Manager } from "../objects/field_managers";
import { formatPath, type FieldPath } from "../objects/field_path";

/** Return the schema of a kind: undefined while it is loaded, null if there is none. */
export function useSchema(group: string, version: string, kind: string): KindSchema | null | undefined {
  const [schema, setSchema] = useState<KindSchema | null | undefined>(undefined);
  useEffect(() => {
    let current = true;
    loadSchema(group, version, kind).then(
      (found) => current && setSchema(found),
      () => current && setSchema(null),
    );
    return (): void => {
      current = false;
    };
  }, [group, version, kind]);
  return schema;
}

export interface FieldHelpProps {
  schema: KindSchema | null | undefined;
  path: FieldPath | null;
  owners?: readonly { manager: Manager; color: number }[];
  /** What to do to see the help. */
  hint: string;
}

export function FieldHelp({ schema, path, owners = [], hint }: FieldHelpProps): VNode {
  return (
    <aside class="field-help card" aria-label="Field" aria-live="polite">
      {path === null || path.length === 0 ? (
        <p class="hint">{hint}</p>
      ) : (
        <>
          <p class="field-path">
            <code>{formatPath(path)}</code>
          </p>
          {schema ? <SchemaText kind={schema} path={path} /> : <p class="hint">{schema === null ? "The server has no schema for this kind." : "…"}</p>}
          {owners.length > 0 && (
            <div class="owners">
              <h3>Managed by</h3>
              <ul>
                {owners.map(({ manager, color }) => (
                  <li key={`${manager.label}${manager.operation}`}>
                    <span class={`swatch manager-${color}`} aria-hidden="true" />
                    {manager.label} <span class="hint">{manager.operation}</span>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </>
      )}
    </aside>
  );
}

function SchemaText({ kind, path }: { kind: KindSchema; path: FieldPath }): VNode {
  const schema = kind.at(path);
  if (!schema) return <p class="hint">The schema does not describe this field.</p>;
  const name = path.at(-1);
  const required = typeof name === "string" && (kind.at(path.slice(0, -1))?.required?.includes(name) ?? false);
  const inner = schema.type === "array" && schema.items ? kind.resolve(schema.items) : schema;
  const children = Object.entries(inner.properties ?? {});
  return (
    <>
      <p class="field-type">
        <span class="badge">{typeName(kind, schema)}</span>
        {required && <span class="badge note">required</span>}
      </p>
      {schema.description && <p class="field-description">{schema.description}</p>}
      {constraints(schema).map((text) => (
        <p key={text} class="hint">
          {text}
        </p>
      ))}
      {children.length > 0 && (
        <details open={children.length <= 8}>
          <summary>Fields</summary>
          <ul class="field-children">
            {children.map(([child, childSchema]) => (
              <li key={child}>
                <code>{child}</code> <span class="hint">{typeName(kind, kind.resolve(childSchema))}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** Return what a value must satisfy, as sentences. */
function constraints(schema: Schema): string[] {
  const out: string[] = [];
  const show = (value: unknown): string => JSON.stringify(value);
  if (schema.default !== undefined) out.push(`Default: ${show(schema.default)}`);
  if (schema.enum) out.push(`One of: ${schema.enum.map(show).join(", ")}`);
  if (schema.pattern) out.push(`Pattern: ${schema.pattern}`);
  const ranges: [number | undefined, number | undefined, string][] = [
    [schema.minimum, schema.maximum, "Value"],
    [schema.minLength, schema.maxLength, "Length"],
    [schema.minItems, schema.maxItems, "Number of items"],
  ];
  for (const [low, high, name] of ranges) {
    if (low !== undefined && high !== undefined) out.push(`${name}: ${low} to ${high}`);
    else if (low !== undefined) out.push(`${name}: at least ${low}`);
    else if (high !== undefined) out.push(`${name}: at most ${high}`);
  }
  return out;
}
