/** Metrics in the text format of Prometheus, and what the console derives from two scrapes. */

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
  const out: Sample[] = [];
  for (const line of text.split("\n")) {
    if (!line || line.startsWith("#")) continue;
    const found = LINE.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) labels[name!] = value!.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    out.push({ name: found[1]!, labels, value: Number(found[3] === "+Inf" ? Infinity : found[3]) });
  }
  return out;
}

type Wanted = (labels: Sample["labels"]) => boolean;
const ALL: Wanted = () => true;

/** Return the sum of all samples of a name. Return null if there are none. */
export function total(samples: readonly Sample[], name: string, wanted: Wanted = ALL): number | null {
  let sum: number | null = null;
  for (const sample of samples) if (sample.name === name && wanted(sample.labels)) sum = (sum ?? 0) + sample.value;
  return sum;
}

/** Return the increase of a counter per second between two scrapes. A counter that restarted counts from 0. */
export function rate(before: readonly Sample[], after: readonly Sample[], seconds: number, name: string, wanted: Wanted = ALL): number {
  const [old, fresh] = [total(before, name, wanted) ?? 0, total(after, name, wanted) ?? 0];
  return seconds > 0 ? (fresh >= old ? fresh - old : fresh) / seconds : 0;
}

/** Return a quantile of a histogram between two scrapes, in the histogram's unit. Return null without observations. */
export function quantile(before: readonly Sample[], after: readonly Sample[], name: string, share: number, wanted: Wanted = ALL): number | null {
  const buckets = new Map<number, number>();
  for (const [samples, sign] of [[after, 1], [before, -1]] as const) {
    for (const sample of samples) {
      if (sample.name !== `${name}_bucket` || !wanted(sample.labels)) continue;
      const limit = sample.labels["le"] === "+Inf" ? Infinity : Number(sample.labels["le"]);
      buckets.set(limit, (buckets.get(limit) ?? 0) + sign * sample.value);
    }
  }
  const limits = [...buckets.keys()].sort((one, other) => one - other);
  const count = buckets.get(Infinity) ?? 0;
  if (count <= 0) return null;
  const rank = share * count;
  let [lower, below] = [0, 0];
  for (const limit of limits) {
    const reached = buckets.get(limit)!;
    if (reached >= rank) return limit === Infinity ? lower : lower + ((limit - lower) * (rank - below)) / Math.max(reached - below, 1e-9);
    [lower, below] = [limit, reached];
  }
  return lower;
}

export interface HealthCheck {
  name: string;
  ok: boolean;
  text: string;
}

/** Return the checks of /readyz?verbose, and the notes that follow them. */
export function parseHealth(text: string): { checks: HealthCheck[]; notes: string[] } {
  const checks: HealthCheck[] = [];
  const notes: string[] = [];
  for (const line of text.split("\n")) {
    const found = /^\[([+-])\](\S+) (.*)$/.exec(line);
    if (found) checks.push({ name: found[2]!, ok: found[1] === "+", text: found[3]! });
    else if (line.trim() && !/^(readyz|livez|healthz) check (passed|failed)$/.test(line)) notes.push(line.trim());
  }
  return { checks, notes };
}
