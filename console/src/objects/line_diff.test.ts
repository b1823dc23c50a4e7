import { expect, it } from "vitest";
import { diffLines, withContext } from "./line_diff";

const show = (before: string, after: string): string =>
  diffLines(before.split(""), after.split(""))
    .map((line) => `${line.sign}${line.text}`)
    .join("");

it("finds the changes", () => {
  expect(show("abc", "abc")).toBe(" a b c");
  expect(show("abc", "axc")).toBe(" a-b+x c");
  expect(show("", "ab")).toBe("+a+b");
  expect(show("ab", "")).toBe("-a-b");
});

it("reproduces both texts", () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 16807) % 2147483647);
  for (let round = 0; round < 300; round += 1) {
    const text = (): string[] => Array.from({ length: random() % 12 }, () => "abc"[random() % 3]!);
    const [before, after] = [text(), text()];
    const lines = diffLines(before, after);
    expect(lines.filter((line) => line.sign !== "+").map((line) => line.text)).toEqual(before);
    expect(lines.filter((line) => line.sign !== "-").map((line) => line.text)).toEqual(after);
  }
});

it("leaves out what is far from a change", () => {
  const lines = withContext(diffLines("abcdefghij".split(""), "abcdeXghij".split("")), 1);
  expect(lines.map((line) => line.sign + line.text)).toEqual(["…", " e", "-f", "+X", " g", "…"]);
  expect(withContext(diffLines(["a"], ["a"]))).toEqual([]);
});
