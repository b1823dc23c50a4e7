import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ApiextensionsV1Api, CoreV1Api, CustomObjectsApi } from "@kubernetes/client-node";
import { ApiServer } from "./apiserver.ts";

const group = "example.com";
const version = "v1";
const plural = "widgets";
let server: ApiServer;

before(async () => {
  server = await ApiServer.start();
  await server.config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({
    body: {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural, kind: "Widget" },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: { spec: { type: "object", properties: { size: { type: "integer", maximum: 10 } } } },
              },
            },
          },
        ],
      },
    },
  });
});

after(() => server.stop());

test("a ConfigMap can be created and read", async () => {
  const core = server.config.makeApiClient(CoreV1Api);
  await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name: "a" }, data: { key: "value" } } });
  const read = await core.readNamespacedConfigMap({ namespace: "default", name: "a" });
  assert.equal(read.data?.key, "value");
});

test("a custom resource is validated", async () => {
  const widgets = server.config.makeApiClient(CustomObjectsApi);
  const create = (name: string, size: number) =>
    widgets.createNamespacedCustomObject({
      group,
      version,
      plural,
      namespace: "default",
      body: { apiVersion: `${group}/${version}`, kind: "Widget", metadata: { name }, spec: { size } },
    });
  assert.equal((await create("small", 1)).spec.size, 1);
  await assert.rejects(create("large", 11), /should be less than or equal to 10/);
});
