/** The health of the server, and its requests and conversions as plots while the page is open. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { requestJson, send, ApiError } from "../api/client";
import { useMetricsHistory, type Scrape } from "../api/metrics_history";
import { parseHealth, quantile, rate, total, type HealthCheck, type Sample } from "../compare/metrics";
import { formatBytes, formatSeconds, trim, type Point } from "../compare/plot_scale";
import { ApiFailure } from "../components/feedback";
import { PageHead } from "../components/page_head";
import { Plot, type Series } from "../components/plot";
import { Facts, SignBadge, Verdict } from "../components/report_parts";
import { age, formatNumber } from "../format";
import "../styles/compare.css";

const INTERVAL = 3_000;
const REQUESTS = "apiserver_request_total";
const REQUEST_SECONDS = "apiserver_request_duration_seconds";
const CONVERSION_SECONDS = "apiserver_crd_conversion_webhook_duration_seconds";

type Labels = Sample["labels"];
const isRead = (labels: Labels): boolean => ["GET", "LIST"].includes(labels["verb"] ?? "");
const isWatch = (labels: Labels): boolean => labels["verb"] === "WATCH";
const isWrite = (labels: Labels): boolean => !isRead(labels) && !isWatch(labels);
const isError = (labels: Labels): boolean => (labels["code"] ?? "").startsWith("5");

interface Reading {
  time: number;
  reads: number;
  writes: number;
  errors: number;
  requestMedian: number | null;
  requestSlow: number | null;
  conversionMedian: number | null;
  conversionSlow: number | null;
  conversions: number;
  failures: number;
  memory: number | null;
  watches: number;
}

function derive(before: Scrape, after: Scrape): Reading {
  const seconds = (after.time - before.time) / 1000;
  const [old, fresh] = [before.samples, after.samples];
  const perSecond = (name: string, wanted?: (labels: Labels) => boolean): number => rate(old, fresh, seconds, name, wanted);
  const latency = (name: string, share: number, wanted?: (labels: Labels) => boolean): number | null => quantile(old, fresh, name, share, wanted);
  const finite = (labels: Labels): boolean => !isWatch(labels);
  return {
    time: after.time,
    reads: perSecond(REQUESTS, isRead),
    writes: perSecond(REQUESTS, isWrite),
    errors: perSecond(REQUESTS, isError),
    requestMedian: latency(REQUEST_SECONDS, 0.5, finite),
    requestSlow: latency(REQUEST_SECONDS, 0.99, finite),
    conversionMedian: latency(CONVERSION_SECONDS, 0.5),
    conversionSlow: latency(CONVERSION_SECONDS, 0.99),
    conversions: perSecond(`${CONVERSION_SECONDS}_count`),
    failures: perSecond("polykind_conversion_failures_total") + perSecond("polykind_conversion_timeouts_total"),
    memory: total(fresh, "process_resident_memory_bytes"),
    watches: total(fresh, "apiserver_longrunning_requests", isWatch) ?? 0,
  };
}

export default function ServerPage(): VNode {
  const health = useHealth();
  const { latest, points, error } = useMetricsHistory(INTERVAL, derive);
  const line = (name: string, level: Series["level"], value: (reading: Reading) => number | null, dashed = false): Series => ({
    name,
    level,
    dashed,
    points: points.map((reading): Point => ({ x: reading.time, y: value(reading) })),
  });
  const perSecond = (value: number): string => `${trim(value)}/s`;
  return (
    <>
      <PageHead title="Server" note={`Sampled every ${INTERVAL / 1000} seconds while this page is open.`} />
      <Health health={health} samples={latest?.samples ?? []} />
      {error && <ApiFailure error={error} what="read the metrics" />}
      {latest && (
        <>
          <section aria-labelledby="conversions">
            <h2 id="conversions">Conversions</h2>
            <div class="plots">
              <Plot
                title="Duration of conversions"
                format={formatSeconds}
                series={[line("median", "note", (r) => r.conversionMedian), line("99 %", "warning", (r) => r.conversionSlow, true)]}
              />
              <Plot
                title="Conversions and failures"
                format={perSecond}
                series={[line("conversions", "note", (r) => r.conversions), line("failures", "error", (r) => r.failures, true)]}
              />
            </div>
            <FailureList samples={latest.samples} />
          </section>
          <section aria-labelledby="requests">
            <h2 id="requests">Requests</h2>
            <div class="plots">
              <Plot title="Requests" format={perSecond} series={[line("reads", "note", (r) => r.reads), line("writes", "ok", (r) => r.writes, true), line("errors", "error", (r) => r.errors)]} />
              <Plot title="Duration of requests" format={formatSeconds} series={[line("median", "note", (r) => r.requestMedian), line("99 %", "warning", (r) => r.requestSlow, true)]} />
              <Plot title="Memory" format={formatBytes} series={[line("resident", "note", (r) => r.memory)]} />
              <Plot title="Open watches" whole format={trim} series={[line("watches", "note", (r) => r.watches)]} />
            </div>
          </section>
        </>
      )}
    </>
  );
}

interface HealthState {
  ready: { ok: boolean; checks: HealthCheck[]; notes: string[] } | null;
  live: boolean | null;
  version: string;
}

function useHealth(): HealthState {
  const [state, setState] = useState<HealthState>({ ready: null, live: null, version: "" });
  useEffect(() => {
    const load = async (): Promise<void> => {
      if (document.visibilityState === "hidden") return;
      const [ready, live, version] = await Promise.all([readHealth("/readyz?verbose"), readHealth("/livez"), readVersion()]);
      setState({ ready: ready && { ok: ready.ok, ...parseHealth(ready.text) }, live: live?.ok ?? null, version });
    };
    const timer = setInterval(() => void load(), INTERVAL);
    void load();
    return (): void => clearInterval(timer);
  }, []);
  return state;
}

async function readHealth(path: string): Promise<{ ok: boolean; text: string } | null> {
  try {
    return { ok: true, text: await (await send(path, { accept: "text/plain" })).text() };
  } catch (error) {
    // A failed check responds with 500 and the list of checks.
    return error instanceof ApiError && error.code === 500 ? { ok: false, text: error.message } : null;
  }
}

async function readVersion(): Promise<string> {
  try {
    return (await requestJson<{ gitVersion?: string }>("/version")).gitVersion ?? "";
  } catch {
    return "";
  }
}

/** Return a version such as v1.36.0+polykind-0.1.0 in words. */
function versionText(version: string): string {
  const found = /^v(\d+\.\d+)\.\d+\+polykind-(.*)$/.exec(version);
  return found ? `Polykind ${found[2]} (Kubernetes ${found[1]})` : version;
}

