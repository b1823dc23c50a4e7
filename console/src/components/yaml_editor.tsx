/** The YAML editor with the help for the field at the cursor. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api/client";
import type { KindSchema } from "../api/openapi";
import type { FieldPath } from "../objects/field_path";
import { Failure } from "./feedback";
import { FieldHelp } from "./field_help";

export interface YamlEditorProps {
  label: string;
  /** The text at the start. Later changes of this property have no effect. */
  text: string;
  schema: KindSchema | null | undefined;
  onChange: (text: string) => void;
  onSave: () => void;
}

export function YamlEditor({ label, text, schema, onChange, onSave }: YamlEditorProps): VNode {
  const host = useRef<HTMLDivElement>(null);
  const save = useRef(onSave);
  save.current = onSave;
  const change = useRef(onChange);
  change.current = onChange;
  const [path, setPath] = useState<FieldPath | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let remove: (() => void) | undefined;
    let closed = false;
    import("./code_editor").then(
      ({ createEditor }) => {
        if (closed || !host.current) return;
        remove = createEditor(host.current, {
          label,
          text,
          onChange: (value) => change.current(value),
          onField: setPath,
          onSave: () => save.current(),
        });
      },
      (failure: unknown) => setError(errorMessage(failure)),
    );
    return (): void => {
      closed = true;
      remove?.();
    };
  }, []);
  if (error) return <Failure title="The editor cannot be loaded" message={error} />;
  return (
    <div class="with-help">
      <div class="editor" ref={host} />
      <FieldHelp schema={schema} path={path} hint="Move the cursor to a field to read what it means." />
    </div>
  );
}
