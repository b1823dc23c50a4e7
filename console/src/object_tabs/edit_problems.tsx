/** Why an edit was not saved: conflicts with field managers, errors of fields, fields that stay. */
import type { RefObject, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../api/client";
import type { Conflict } from "../api/objects";
import { ColumnHeads, Scroller } from "../components/report_parts";
import { isMap, type FieldPath, type JsonMap } from "../objects/field_path";
import { valueAt } from "../objects/field_path";

/** Return a reference to an element that is scrolled into view when it appears. */
function useShown<T extends HTMLElement>(): RefObject<T | null> {
  const element = useRef<T>(null);
  useEffect(() => element.current?.scrollIntoView({ block: "nearest" }), []);
  return element;
}

export interface ConflictListProps {
  conflicts: readonly Conflict[];
  live: JsonMap;
  edited: JsonMap;
  onForce: () => void;
  onClose: () => void;
}

/** The conflicts of an apply, and the choice to take the fields over. */
export function ConflictList({ conflicts, live, edited, onForce, onClose }: ConflictListProps): VNode {
  return (
    <section class="card warning conflicts" role="alert" aria-labelledby="conflict" ref={useShown<HTMLElement>()}>
      <h2 id="conflict">Other field managers own fields that you have changed</h2>
      <Scroller label="Conflicts">
        <table>
          <ColumnHeads names={["Field", "Manager", "Now", "Yours"]} />
          <tbody>
            {conflicts.map(({ field, manager }) => (
              <tr key={`${field} ${manager}`}>
                <th scope="row">
                  <code>{field}</code>
                </th>
                <td>{manager}</td>
                <td>
                  <code>{shown(valueAt(live, conflictPath(live, field)))}</code>
                </td>
                <td>
                  <code>{shown(valueAt(edited, conflictPath(edited, field)))}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      <p>If you take the fields over, their managers no longer own them, and may set them back when they write again.</p>
      <div class="actions">
        <button type="button" class="danger" onClick={onForce}>
          Take over and apply
        </button>
        <button type="button" onClick={onClose}>
          Keep editing
        </button>
      </div>
    </section>
  );
}

function shown(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/** Return the path of a field such as `.spec.items[name="a"].size` in an object. */
export function conflictPath(object: JsonMap, field: string): FieldPath {
  const out: (string | number)[] = [];
  for (const match of field.matchAll(/\.([^.[\]]+)|\[((?:"(?:[^"\\]|\\.)*"|[^\]])*)\]/g)) {
    if (match[1] !== undefined) {
      out.push(match[1]);
      continue;
    }
    const list = valueAt(object, out);
    const wanted = [...match[2]!.matchAll(/(\w[\w.-]*)=("(?:[^"\\]|\\.)*"|[^,\]]+)/g)].map(([, key, value]) => [key!, JSON.parse(value!) as unknown] as const);
    if (wanted.length && Array.isArray(list)) {
      out.push(list.findIndex((item) => isMap(item) && wanted.every(([key, value]) => item[key] === value)));
    } else if (/^\d+$/.test(match[2]!)) out.push(Number(match[2]));
  }
  return out;
}

/** An error of the server, with a line for each field that it names. */
export function ErrorList({ error }: { error: ApiError }): VNode {
  return (
    <section class={`remark ${error.forbidden ? "note" : "error"} failure`} role="alert" ref={useShown<HTMLElement>()}>
      <h2>{error.forbidden ? "You may not change this object" : "The object was not saved"}</h2>
      {error.causes.length > 0 ? (
        <ul>
          {error.causes.map((cause) => (
            <li key={`${cause.field} ${cause.message}`}>
              {cause.field && <code>{cause.field}</code>} {cause.message}
            </li>
          ))}
        </ul>
      ) : (
        <p>{error.message}</p>
      )}
    </section>
  );
}

export interface KeptFieldListProps {
  keptFields: readonly { path: string; owners: readonly string[] }[];
  back: string;
  onReplace: () => void;
}

/** Fields that the user has removed, and that other managers keep. */
export function KeptFieldList({ keptFields, back, onReplace }: KeptFieldListProps): VNode {
  return (
    <section class="card warning conflicts" role="alert" aria-labelledby="kept-fields" ref={useShown<HTMLElement>()}>
      <h2 id="kept-fields">Applied, but other managers keep fields that you have removed</h2>
      <ul>
        {keptFields.map(({ path, owners }) => (
          <li key={path}>
            <code>{path}</code> {owners.length > 0 && <span class="hint">owned by {owners.join(", ")}</span>}
          </li>
        ))}
      </ul>
      <p>An apply removes only its own fields. Replacing the object removes them for all managers.</p>
      <div class="actions">
        <button type="button" class="danger" onClick={onReplace}>
          Replace the object
        </button>
        <a class="button" href={back}>
          Keep the fields
        </a>
      </div>
    </section>
  );
}
