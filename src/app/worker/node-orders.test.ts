import { expect, test, vi } from "vitest";
import { sha256OfText } from "../../../test/support/loop.ts";
import { PATIENT } from "../../../test/support/patience.ts";
import { silentLog } from "../../kernel/index.ts";
import type { CopiesAnswer, OfferedBatch } from "../../surfaces/index.ts";
import type { Inputs } from "./inputs.ts";
import { carryOut } from "./node-orders.ts";
import type { BatchTerms } from "./node-transfers.ts";

type Order = CopiesAnswer["orders"][number];

const orderOf = (order_id: number, text: string, urgency: number): Order => ({
  order_id,
  sync_id: "s1",
  action: "fetch",
  sha256: sha256OfText(text),
  bytes: text.length,
  kind: "games",
  games: 0,
  config_key: null,
  max_rate: null,
  urgency,
});

test("a batch stays whole when only some of it is wanted: its tickets name all of it", async () => {
  const asked: { files: number; only: readonly string[] }[] = [];
  const orders = carryOut({
    folder: "/nowhere",
    artifacts: { upload: async () => undefined },
    transfers: {
      async bringBatch({ files }: OfferedBatch, { only = [] }: BatchTerms) {
        asked.push({ files: files.length, only: only.map(({ sha256 }) => sha256) });
        return { failed: new Map(), came: new Set(), tries: [] };
      },
      arrived() {},
    },
    held() {},
    log: silentLog(),
    signal: new AbortController().signal,
    atOnce: 2,
  });
  const [first, second, third] = [orderOf(1, "a", 1), orderOf(2, "bb", 3), orderOf(3, "ccc", 1)];
  const files = [first, second, third].map(({ sha256, bytes }) => ({ sha256, bytes }));
  const inputs = { claim() {}, done() {} } as unknown as Inputs;
  // The second is more urgent than the first, and the third is known by a batch alone: nobody ordered it here.
  orders.take([first, second], [{ files, sources: [] }], inputs);
  await vi.waitFor(() => expect(asked).toHaveLength(2), PATIENT);
  expect(asked).toEqual([
    { files: 3, only: [first.sha256] },
    { files: 3, only: [second.sha256] },
  ]);
});
