/** Scales of plots: round limits, ticks, and the path of a line. */

export interface Point {
  /** A time in milliseconds. */
  x: number;
  /** The value, or null if there is none: the line has a gap. */
  y: number | null;
}

const STEPS = [1, 2, 2.5, 5, 10];

/** Return a round number that is at least `value`, with a round step that divides it. */
export function niceLimit(value: number, ticks = 4): { limit: number; step: number } {
  if (!(value > 0) || !Number.isFinite(value)) return { limit: 1, step: 1 / ticks };
  const raw = value / ticks;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = STEPS.find((factor) => factor * power >= raw * 0.999999)! * power;
  return { limit: step * Math.ceil(value / step - 1e-9), step };
}

/** Return the ticks from 0 to the limit. */
export function tickValues({ limit, step }: { limit: number; step: number }): number[] {
  const count = Math.round(limit / step);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** Return the path of a line for SVG. Gaps start a new piece; a single point is a short line. */
export function linePath(points: readonly Point[], x: (time: number) => number, y: (value: number) => number): string {
  let out = "";
  let drawing = false;
  for (const point of points) {
    if (point.y === null) {
      drawing = false;
      continue;
    }
    const at = `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`;
    out += drawing ? `L${at}` : `M${at}h0.1`;
    drawing = true;
  }
  return out;
}

/** Return a linear scale. */
export function scale(from: readonly [number, number], to: readonly [number, number]): (value: number) => number {
  const width = from[1] - from[0] || 1;
  return (value) => to[0] + ((value - from[0]) / width) * (to[1] - to[0]);
}

/** Return a duration in seconds as text: 850 µs, 2.5 ms, 1.2 s. */
export function formatSeconds(value: number): string {
  if (value === 0) return "0";
  if (value < 1e-3) return `${trim(value * 1e6)} µs`;
  if (value < 1) return `${trim(value * 1e3)} ms`;
  return `${trim(value)} s`;
}

/** Return a number with at most three digits. */
export function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Return a number of bytes as text: 512 B, 1.5 KB, 64 MB. */
export function formatBytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  let left = value;
  while (left >= 1000 && at < units.length - 1) {
    left /= 1000;
    at += 1;
  }
  return `${trim(left)} ${units[at]}`;
}
