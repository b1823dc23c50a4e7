import { expect, it } from "vitest";
import { owns } from "./field_managers";

const object = { spec: { size: 1, items: [{ name: "a", n: 1 }, { name: "b", n: 2 }], tags: ["x", "y"], free: { deep: { value: 1 } } } };
const fields = {
  "f:spec": { "f:size": {}, "f:items": { 'k:{"name":"b"}': { ".": {}, "f:n": {} } }, "f:tags": { 'v:"y"': {} }, "f:free": {} },
};

it.each([
  [["spec", "size"], true],
  [["spec"], false],
  [["spec", "items"], false],
  [["spec", "items", 0], false],
  [["spec", "items", 1], true],
  [["spec", "items", 1, "n"], true],
  [["spec", "items", 1, "name"], false],
  [["spec", "tags", 0], false],
  [["spec", "tags", 1], true],
  [["spec", "free"], true],
  [["spec", "free", "deep", "value"], true],
  [["status"], false],
])("owns %j: %s", (path, expected) => {
  expect(owns(fields, object, path)).toBe(expected);
});
