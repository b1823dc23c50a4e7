import { expect, it } from "vitest";
import { scrollToRow, visibleRows } from "./virtual_rows";

it("renders only rows near the visible part", () => {
  expect(visibleRows(0, 360, 36, 100_000)).toEqual({ first: 0, end: 22 });
  expect(visibleRows(3_600_000 - 360, 360, 36, 100_000)).toEqual({ first: 99_978, end: 100_000 });
  expect(visibleRows(0, 360, 36, 3)).toEqual({ first: 0, end: 3 });
  expect(visibleRows(0, 360, 36, 0)).toEqual({ first: 0, end: 0 });
});

it("stays within the list if rows have disappeared", () => {
  const { first, end } = visibleRows(36_000, 360, 36, 10);
  expect(first).toBeLessThan(end);
  expect(end).toBe(10);
});

it("scrolls as little as possible", () => {
  expect(scrollToRow(5, 0, 400, 36, 36)).toBe(0);
  expect(scrollToRow(0, 100, 400, 36, 36)).toBe(0);
  expect(scrollToRow(20, 0, 400, 36, 36)).toBe(21 * 36 + 36 - 400);
});
