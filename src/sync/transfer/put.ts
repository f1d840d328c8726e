import { OperatingError } from "../../kernel/index.ts";
import type { TransferReport, Transport, Wanted } from "../transport.port.ts";
import { FILES_AT_ONCE } from "./limits.ts";
import { runSome } from "./run-some.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { codeOf } from "./ways.ts";

/** Brings files of this node to a place that can be written. Resolves with what came of each; rejects only when it was aborted. */
export async function putAll(
  made: readonly (Wanted & { readonly path: string })[],
  transport: Transport,
  world: TransferWorld,
): Promise<TransferReport> {
  const arrived: string[] = [];
  const failed: TransferReport["failed"][number][] = [];
  const { signal } = world;
  const putOne = async (one: Wanted & { readonly path: string }): Promise<void> => {
    const spend = async (bytes: number) => {
      await world.spend(bytes);
      world.moved(transport, bytes);
    };
    try {
      const isOpen = await world.by(transport, async () => {
        if (transport.write === undefined)
          throw OperatingError.invalid("PLACE_UNWRITABLE", `${transport.place} is read-only`);
        await transport.write(one, { signal, spend });
      });
      if (!isOpen)
        throw OperatingError.unavailable(
          "NO_WAY_OPEN",
          `${transport.place} failed recently; it is tried again automatically`,
        );
      world.cameBy(transport, 1);
      arrived.push(one.sha256);
    } catch (thrown) {
      signal.throwIfAborted();
      failed.push({ sha256: one.sha256, ...codeOf(thrown) });
    }
  };
  await runSome(
    made.map((one) => () => putOne(one)),
    FILES_AT_ONCE,
  );
  return { arrived, present: [], failed, tries: world.tries() };
}