function Health({ health, samples }: { health: HealthState; samples: readonly Sample[] }): VNode {
  const { ready } = health;
  const gauge = (name: string): number | null => total(samples, name);
  const start = gauge("process_start_time_seconds");
  const leader = gauge("leader_election_master_status");
  const [memory, files, most] = [gauge("process_resident_memory_bytes"), gauge("process_open_fds"), gauge("process_max_fds")];
  const [size, connections, lag] = [gauge("apiserver_storage_size_bytes"), gauge("polykind_http_connections"), gauge("polykind_event_loop_lag_seconds")];
  const facts: [string, string][] = [["Version", versionText(health.version)]];
  if (start !== null) facts.push(["Running for", age(start * 1000, Date.now())]);
  if (leader !== null) facts.push(["Leader", leader ? "this server" : "another replica"]);
  if (memory !== null) facts.push(["Memory", formatBytes(memory)]);
  if (size !== null) facts.push(["Store", formatBytes(size)]);
  if (connections !== null) facts.push(["Connections", formatNumber(connections)]);
  if (files !== null && most !== null) facts.push(["Open files", `${formatNumber(files)} of ${formatNumber(most)}`]);
  if (lag !== null) facts.push(["Event loop lag", formatSeconds(lag)]);
  return (
    <section aria-labelledby="health">
      <h2 id="health">Health</h2>
      {ready && <Verdict level={ready.ok && health.live ? "ok" : "error"}>{ready.ok ? "Ready" : health.live ? "Live, but not ready" : "Not healthy"}</Verdict>}
      {!ready && <Verdict level="warning">The server does not answer</Verdict>}
      <Facts facts={facts} />
      {ready && (
        <ul class="checks" aria-label="Checks">
          {ready.checks.map((check) => (
            <li key={check.name}>
              <SignBadge level={check.ok ? "ok" : "error"}>{check.name}</SignBadge>
              {!check.ok && <span class="hint">{check.text}</span>}
            </li>
          ))}
        </ul>
      )}
      {ready?.notes.map((note) => (
        <p key={note} class="remark note">
          {note}
        </p>
      ))}
    </section>
  );
}

/** Failed conversions since the start of the server, by CRD and cause. */
function FailureList({ samples }: { samples: readonly Sample[] }): VNode | null {
  const failures = samples.filter((sample) => /^polykind_conversion_(failures|timeouts)_total$/.test(sample.name) && sample.value > 0);
  if (!failures.length) return <p class="remark ok">No conversion has failed since the server started.</p>;
  return (
    <ul class="findings" aria-label="Failed conversions">
      {failures.map((sample) => (
        <li key={JSON.stringify(sample.labels) + sample.name}>
          <SignBadge level="error">{formatNumber(sample.value)}</SignBadge>
          <code>{sample.labels["crd"]}</code>
          <span>{[sample.labels["cause"] ?? (sample.name.includes("timeouts") ? "timed out" : ""), sample.labels["converter"]].filter(Boolean).join(", ")}</span>
        </li>
      ))}
    </ul>
  );
}
