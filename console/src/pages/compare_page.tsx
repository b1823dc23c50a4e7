/** One object at all its versions side by side. An edit at one version shows its effect on the others before it is saved. */
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parse, stringify } from "yaml";
import { ApiError, errorMessage, requestJson } from "../api/client";
import { CRDS_PATH, type Crd } from "../api/crd";
import { findKind } from "../api/discovery";
import { useLiveObjects } from "../api/live_objects";
import { previewWrite, readVersions, writeObject, type ObjectAddress, type ObjectVersions } from "../api/object_versions";
import { collectionPath, comparePage, groupOfSegment, kindPage, namespaceOfSegment, objectPage, objectsPage, withQuery } from "../api/paths";
import { forEditor, isMap, type JsonMap } from "../compare/json";
import { editAdditions, editLosses, stateDifferences, versionRows, type VersionDifferences } from "../compare/version_columns";
import { Badge } from "../components/badges";
import { RestoredNote, UnsavedEdit } from "../components/draft_notes";
import { DifferenceList } from "../components/difference_list";
import { ApiFailure, Failure, Loading } from "../components/feedback";
import { useSchema } from "../components/field_help";
import { kindsPending } from "../components/kinds_pending";
import { PageHead } from "../components/page_head";
import { RoundTrips } from "../components/round_trips";
import { Legend, VersionColumns, type ColumnHead } from "../components/version_columns";
import { YamlEditor } from "../components/yaml_editor";
import { useDraft } from "../drafts";
import { count } from "../format";
import { setQuery, type PageProps } from "../router";
import "../styles/compare.css";

export default function ComparePage({ params, query }: PageProps): VNode {
  const group = groupOfSegment(params["group"]!);
  const plural = params["plural"]!;
  const kind = findKind(group, plural);
  const pending = kindsPending();
  if (pending) return pending;
  if (!kind) return <Failure page title="There is no such kind" message={`The server serves no ${plural} in the group ${group || "core"}.`} />;
  const version = kind.versions[0]!.version;
  const address = { group, version, plural, namespace: namespaceOfSegment(params["namespace"]!), name: params["name"]! };
  return <Comparison key={JSON.stringify(address)} address={address} kindName={kind.kind} query={query} />;
}

function useCrd(group: string, plural: string): Crd | null {
  const [crd, setCrd] = useState<Crd | null>(null);
  useEffect(() => {
    if (!group.includes(".")) return;
    // Users without this permission see everything except defaults and states of versions.
    requestJson<Crd>(`${CRDS_PATH}/${plural}.${group}`).then(setCrd, () => setCrd(null));
  }, [group, plural]);
  return crd;
}

interface Stored {
  versions: ObjectVersions | null;
  error: ApiError | null;
}

function Comparison({ address, kindName, query }: { address: ObjectAddress; kindName: string; query: URLSearchParams }): VNode {
  const crd = useCrd(address.group, address.plural);
  const [stored, setStored] = useState<Stored>({ versions: null, error: null });
  const [loads, setLoads] = useState(0);
  const handled = useRef(-1);
  const [saved, setSaved] = useState("");
  const [preview, setPreview] = useState<Preview | null>(null);
  const live = useLiveObjects(
    withQuery(collectionPath(address, address.namespace), { fieldSelector: `metadata.name=${address.name}` }),
  );
  const editing = query.get("edit") ?? "";
  const revision = live.objects?.[0]?.metadata.resourceVersion ?? "";
  const shownRevision = revisionOf(stored.versions?.items.find((item) => item.object)?.object);
  useEffect(() => {
    if (handled.current === loads && revision !== "" && revision === shownRevision) return undefined;
    handled.current = loads;
    const controller = new AbortController();
    readVersions(address, controller.signal).then(
      (versions) => setStored({ versions, error: null }),
      (error: unknown) => !controller.signal.aborted && setStored({ versions: null, error: error as ApiError }),
    );
    return (): void => controller.abort();
  }, [loads, editing ? "" : revision]);
  const { versions, error } = stored;
  const base = query.get("base") ?? versions?.storageVersion ?? "";
  const rows = useMemo(
    () => (versions ? versionRows(versions, editing ? (preview?.result ?? null) : null, editing || base, crd) : []),
    [versions, preview, base, editing, crd],
  );
  if (error) return <ApiFailure page error={error} what={`read the ${kindName} ${address.name}`} />;
  if (!versions) return <Loading label="Reading the object at all versions" />;
  const stop = (): void => {
    setPreview(null);
    setQuery({ edit: "" });
  };
  const heads: ColumnHead[] = (preview?.result ?? versions).items.map(({ version, error: problem }) => ({
    version,
    badges: <VersionMarks version={version} storage={versions.storageVersion} crd={crd} />,
    ...(problem?.message && { error: problem.message }),
    ...(!editing && !problem && {
      action: (
        <button type="button" aria-label={`Edit at ${version}`} onClick={() => { setSaved(""); setQuery({ edit: version }); }}>
          Edit
        </button>
      ),
    }),
  }));
  const edited = versions.items.find((item) => item.version === editing)?.object;
  return (
    <>
      <PageHead
        title={address.name}
        crumbs={[
          { label: kindName, href: crd ? kindPage(address.group, address.plural) : objectsPage(address) },
          { label: address.namespace || "Objects", href: objectsPage(address, address.namespace) },
        ]}
        note={`${kindName} at ${count(versions.items.length, "served version")}, stored at ${versions.storageVersion}`}
      >
        <a class="button" href={objectPage({ ...address, version: versions.storageVersion || address.version }, address.namespace, address.name)}>
          Object
        </a>
      </PageHead>
      {saved && <p class="remark ok" role="status">{saved}</p>}
      {!editing && heads.map(({ version }) => <UnsavedEdit key={version} page={editorPage({ ...address, version })} version={version} />)}
      <div class={editing ? "compare editing" : "compare"}>
        {editing && edited && (
          <EditPanel
            key={`${editing} ${shownRevision} ${loads}`}
            address={{ ...address, version: editing }}
            stored={versions}
            object={edited}
            revision={revision}
            preview={preview}
            setPreview={setPreview}
            onReload={() => { setPreview(null); setLoads(loads + 1); }}
            onCancel={stop}
            onSaved={(text) => { setSaved(text); stop(); setLoads(loads + 1); }}
          />
        )}
        <section aria-labelledby="versions-title" class="compare-table">
          <div class="section-head">
            <h2 id="versions-title">{editing ? "What the edit changes" : "Versions side by side"}</h2>
            {!editing && versions.items.length > 1 && <BaseChoice versions={versions} base={base} />}
            <label class="check">
              <input type="checkbox" checked={query.get("equal") === "show"} onChange={(event) => setQuery({ equal: event.currentTarget.checked ? "show" : "" })} />
              Show equal fields
            </label>
          </div>
          <Legend />
          <VersionColumns heads={heads} rows={rows} label={`${address.name} at all versions`} showEqual={query.get("equal") === "show" || versions.items.length === 1} />
        </section>
      </div>
      {!editing && versions.items.length > 1 && <RoundTrips key={shownRevision} address={address} versions={versions} />}
    </>
  );
}

