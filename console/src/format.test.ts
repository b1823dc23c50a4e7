import { describe, expect, it } from "vitest";
import { age, count } from "./format";

describe("age", () => {
  it.each([
    [0, "0s"],
    [119, "119s"],
    [120, "2m"],
    [125, "2m5s"],
    [600, "10m"],
    [3 * 3600, "3h"],
    [3 * 3600 + 300, "3h5m"],
    [47 * 3600, "47h"],
    [50 * 3600, "2d2h"],
    [40 * 86400, "40d"],
    [800 * 86400, "2y70d"],
  ])("formats %d seconds as kubectl does", (seconds, text) => {
    expect(age(0, seconds * 1000)).toBe(text);
  });
  it("shows no negative ages if the clocks differ", () => expect(age(5000, 0)).toBe("0s"));
});

it("counts", () => {
  expect(count(1, "object")).toBe("1 object");
  expect(count(1000, "object")).toBe("1,000 objects");
  expect(count(2, "entry", "entries")).toBe("2 entries");
});
