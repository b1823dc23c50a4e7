/** Differences between schemas of a CRD: between two of its versions, and between the stored CRD and a new one. */
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ApiError, errorMessage, send } from "../api/client";
import { CRDS_PATH, type Crd } from "../api/crd";
import { useLiveObjects } from "../api/live_objects";
import { groupOfSegment, kindPage, kindsPage, schemaDiffPage, withQuery } from "../api/paths";
import { diffReleases, readCrd, readFindings, schemaOf, type Finding } from "../compare/crd_change";
import { countChanges, diffSchemas, everyNode, type Severity } from "../compare/schema_diff";
import { ApiFailure, Empty, Loading } from "../components/feedback";
import { FileInput } from "../components/file_input";
import { PageHead } from "../components/page_head";
import { Facts, SignBadge, Verdict, type Level } from "../components/report_parts";
import { SchemaTree } from "../components/schema_tree";
import { count } from "../format";
import { FIELD_MANAGER } from "../objects/apply_changes";
import { setQuery, type PageProps } from "../router";
import "../styles/compare.css";

const TABS = [
  ["", "Between two versions"],
  ["new", "With a new CRD"],
] as const;

export default function SchemasPage({ params, query }: PageProps): VNode {
  const group = groupOfSegment(params["group"]!);
  const name = `${params["plural"]}.${group}`;
  const { objects, error } = useLiveObjects<Crd>(withQuery(CRDS_PATH, { fieldSelector: `metadata.name=${name}` }));
  const crd = objects?.[0];
  if (error) return <ApiFailure page error={error} what={`read the CustomResourceDefinition ${name}`} />;
  if (!objects) return <Loading label="Loading the schemas" />;
  if (!crd) return <Empty title={`There is no CustomResourceDefinition ${name}`} />;
  const tab = query.get("tab") === "new" ? "new" : "";
  return (
    <>
      <PageHead
        title="Schemas"
        crumbs={[
          { label: "Kinds", href: kindsPage() },
          { label: crd.spec.names.kind, href: kindPage(group, params["plural"]!) },
        ]}
        note={<code>{name}</code>}
      />
      <nav class="tabs" aria-label="Comparison">
        <ul>
          {TABS.map(([id, label]) => (
            <li key={id}>
              <a href={withQuery(schemaDiffPage(group, params["plural"]!), { tab: id })} aria-current={tab === id ? "page" : undefined}>
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {tab === "" ? <BetweenVersions crd={crd} query={query} /> : <NewRelease crd={crd} name={name} />}
    </>
  );
}

function BetweenVersions({ crd, query }: { crd: Crd; query: URLSearchParams }): VNode {
  const names = crd.spec.versions.map((version) => version.name);
  const storage = crd.spec.versions.find((version) => version.storage)?.name ?? names[0]!;
  const from = pick(query.get("from"), names) ?? names.find((name) => name !== storage) ?? storage;
  const to = pick(query.get("to"), names) ?? storage;
  const nodes = useMemo(() => {
    const [before, after] = [from, to].map((name) => schemaOf(crd.spec.versions.find((version) => version.name === name)));
    return diffSchemas(before!, after!);
  }, [crd, from, to]);
  const all = [...everyNode(nodes)];
  const only = (state: string): number => all.filter((node) => node.state === state).length;
  return (
    <section aria-labelledby="between">
      <div class="section-head">
        <h2 id="between">
          {from} and {to}
        </h2>
        <VersionSelect label="From" value={from} names={names} onChange={(value) => setQuery({ from: value })} />
        <VersionSelect label="To" value={to} names={names} onChange={(value) => setQuery({ to: value })} />
      </div>
      {from === to ? (
        <p class="hint">Choose two different versions.</p>
      ) : nodes.length === 0 ? (
        <Verdict level="ok">The schemas are equal</Verdict>
      ) : (
        <>
          <Facts
            facts={[
              [`Only in ${from}`, count(only("removed"), "field")],
              [`Only in ${to}`, count(only("added"), "field")],
              ["Changed in both", count(all.filter((node) => node.state === "present" && node.changes.length > 0).length, "field")],
            ]}
          />
          <SchemaTree nodes={nodes} label={`Differences between ${from} and ${to}`} between={[from, to]} />
        </>
      )}
    </section>
  );
}

const pick = (wanted: string | null, names: readonly string[]): string | undefined => names.find((name) => name === wanted);

function VersionSelect(props: { label: string; value: string; names: readonly string[]; onChange: (value: string) => void }): VNode {
  return (
    <label class="check">
      {props.label}
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface Review {
  crd: Crd;
  findings: Finding[];
  /** The reason why the server has not checked the CRD. */
  error: unknown;
}

function NewRelease({ crd, name }: { crd: Crd; name: string }): VNode {
  const [text, setText] = useState("");
  const [file, setFile] = useState("");
  const [review, setReview] = useState<Review | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);

  async function compare(manifest: string): Promise<void> {
    setBusy(true);
    setReview(null);
    setProblem("");
    try {
      const fresh = readCrd(manifest, name);
      const warnings: string[] = [];
      let error: unknown = null;
      try {
        const body = { ...fresh, metadata: { ...fresh.metadata, resourceVersion: crd.metadata.resourceVersion } };
        const path = withQuery(`${CRDS_PATH}/${name}`, { dryRun: "All", fieldManager: FIELD_MANAGER });
        await send(path, { method: "PUT", body, onWarning: (warning) => warnings.push(warning) });
      } catch (failure) {
        error = failure;
      }
      setReview({ crd: fresh, findings: readFindings(warnings), error });
    } catch (failure) {
      setProblem(errorMessage(failure));
    }
    setBusy(false);
  }

  return (
    <section aria-labelledby="release">
      <h2 id="release">Compare with a new CRD</h2>
      <p class="hint">
        Paste or open the manifest of the next release. The server checks it with a dry run, as <code>polykind check</code> does, against the stored CRD and the stored objects. Nothing is changed.
      </p>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault();
          void compare(text);
        }}
      >
        <textarea
          class="manifest"
          aria-label="Manifest of the new CRD"
          placeholder={`apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: ${name}`}
          spellcheck={false}
          rows={review ? 6 : 12}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <FileInput
          label="Open a file"
          accept=".yaml,.yml,.json"
          onText={(content, opened) => {
            setText(content);
            setFile(opened);
            void compare(content);
          }}
        >
          <button type="submit" disabled={busy || !text.trim()}>
            Compare
          </button>
          <span class="hint">{busy ? "Asking the server…" : file || "or drop a file here"}</span>
        </FileInput>
      </form>
      {problem && (
        <p class="remark error" role="alert">
          {problem}
        </p>
      )}
      {review && <ReleaseReview before={crd} review={review} />}
    </section>
  );
}

const LEVELS: Record<Severity, Level> = { breaking: "error", dangerous: "warning", harmless: "ok" };

function ReleaseReview({ before, review }: { before: Crd; review: Review }): VNode {
  const changes = diffReleases(before, review.crd);
  const counts = countChanges(changes.flatMap((change) => change.nodes));
  const { findings } = review;
  const objects = findings.filter((finding) => finding.severity === "objects");
  const rejected = review.error instanceof ApiError && !review.error.forbidden;
  const breaking = findings.some((finding) => finding.level === "error") || counts.breaking > 0;
  const worst: Severity = breaking || rejected ? "breaking" : findings.length || counts.dangerous ? "dangerous" : "harmless";
  const words = { breaking: "This release breaks something", dangerous: "Look at this release twice", harmless: changes.length ? "This release breaks nothing" : "Nothing has changed" };
  return (
    <div class="release">
      <Verdict level={LEVELS[worst]}>{rejected ? "The server rejects this CRD" : words[worst]}</Verdict>
      {review.error instanceof ApiError && (rejected ? <p class="remark error">{review.error.message}</p> : <ApiFailure error={review.error} what="check the CRD with the server" />)}
      {objects.length > 0 && (
        <section aria-labelledby="objects-title">
          <h3 id="objects-title">Stored objects</h3>
          {objects.map((finding) => (
            <p key={finding.text} class={`remark ${finding.level}`}>
              {finding.text}
            </p>
          ))}
        </section>
      )}
      {findings.length > objects.length && (
        <section aria-labelledby="findings-title">
          <h3 id="findings-title">Findings of the server</h3>
          <ul class="findings">
            {findings
              .filter((finding) => finding.severity !== "objects")
              .map((finding) => (
                <li key={finding.text}>
                  <SignBadge level={finding.level}>{finding.severity || "note"}</SignBadge>
                  <span>{finding.text}</span>
                  {finding.name && <code class="hint">{finding.name}</code>}
                </li>
              ))}
          </ul>
        </section>
      )}
      {changes.map((change) => (
        <section key={change.version} aria-labelledby={`change-${change.version}`}>
          <h3 id={`change-${change.version}`}>
            {change.version} {change.remarks.length > 0 && <span class="hint">{change.remarks.join(", ")}</span>}
          </h3>
          {change.nodes.length > 0 && <SchemaTree nodes={change.nodes} label={`Changes of ${change.version}`} />}
        </section>
      ))}
    </div>
  );
}