const editorPage = ({ group, version, plural, namespace, name }: ObjectAddress): string => comparePage(group, plural, namespace, name, version);

function revisionOf(object: JsonMap | undefined): string {
  const metadata = object?.["metadata"];
  return isMap(metadata) && typeof metadata["resourceVersion"] === "string" ? metadata["resourceVersion"] : "";
}

function VersionMarks({ version, storage, crd }: { version: string; storage: string; crd: Crd | null }): VNode {
  const entry = crd?.spec.versions.find((each) => each.name === version);
  return (
    <span class="badges">
      {version === storage && <Badge level="note">Storage</Badge>}
      {entry?.deprecated && <Badge level="warning">Deprecated</Badge>}
    </span>
  );
}

function BaseChoice({ versions, base }: { versions: ObjectVersions; base: string }): VNode {
  return (
    <label class="check">
      Compared with
      <select value={base} onChange={(event) => setQuery({ base: event.currentTarget.value === versions.storageVersion ? "" : event.currentTarget.value })}>
        {versions.items.map(({ version }) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </label>
  );
}

interface Preview {
  object: JsonMap;
  result: ObjectVersions;
  warnings: string[];
}

const PAUSE = 400;

function EditPanel(props: {
  address: ObjectAddress;
  stored: ObjectVersions;
  object: JsonMap;
  /** The current resourceVersion, or "" if it is unknown. */
  revision: string;
  preview: Preview | null;
  setPreview: (preview: Preview | null) => void;
  onReload: () => void;
  onCancel: () => void;
  onSaved: (text: string) => void;
}): VNode {
  const { address, preview } = props;
  const draft = useDraft(editorPage(address), () => ({
    original: stringify(forEditor(props.object), { lineWidth: 0 }),
    start: props.object,
  }));
  const { original: initial, start: object } = draft;
  const outdated = props.revision !== "" && props.revision !== revisionOf(object);
  const schema = useSchema(address.group, address.version, typeof object["kind"] === "string" ? object["kind"] : "");
  const [text, setText] = useState(draft.text);
  const [problem, setProblem] = useState<unknown>(null);
  const [roundTrip, setRoundTrip] = useState<VersionDifferences[]>([]);
  const [busy, setBusy] = useState<"" | "preview" | "save">("");
  useEffect(() => {
    if (!draft.restored) return undefined;
    // The first preview below is that of the edit.
    const controller = new AbortController();
    const unchanged = readEdited(initial, object);
    previewWrite(address, unchanged, { signal: controller.signal }).then(showRoundTrip, () => undefined);
    return (): void => controller.abort();
  }, []);
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => void show(controller.signal), text === initial ? 0 : PAUSE);
    return (): void => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);

  async function show(signal: AbortSignal): Promise<void> {
    setBusy("preview");
    try {
      const edited = readEdited(text, object);
      const warnings: string[] = [];
      const result = await previewWrite(address, edited, { signal, onWarning: (warning) => warnings.push(warning) });
      props.setPreview({ object: edited, result, warnings });
      if (text === initial) showRoundTrip(result);
      setProblem(null);
    } catch (error) {
      if (signal.aborted) return;
      props.setPreview(null);
      setProblem(error);
    }
    if (!signal.aborted) setBusy("");
  }

  /** Show what a write without a change would change. */
  function showRoundTrip(result: ObjectVersions): void {
    setRoundTrip(stateDifferences(props.stored, result).filter((each) => each.differences.length > 0));
  }

  function change(value: string): void {
    setText(value);
    draft.keep(value);
  }

  /** Run an action that ends the edit. */
  function end(action: () => void): void {
    draft.discard();
    action();
  }

  const changed = text !== initial;
  const savable = changed && busy === "" && problem === null && !outdated;

  async function save(): Promise<void> {
    if (!savable) return;
    setBusy("save");
    try {
      const warnings: string[] = [];
      await writeObject(address, readEdited(text, object), (warning) => warnings.push(warning));
      end(() => props.onSaved([`Saved at ${address.version}.`, ...warnings].join(" ")));
    } catch (error) {
      setProblem(error);
      setBusy("");
    }
  }

  return (
    <section aria-labelledby="edit-title" class="edit-panel">
      <div class="section-head">
        <h2 id="edit-title">Edit at {address.version}</h2>
        <span class="hint" role="status">
          {busy === "preview" ? "Asking the server…" : busy === "save" ? "Saving…" : problem ? "" : "Preview: nothing is saved yet"}
        </span>
      </div>
      {!outdated && <RestoredNote draft={draft} onDiscard={() => end(props.onReload)} />}
      <YamlEditor label={`YAML of ${address.name} at ${address.version}`} text={draft.text} schema={schema} onChange={change} onSave={() => void save()} />
      <div class="actions">
        <button type="button" class="primary" disabled={!savable} onClick={() => void save()}>
          Save at {address.version}
        </button>
        <button type="button" onClick={() => end(props.onCancel)}>
          Cancel
        </button>
      </div>
      {outdated && (
        <div class="remark warning" role="alert">
          <p>The object has changed since you began to edit it.</p>
          <button type="button" onClick={() => end(props.onReload)}>
            Discard the edit and load the new state
          </button>
        </div>
      )}
      {problem !== null && !outdated && <Problem problem={problem} />}
      {roundTrip.map((each) => (
        <div key={each.version} class="consequence">
          <p class="remark error" role="alert">
            <strong>
              Saving at {address.version} changes {count(each.differences.length, "field")} of {each.version}, whatever you edit.
            </strong>{" "}
            The object does not survive the way to {address.version} and back.
          </p>
          <DifferenceList label={`Fields of ${each.version} that change`} differences={each.differences} words={{ removed: "lost" }} />
        </div>
      ))}
      {preview && changed && <Consequences preview={preview} version={address.version} />}
    </section>
  );
}

