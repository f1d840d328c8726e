/** What a joined node says by itself: its outbox, who measures its machine, and who sends it all on. */
import { resourceMonitorDaemon, systemSampler } from "../../cluster/index.ts";
import type { Clock, Log, Random } from "../../kernel/index.ts";
import { createForwarder } from "../../router/outbox/index.ts";
import { eventsOver, type NodeLink } from "../../surfaces/index.ts";
import type { Settings } from "../settings.ts";
import { createUndo } from "../undo.ts";
import { openSendingOutbox } from "./node-outbox.ts";
import { runNodeUnit } from "./node-unit.ts";

export interface NodeVoiceOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly link: NodeLink;
  readonly nodeId: string;
}

export interface NodeVoice {
  /** Events that wait here, and those that the main process refused. */
  waiting(): { readonly waiting: number; readonly refused: number };
  /** Says nothing more, and has a moment to send what waits. Doing it twice is doing it once. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** What does not get away in this time is sent after the next start. */
const FINISH_MS = 2_000;

export async function startNodeVoice(options: NodeVoiceOptions): Promise<NodeVoice> {
  const { settings, clock, random, log, link, nodeId } = options;
  const { dataDir } = settings;
  const undo = createUndo();
  try {
    const outbox = await openSendingOutbox({ dataDir, nodeId, bounds: settings.worker.outbox, clock, random, log });
    undo.push(() => outbox.store.close());
    const forwarder = createForwarder({ outbox, port: eventsOver(link, nodeId), clock, random, log });
    undo.push(() => forwarder.stop());
    const sampler = systemSampler({ dataDir, clock });
    undo.push(() => sampler.close());
    const unit = resourceMonitorDaemon({ nodeId, sampler, settings: settings.resources });
    const monitor = runNodeUnit({ unit, outbox, clock, log });
    undo.push(() => monitor.stop());
    const { waiting, refused } = outbox.status();
    if (waiting + refused > 0) log.info("events of an earlier life are in the outbox", { waiting, refused });
    let finished: Promise<void> | undefined;
    return {
      waiting() {
        const status = outbox.status();
        return { waiting: status.waiting, refused: status.refused };
      },
      finish() {
        finished ??= (async () => {
          await monitor.stop();
          if (outbox.status().waiting > 0) await forwarder.flush(FINISH_MS);
        })();
        return finished;
      },
      close: () => undo.run(),
    };
  } catch (thrown) {
    await undo.run();
    throw thrown;
  }
}
