/** Edit an object with server-side apply. Conflicts with other field managers are shown before they are overruled. */
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, asApiError } from "../api/client";
import { applyObject, readConflicts, replaceObject, type Conflict } from "../api/objects";
import { objectPage } from "../api/paths";
import type { KubeObject } from "../api/types";
import { DiffView } from "../components/diff_view";
import { RestoredNote } from "../components/draft_notes";
import { useSchema } from "../components/field_help";
import { YamlEditor } from "../components/yaml_editor";
import { useDraft } from "../drafts";
import { editablePart, FIELD_MANAGER, planEdit } from "../objects/apply_changes";
import { ownersOf, readManagers } from "../objects/field_managers";
import { formatPath, valueAt, type FieldPath, type JsonMap } from "../objects/field_path";
import { parseYaml } from "../objects/yaml_document";
import { lineText, yamlLines, yamlText } from "../objects/yaml_lines";
import type { ObjectAddress } from "../pages/object_page";
import { navigate } from "../router";
import { ConflictList, ErrorList, KeptFieldList } from "./edit_problems";

type Outcome =
  | { state: "editing" }
  | { state: "unchanged" }
  | { state: "failed"; error: ApiError }
  | { state: "conflict"; conflicts: Conflict[]; message: string }
  | { state: "preview"; before: string[]; after: string[] }
  | { state: "saved"; keptFields: { path: string; owners: string[] }[] };

export function EditTab({ address, object }: { address: ObjectAddress; object: KubeObject }): VNode {
  const { resource, kind, namespace, name } = address;
  const hasStatus = kind.versions.find((version) => version.version === resource.version)?.subresources.includes("status") ?? false;
  const draft = useDraft(objectPage(resource, namespace, name, "edit"), () => {
    const base = editablePart(object, hasStatus);
    return { original: yamlText(base), start: { base, resourceVersion: object.metadata.resourceVersion } };
  });
  const { base, resourceVersion } = draft.start;
  const text = useRef(draft.text);
  const [outcome, setOutcome] = useState<Outcome>({ state: "editing" });
  const [busy, setBusy] = useState(false);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const schema = useSchema(resource.group, resource.version, object.kind ?? kind.kind);
  const changedMeanwhile = object.metadata.resourceVersion !== resourceVersion && outcome.state !== "saved";
  const back = objectPage(resource, namespace, name);

  /** Run a write and show its outcome. */
  async function attempt(action: (edited: JsonMap, onWarning: (warning: string) => void) => Promise<Outcome>): Promise<void> {
    const parsed = parseYaml(text.current);
    if (!parsed.value) {
      setOutcome({ state: "failed", error: new ApiError(0, parsed.error) });
      return;
    }
    const seen: string[] = [];
    setBusy(true);
    setOutcome({ state: "editing" });
    try {
      setOutcome(await action(parsed.value, (warning) => seen.push(warning)));
    } catch (error) {
      const conflicts = readConflicts(error);
      const failure = asApiError(error);
      setOutcome(conflicts ? { state: "conflict", conflicts, message: failure.message } : { state: "failed", error: failure });
    }
    setWarnings(seen);
    setBusy(false);
  }

  function apply(options: { force?: boolean; dryRun?: boolean } = {}): Promise<void> {
    return attempt(async (edited, onWarning) => {
      const plan = planEdit(base, edited, object.metadata.managedFields);
      if (!plan.configuration) return { state: "unchanged" };
      const result = await applyObject(resource, namespace, name, plan.configuration, { ...options, onWarning });
      const after = editablePart(result, hasStatus);
      if (options.dryRun) return { state: "preview", before: yamlLines(editablePart(object, hasStatus)).map(lineText), after: yamlLines(after).map(lineText) };
      return finish(result, plan.removed.filter((path) => stillThere(base, after, path)));
    });
  }

  function replace(): Promise<void> {
    return attempt(async (edited, onWarning) => {
      const metadata = { ...(edited["metadata"] as JsonMap), resourceVersion: object.metadata.resourceVersion };
      const status = hasStatus && object["status"] !== undefined ? { status: object["status"] } : {};
      return finish(await replaceObject(resource, namespace, name, { ...edited, metadata, ...status }, { onWarning }), []);
    });
  }

  /** Return to the object, unless other managers keep fields that the edit has removed. */
  function finish(result: KubeObject, remaining: FieldPath[]): Outcome {
    const managers = readManagers(result.metadata.managedFields).filter((manager) => manager.name !== FIELD_MANAGER);
    const keptFields = remaining
      .map((path) => ({
        path: formatPath(path),
        owners: ownersOf(managers, base, path).map((index) => managers[index]!.label),
      }))
      // A field that no manager owns is back because it has a default.
      .filter(({ owners }) => owners.length > 0);
    draft.discard();
    if (keptFields.length === 0) navigate(back);
    return { state: "saved", keptFields };
  }

  function change(value: string): void {
    text.current = value;
    draft.keep(value);
  }

  function restart(): void {
    draft.restart();
    text.current = yamlText(editablePart(object, hasStatus));
    setOutcome({ state: "editing" });
  }

  return (
    <>
      <RestoredNote draft={draft} onDiscard={restart} />
      {changedMeanwhile && (
        <p class="remark note" role="status">
          The object has changed since you started to edit it. Only the fields that you change are applied.
        </p>
      )}
      <YamlEditor key={draft.round} label={`Edit ${name} as YAML`} text={draft.text} schema={schema} onChange={change} onSave={() => void apply()} />
      <div class="edit-actions">
        <button type="button" class="primary" disabled={busy} onClick={() => void apply()}>
          Apply
        </button>
        <button type="button" disabled={busy} onClick={() => void apply({ dryRun: true })}>
          Preview
        </button>
        <a class="button" href={back} onClick={draft.discard}>
          Cancel
        </a>
        <span class="hint">
          Server-side apply as <code>{FIELD_MANAGER}</code>
        </span>
      </div>
      <div role="status" class="edit-outcome">
        {outcome.state === "unchanged" && <p class="remark note">You have changed nothing.</p>}
        {warnings.map((warning) => (
          <p class="remark warning" key={warning}>
            {warning}
          </p>
        ))}
        {outcome.state === "preview" && (
          <figure>
            <figcaption>
              <strong>What would change</strong>
              <span>nothing has been saved</span>
            </figcaption>
            <DiffView before={outcome.before} after={outcome.after} label="Preview" />
          </figure>
        )}
      </div>
      {outcome.state === "conflict" && (
        <ConflictList
          conflicts={outcome.conflicts}
          live={object}
          edited={parseYaml(text.current).value ?? {}}
          onForce={() => void apply({ force: true })}
          onClose={() => setOutcome({ state: "editing" })}
        />
      )}
      {outcome.state === "failed" && <ErrorList error={outcome.error} />}
      {outcome.state === "saved" && outcome.keptFields.length > 0 && (
        <KeptFieldList keptFields={outcome.keptFields} back={back} onReplace={() => void replace()} />
      )}
    </>
  );
}

/** True if a field that an edit has removed is still in the result. Items of lists count by their number. */
function stillThere(base: JsonMap, result: JsonMap, path: FieldPath): boolean {
  if (typeof path.at(-1) !== "number") return valueAt(result, path) !== undefined;
  const [before, after] = [valueAt(base, path.slice(0, -1)), valueAt(result, path.slice(0, -1))];
  return Array.isArray(before) && Array.isArray(after) && after.length >= before.length;
}
