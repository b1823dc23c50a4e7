/** The object as YAML, with the meaning and the managers of the field under the pointer. */
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { KubeObject } from "../api/types";
import { FieldHelp, useSchema } from "../components/field_help";
import { COLORS, YamlView } from "../components/yaml_view";
import { formatTime } from "../format";
import { ownersOf, readManagers, type Manager } from "../objects/field_managers";
import type { FieldPath } from "../objects/field_path";
import { hideSecretValues, isSecret } from "../objects/secret_values";
import type { ObjectAddress } from "../pages/object_page";

export function YamlTab({ address, object }: { address: ObjectAddress; object: KubeObject }): VNode {
  const schema = useSchema(address.resource.group, address.resource.version, object.kind ?? address.kind.kind);
  const [path, setPath] = useState<FieldPath | null>(null);
  const [emphasis, setEmphasis] = useState(-1);
  const [complete, setComplete] = useState(false);
  const [revealed, setRevealed] = useState(false);
  const managers = useMemo(() => readManagers(object.metadata.managedFields), [object]);
  const shown = useMemo(() => {
    const visible = revealed ? object : hideSecretValues(object);
    return complete ? visible : withoutManagedFields(visible);
  }, [object, complete, revealed]);
  const owners = path ? ownersOf(managers, object, path) : [];
  return (
    <>
      <div class="yaml-tools">
        {managers.length > 0 && (
          <ul class="legend" aria-label="Field managers">
            {managers.map((manager, index) => (
              <li key={index}>
                <button
                  type="button"
                  class="chip"
                  aria-pressed={emphasis === index}
                  title={describe(manager)}
                  onClick={() => setEmphasis(emphasis === index ? -1 : index)}
                >
                  <span class={`swatch manager-${index % COLORS}`} aria-hidden="true" />
                  {manager.label}
                </button>
              </li>
            ))}
          </ul>
        )}
        <span class="actions">
          {isSecret(object) && (
            <label class="check">
              <input type="checkbox" checked={revealed} onChange={(event) => setRevealed(event.currentTarget.checked)} />
              Show values
            </label>
          )}
          <label class="check">
            <input type="checkbox" checked={complete} onChange={(event) => setComplete(event.currentTarget.checked)} />
            Show managedFields
          </label>
        </span>
      </div>
      <div class="with-help">
        <figure class="yaml-figure">
          <YamlView label={`${address.name} as YAML`} object={shown} managers={managers} emphasis={emphasis} onField={setPath} />
        </figure>
        <FieldHelp schema={schema} path={path} hint="Point at a line, or move through the lines with the arrow keys, to read what its field means." owners={owners.map((index) => ({ manager: managers[index]!, color: index % COLORS }))} />
      </div>
    </>
  );
}

function describe(manager: Manager): string {
  const at = manager.time ? `, ${formatTime(manager.time)}` : "";
  return `${manager.operation} at ${manager.apiVersion}${at}. Press to emphasize its fields.`;
}

export function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
