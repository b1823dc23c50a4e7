/** The difference of two texts by lines (Myers' algorithm), with a few unchanged lines around each change. */

export interface DiffLine {
  sign: " " | "+" | "-" | "…";
  text: string;
}

const MAX_EDITS = 2000;

/** Return all lines of both texts. Texts that differ too much are shown as removed and added. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const same = (text: string): DiffLine => ({ sign: " ", text });
  return [
    ...before.slice(0, start).map(same),
    ...myers(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

function myers(before: readonly string[], after: readonly string[]): DiffLine[] {
  const [n, m] = [before.length, after.length];
  const limit = Math.min(n + m, MAX_EDITS);
  const trace: Map<number, number>[] = [];
  const furthest = new Map<number, number>([[1, 0]]);
  const at = (k: number): number => furthest.get(k) ?? -1;
  for (let edits = 0; edits <= limit; edits += 1) {
    trace.push(new Map(furthest));
    for (let k = -edits; k <= edits; k += 2) {
      let x = k === -edits || (k !== edits && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && before[x] === after[x - k]) x += 1;
      furthest.set(k, x);
      if (x >= n && x - k >= m) return backtrack(trace, before, after, edits);
    }
  }
  return [...before.map((text): DiffLine => ({ sign: "-", text })), ...after.map((text): DiffLine => ({ sign: "+", text }))];
}

function backtrack(trace: readonly Map<number, number>[], before: readonly string[], after: readonly string[], edits: number): DiffLine[] {
  const out: DiffLine[] = [];
  let [x, y] = [before.length, after.length];
  for (let step = edits; step >= 0; step -= 1) {
    const furthest = trace[step]!;
    const at = (k: number): number => furthest.get(k) ?? -1;
    const k = x - y;
    const previous = k === -step || (k !== step && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
    const fromX = step === 0 ? 0 : at(previous);
    const fromY = step === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      out.push({ sign: " ", text: before[x]! });
    }
    if (step === 0) break;
    if (x === fromX) {
      y -= 1;
      out.push({ sign: "+", text: after[y]! });
    } else {
      x -= 1;
      out.push({ sign: "-", text: before[x]! });
    }
  }
  return out.reverse();
}

/** Leave out unchanged lines that are further than `context` lines from a change. */
export function withContext(lines: readonly DiffLine[], context = 3): DiffLine[] {
  const near = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.sign === " ") continue;
    for (let at = index - context; at <= index + context; at += 1) near.add(at);
  }
  const out: DiffLine[] = [];
  for (const [index, line] of lines.entries()) {
    if (near.has(index)) out.push(line);
    else if (out.at(-1)?.sign !== "…") out.push({ sign: "…", text: "" });
  }
  return out.some((line) => line.sign !== "…") ? out : [];
}
