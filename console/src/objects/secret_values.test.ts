import { expect, test } from "vitest";
import { hideSecretValues } from "./secret_values";

const secret = (data: Record<string, string>) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data });

test("values of a Secret are replaced by their sizes", () => {
  expect(hideSecretValues(secret({ password: "aHVudGVyMg==", empty: "" }))["data"]).toEqual({
    password: "(hidden, 7 bytes)",
    empty: "(hidden, 0 bytes)",
  });
});

test("a changed value is marked, even if its size is the same", () => {
  const shown = hideSecretValues(secret({ password: "aHVudGVyMw==", user: "YQ==" }), secret({ password: "aHVudGVyMg==" }));
  expect(shown["data"]).toEqual({ password: "(hidden, 7 bytes, changed)", user: "(hidden, 1 byte)" });
});

test("the copy in the annotation of kubectl apply is hidden", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", team: "shop" };
  const shown = hideSecretValues({ apiVersion: "v1", kind: "Secret", metadata: { name: "a", annotations } });
  expect(shown.metadata["annotations"]).toEqual({ "kubectl.kubernetes.io/last-applied-configuration": "(hidden)", team: "shop" });
});

test("other objects stay as they are", () => {
  const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { level: "debug" } };
  expect(hideSecretValues(config)).toBe(config);
});
