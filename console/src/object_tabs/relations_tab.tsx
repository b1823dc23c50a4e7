/** The owners of an object, and the objects that it owns. */
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, requestJson } from "../api/client";
import { findByKind, isListable, kinds, type Kind } from "../api/discovery";
import { collectionPath, objectPage, withQuery } from "../api/paths";
import type { KubeObject, ObjectList, OwnerReference } from "../api/types";
import { Empty } from "../components/feedback";
import { count } from "../format";

const METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PAGE = 500;

export function RelationsTab({ object }: { object: KubeObject }): VNode {
  const owners = object.metadata.ownerReferences ?? [];
  return (
    <div class="relations">
      <section aria-labelledby="owners">
        <h2 id="owners">Owners</h2>
        {owners.length === 0 ? (
          <p class="hint">No object owns this one.</p>
        ) : (
          <ul class="relation-list">
            {owners.map((owner) => (
              <li key={owner.uid}>
                <OwnerLink owner={owner} namespace={object.metadata.namespace ?? ""} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <Dependents object={object} />
    </div>
  );
}

function OwnerLink({ owner, namespace }: { owner: OwnerReference; namespace: string }): VNode {
  const kind = findByKind(owner.apiVersion, owner.kind);
  const version = owner.apiVersion.split("/").at(-1)!;
  const label = `${owner.kind} ${owner.name}`;
  return (
    <>
      {kind ? (
        <a href={objectPage({ group: kind.group, version, plural: kind.plural }, kind.namespaced ? namespace : "", owner.name)}>{label}</a>
      ) : (
        label
      )}
      {owner.controller && <span class="badge note">controller</span>}
    </>
  );
}

interface Dependent {
  kind: Kind;
  object: KubeObject;
}

interface Search {
  done: number;
  total: number;
  found: Dependent[];
  /** The kinds that the user may not list. */
  forbidden: string[];
}

/** The dependents. The API has no index of owners, so the console lists the metadata of all kinds when it is asked to. */
function Dependents({ object }: { object: KubeObject }): VNode {
  const [search, setSearch] = useState<Search | null>(null);
  const running = useRef(false);

  async function start(): Promise<void> {
    if (running.current) return;
    running.current = true;
    const candidates = (kinds.value ?? []).filter((kind) => isListable(kind) && (kind.namespaced || !object.metadata.namespace));
    const state: Search = { done: 0, total: candidates.length, found: [], forbidden: [] };
    setSearch({ ...state });
    const queue = [...candidates];
    const worker = async (): Promise<void> => {
      for (let kind = queue.shift(); kind; kind = queue.shift()) {
        try {
          state.found.push(...(await findDependents(kind, object)));
        } catch (error) {
          if (error instanceof ApiError && error.forbidden) state.forbidden.push(kind.plural);
        }
        state.done += 1;
        setSearch({ ...state });
      }
    };
    await Promise.all([worker(), worker()]);
    running.current = false;
  }

  const searching = search !== null && search.done < search.total;
  return (
    <section aria-labelledby="dependents">
      <h2 id="dependents">Dependents</h2>
      <div class="actions">
        <button type="button" disabled={searching} onClick={() => void start()}>
          {search ? "Search again" : "Search dependents"}
        </button>
        <span class="hint" role="status">
          {search === null && "Reads the metadata of all kinds that can refer to this object."}
          {searching && `${search.done} of ${search.total} kinds`}
          {search && !searching && `${count(search.found.length, "dependent")} in ${count(search.total, "kind")}`}
        </span>
      </div>
      {search && search.forbidden.length > 0 && (
        <p class="remark note">You may not list {search.forbidden.join(", ")}, so dependents of these kinds are not shown.</p>
      )}
      {search && !searching && search.found.length === 0 && <Empty title="No object depends on this one" />}
      {search && search.found.length > 0 && (
        <ul class="relation-list">
          {search.found.map(({ kind, object: dependent }) => {
            const { namespace = "", name, uid } = dependent.metadata;
            const address = { group: kind.group, version: kind.versions[0]!.version, plural: kind.plural };
            return (
              <li key={uid}>
                <a href={objectPage(address, namespace, name)}>
                  {kind.kind} {namespace && namespace !== object.metadata.namespace ? `${namespace}/` : ""}
                  {name}
                </a>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

async function findDependents(kind: Kind, owner: KubeObject): Promise<Dependent[]> {
  const address = { group: kind.group, version: kind.versions[0]!.version, plural: kind.plural };
  const path = collectionPath(address, kind.namespaced ? (owner.metadata.namespace ?? "") : "");
  const out: Dependent[] = [];
  let token = "";
  do {
    const list: ObjectList = await requestJson(withQuery(path, { limit: PAGE, continue: token }), { accept: METADATA });
    for (const item of list.items) {
      if (item.metadata.ownerReferences?.some((reference) => reference.uid === owner.metadata.uid)) out.push({ kind, object: item });
    }
    token = list.metadata.continue ?? "";
  } while (token);
  return out;
}