/** Return the edited object with the identity of the stored one. Throw an Error if the text is not an object. */
function readEdited(text: string, stored: JsonMap): JsonMap {
  const value: unknown = parse(text);
  if (!isMap(value)) throw new Error("The text is not a YAML object.");
  const metadata = isMap(stored["metadata"]) ? stored["metadata"] : {};
  const edited = isMap(value["metadata"]) ? value["metadata"] : {};
  return { ...value, metadata: { ...edited, resourceVersion: metadata["resourceVersion"] ?? "" } };
}

function Problem({ problem }: { problem: unknown }): VNode {
  if (problem instanceof ApiError && problem.forbidden) return <ApiFailure error={problem} what="change this object" />;
  const causes = problem instanceof ApiError ? problem.causes.filter((cause) => cause.message) : [];
  return (
    <div class="remark error" role="alert">
      <p>{causes.length ? "The server rejects the edit:" : errorMessage(problem)}</p>
      {causes.length > 0 && (
        <ul class="plain">
          {causes.map((cause) => (
            <li key={`${cause.field} ${cause.message}`}>
              <code>{cause.field}</code> {cause.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Consequences({ preview, version }: { preview: Preview; version: string }): VNode {
  const losses = editLosses(preview.object, preview.result, version);
  const additions = editAdditions(preview.object, preview.result, version);
  return (
    <>
      {preview.warnings.map((text) => (
        <p key={text} class="remark warning">
          {text}
        </p>
      ))}
      {losses.length > 0 && (
        <div class="consequence">
          <p class="remark error" role="alert">
            <strong>{count(losses.length, "field")} of the edit will not be there after saving.</strong> The object is stored at {preview.result.storageVersion}, and read back at {version} it lacks them.
          </p>
          <DifferenceList label="Fields that are lost" differences={losses} words={{ removed: "lost", changed: "changed" }} />
        </div>
      )}
      {additions.length > 0 && (
        <div class="consequence">
          <p class="remark note">The server fills in {count(additions.length, "field")}: defaults, or what admission sets.</p>
          <DifferenceList label="Fields that are filled in" differences={additions} words={{ added: "filled in" }} />
        </div>
      )}
      {losses.length === 0 && additions.length === 0 && <p class="remark ok">The edit is read back as it is written.</p>}
    </>
  );
}
