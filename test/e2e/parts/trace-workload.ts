/** A workload that counts where it finds the trace of its job: in the message, and in its environment. */
import { serveProcess } from "../../../src/workloads/process/index.ts";

await serveProcess({
  name: "teller",
  version: "1",
  kinds: {
    async tell({ message: { traceparent = "" }, writeArtifact }) {
      await writeArtifact("traceparent.txt", Buffer.from(traceparent), { kind: "trace" });
      const isRemote = /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/.test(traceparent);
      return {
        games: 1,
        in_message: Number(isRemote),
        in_environment: Number(process.env.TRACEPARENT === traceparent),
      };
    },
  },
});
