// An API server for tests: starts `polykind serve --ephemeral` and loads its kubeconfig.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { KubeConfig } from "@kubernetes/client-node";

export class ApiServer {
  private constructor(
    private readonly process: ChildProcess,
    readonly config: KubeConfig,
  ) {}

  static async start(): Promise<ApiServer> {
    const server = spawn("polykind", ["serve", "--ephemeral"], { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: server.stdout! })) {
      const kubeconfig = /KUBECONFIG=(.*)/.exec(line)?.[1];
      if (kubeconfig) {
        const config = new KubeConfig();
        config.loadFromFile(kubeconfig);
        return new ApiServer(server, config);
      }
    }
    throw new Error("polykind serve ended before it was ready");
  }

  async stop(): Promise<void> {
    const exited = once(this.process, "exit");
    this.process.kill("SIGTERM");
    await exited;
  }
}
