/** Create an object from YAML. */
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, asApiError } from "../api/client";
import { findByKind, findKind, type Kind } from "../api/discovery";
import { createObject } from "../api/objects";
import { createPage, groupOfSegment, objectPage, objectsPage, type ResourceAddress } from "../api/paths";
import { RestoredNote } from "../components/draft_notes";
import { Empty } from "../components/feedback";
import { useSchema } from "../components/field_help";
import { kindsPending } from "../components/kinds_pending";
import { PageHead } from "../components/page_head";
import { YamlEditor } from "../components/yaml_editor";
import { useDraft } from "../drafts";
import { ErrorList } from "../object_tabs/edit_problems";
import type { JsonMap } from "../objects/field_path";
import { parseYaml } from "../objects/yaml_document";
import { yamlText } from "../objects/yaml_lines";
import { navigate, type PageProps } from "../router";

export default function CreatePage({ params, query }: PageProps): VNode {
  const resource = { group: groupOfSegment(params["group"]!), version: params["version"]!, plural: params["plural"]! };
  const kind = findKind(resource.group, resource.plural);
  const pending = kindsPending();
  if (pending) return pending;
  if (!kind) return <Empty page title="The server does not serve this kind" />;
  return <Create kind={kind} resource={resource} namespace={query.get("namespace") ?? ""} />;
}

function Create({ kind, resource, namespace }: { kind: Kind; resource: ResourceAddress; namespace: string }): VNode {
  const schema = useSchema(resource.group, resource.version, kind.kind);
  const empty = yamlText(template(kind, resource, namespace));
  const draft = useDraft(createPage(resource, namespace), () => ({ original: empty, start: null }));
  const text = useRef(draft.text);
  const [error, setError] = useState<ApiError | null>(null);
  const [valid, setValid] = useState(false);
  const [busy, setBusy] = useState(false);

  async function create(dryRun: boolean): Promise<void> {
    setBusy(true);
    setError(null);
    setValid(false);
    try {
      const parsed = parseYaml(text.current);
      if (!parsed.value) throw new ApiError(0, parsed.error);
      const target = findTarget(parsed.value);
      const result = await createObject(target.resource, target.namespace, parsed.value, { dryRun });
      if (dryRun) setValid(true);
      else {
        draft.discard();
        navigate(objectPage(target.resource, result.metadata.namespace ?? "", result.metadata.name));
      }
    } catch (failure) {
      setError(asApiError(failure));
    }
    setBusy(false);
  }

  function change(value: string): void {
    text.current = value;
    draft.keep(value);
  }

  function restart(): void {
    draft.restart();
    text.current = empty;
    setError(null);
  }

  return (
    <>
      <PageHead title={`Create ${kind.kind}`} crumbs={[{ label: kind.kind, href: objectsPage(resource, namespace) }]} />
      <RestoredNote draft={draft} onDiscard={restart} />
      <YamlEditor key={draft.round} label="New object as YAML" text={draft.text} schema={schema} onChange={change} onSave={() => void create(false)} />
      <div class="edit-actions">
        <button type="button" class="primary" disabled={busy} onClick={() => void create(false)}>
          Create
        </button>
        <button type="button" disabled={busy} onClick={() => void create(true)}>
          Validate
        </button>
        <a class="button" href={objectsPage(resource, namespace)} onClick={draft.discard}>
          Cancel
        </a>
      </div>
      {valid && (
        <p class="remark ok" role="status">
          The server would accept this object. Nothing has been saved.
        </p>
      )}
      {error && <ErrorList error={error} />}
    </>
  );
}

function template(kind: Kind, resource: ResourceAddress, namespace: string): JsonMap {
  const apiVersion = resource.group ? `${resource.group}/${resource.version}` : resource.version;
  const metadata = { name: "example", ...(kind.namespaced ? { namespace: namespace || "default" } : {}) };
  return { apiVersion, kind: kind.kind, metadata };
}

/** Return the collection of an object. The user may have pasted an object of another kind. */
function findTarget(object: JsonMap): { resource: ResourceAddress; namespace: string } {
  const apiVersion = String(object["apiVersion"] ?? "");
  const kind = findByKind(apiVersion, String(object["kind"] ?? ""));
  if (!kind) throw new ApiError(0, `The server does not serve ${String(object["kind"])} of ${apiVersion}.`);
  const metadata = object["metadata"] as JsonMap | undefined;
  const namespace = kind.namespaced ? String(metadata?.["namespace"] ?? "default") : "";
  return { resource: { group: kind.group, version: apiVersion.split("/").at(-1)!, plural: kind.plural }, namespace };
}
