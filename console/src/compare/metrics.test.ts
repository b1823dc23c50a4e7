import { expect, test } from "vitest";
import { parseHealth, parseMetrics, quantile, rate, total } from "./metrics";
import { storedCounts, storedObjects } from "./migration_progress";
import { formatBytes, formatSeconds, linePath, niceLimit, scale, tickValues } from "./plot_scale";

const TEXT = `# HELP a A counter.
# TYPE a counter
a{crd="x",cause="it said \\"no\\""} 3.0
a{crd="y"} 4
b 1.5e3
h_bucket{le="0.1"} 2
h_bucket{le="1"} 4
h_bucket{le="+Inf"} 4
`;

test("samples are parsed with their labels", () => {
  const samples = parseMetrics(TEXT);
  expect(total(samples, "a")).toBe(7);
  expect(total(samples, "a", (labels) => labels["crd"] === "y")).toBe(4);
  expect(total(samples, "b")).toBe(1500);
  expect(total(samples, "missing")).toBeNull();
  expect(samples[0]!.labels["cause"]).toBe('it said "no"');
});

test("rates survive a restart of the server", () => {
  const [old, fresh, restarted] = [parseMetrics("a 10"), parseMetrics("a 20"), parseMetrics("a 4")];
  expect(rate(old, fresh, 5, "a")).toBe(2);
  expect(rate(fresh, restarted, 2, "a")).toBe(2);
  expect(rate(old, fresh, 0, "a")).toBe(0);
});

test("quantiles are interpolated within their bucket", () => {
  const samples = parseMetrics(TEXT);
  expect(quantile([], samples, "h", 0.5)).toBeCloseTo(0.1);
  expect(quantile([], samples, "h", 0.75)).toBeCloseTo(0.55);
  expect(quantile(samples, samples, "h", 0.5)).toBeNull();
});

test("checks of health pages", () => {
  const { checks, notes } = parseHealth("[+]ping ok\n[-]store failed: reason withheld\nleader: a\nreadyz check failed\n");
  expect(checks).toEqual([{ name: "ping", ok: true, text: "ok" }, { name: "store", ok: false, text: "failed: reason withheld" }]);
  expect(notes).toEqual(["leader: a"]);
});

test("limits and ticks are round", () => {
  expect(tickValues(niceLimit(7.3))).toEqual([0, 2, 4, 6, 8]);
  expect(tickValues(niceLimit(0.0041))).toEqual([0, 0.002, 0.004, 0.006]);
  expect(niceLimit(0).limit).toBe(1);
  expect(niceLimit(100)).toEqual({ limit: 100, step: 25 });
});

test("lines have gaps where there are no values", () => {
  const same = (value: number): number => value;
  expect(linePath([{ x: 0, y: 1 }, { x: 1, y: 2 }, { x: 2, y: null }, { x: 3, y: 3 }], same, same)).toBe("M0.0,1.0h0.1L1.0,2.0M3.0,3.0h0.1");
  expect(scale([0, 10], [100, 0])(5)).toBe(50);
  expect([formatSeconds(0.00085), formatSeconds(0.0025), formatSeconds(1.234)]).toEqual(["850 µs", "2.5 ms", "1.23 s"]);
  expect(formatBytes(64_200_000)).toBe("64.2 MB");
});

test("stored objects by version", () => {
  const samples = parseMetrics('polykind_stored_objects{group="a.b",resource="xs",version="v2"} 1\npolykind_stored_objects{group="a.b",resource="xs",version="v1"} 3\npolykind_stored_objects{group="",resource="xs",version="v1"} 9\n');
  expect(storedObjects(samples, "a.b", "xs")).toEqual([{ version: "v1", count: 3 }, { version: "v2", count: 1 }]);
});

test("a version report counts objects that the metrics do not have yet", () => {
  const use = { served: true, storage: true, deprecated: false, managedObjects: 0, clients: [], hindrances: [] };
  const report = { definition: "xs.a.b", since: "", versions: [{ ...use, name: "v1", storedObjects: 3 }] };
  expect(storedCounts([], "a.b", "xs", report)).toEqual([{ version: "v1", count: 3 }]);
  expect(storedCounts([], "a.b", "xs", null)).toBeNull();
  const samples = parseMetrics('polykind_stored_objects{group="a.b",resource="xs",version="v2"} 1');
  expect(storedCounts(samples, "a.b", "xs", report)).toEqual([{ version: "v2", count: 1 }]);
});
