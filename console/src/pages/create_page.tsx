/** Create an object from YAML. */
import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { discoveryError, findByKind, findKind, kinds, type Kind } from "../api/discovery";
import { createObject } from "../api/objects";
import { groupOfSegment, objectPage, objectsPage, type ResourceAddress } from "../api/paths";
import { Empty, Failure, Loading } from "../components/feedback";
import { useSchema } from "../components/field_help";
import { PageHead } from "../components/page_head";
import { YamlEditor } from "../components/yaml_editor";
import { ErrorList } from "../object_tabs/edit_problems";
import type { JsonMap } from "../objects/field_path";
import { parseYaml } from "../objects/yaml_document";
import { yamlText } from "../objects/yaml_lines";
import { navigate, type PageProps } from "../router";

export default function CreatePage({ params, query }: PageProps): VNode {
  const resource = { group: groupOfSegment(params["group"]!), version: params["version"]!, plural: params["plural"]! };
  const kind = findKind(resource.group, resource.plural);
  if (!kinds.value) {
    if (discoveryError.value) return <Failure title="Cannot load the kinds" message={discoveryError.value} />;
    return <Loading label="Loading the kinds" />;
  }
  if (!kind) return <Empty title="The server does not serve this kind" />;
  return <Create kind={kind} resource={resource} namespace={query.get("namespace") ?? ""} />;
}

function Create({ kind, resource, namespace }: { kind: Kind; resource: ResourceAddress; namespace: string }): VNode {
  const schema = useSchema(resource.group, resource.version, kind.kind);
  const initial = useMemo(() => yamlText(template(kind, resource, namespace)), []);
  const text = useRef(initial);
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
      else navigate(objectPage(target.resource, result.metadata.namespace ?? "", result.metadata.name));
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, String(failure)));
    }
    setBusy(false);
  }

  return (
    <>
      <PageHead title={`Create ${kind.kind}`} crumbs={[{ label: kind.kind, href: objectsPage(resource, namespace) }]} />
      <YamlEditor label="New object as YAML" text={initial} schema={schema} onChange={(value) => (text.current = value)} onSave={() => void create(false)} />
      <div class="edit-actions">
        <button type="button" class="primary" disabled={busy} onClick={() => void create(false)}>
          Create
        </button>
        <button type="button" disabled={busy} onClick={() => void create(true)}>
          Validate
        </button>
        <a class="button" href={objectsPage(resource, namespace)}>
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
