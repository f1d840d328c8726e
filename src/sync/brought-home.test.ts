/** What a node sends home is looked at before anybody is told that it came. */
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../test/support/patience.ts";
import { entryOf, oneNode, sha256Of, syncWorld } from "../../test/unit/sync/sync-world.ts";
import { silentLog } from "../kernel/index.ts";
import { confirmCopies } from "./copies/copy-operations.ts";
import { placeOrders } from "./orders/order-operations.ts";
import { createSyncServices } from "./services.ts";

test("games that a node sent home are told with their sender, and those whose bytes are wrong are not", async () => {
  const w = syncWorld();
  onTestFinished(() => w.close());
  const [home] = oneNode.nodes();
  const nodes = () => [home!, { ...home!, node_id: "box", name: "box", incarnation: 1 }];
  const services = createSyncServices({ ...w, nodeId: "n1", log: silentLog(), ...oneNode, nodes });
  onTestFinished(() => services.close());
  const names = [await w.put("sound"), await w.put("spoilt")];
  await w.change((artifacts) => {
    artifacts.record([entryOf("sound", { work_id: "w1" }), entryOf("spoilt", { work_id: "w2" })]);
    artifacts.accept(names);
  });
  w.spoil(sha256Of("spoilt"), "wrong!");
  const orders = names.map((sha256) => {
    const { seq, bytes } = w.catalog.get(sha256)!;
    return { node_id: "box", seq, bytes, action: "send", urgency: 3, max_rate: null, reason: "at risk" } as const;
  });
  const at = w.clock.now();
  await w.store.commit([
    confirmCopies({ node_id: "box", incarnation: 1, upto: 0, present: [], at }),
    placeOrders({ sync_id: "rescue", orders, at }),
  ]);
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  const news = { node_id: "box", incarnation: 1, held: [], gone: [], drop: [], storage };
  const given = await services.desk.exchange({ ...news, orders: [] });
  expect(given.orders).toMatchObject([{ sync_id: "rescue", games: 20, config_key: "hex8_2p" }, { games: 20 }]);
  const reports = given.orders.map(({ order_id, bytes }) => ({
    order_id,
    state: "sent" as const,
    bytes_done: bytes,
    error: null,
  }));
  await services.desk.exchange({ ...news, orders: reports });
  const arrived = () => services.units.news.arrived.next(10).all;
  await vi.waitFor(() => expect(arrived()).not.toEqual([]), PATIENT);
  expect(arrived()).toEqual([{ sha256: sha256Of("sound"), games: 20, configKey: "hex8_2p", from: "box" }]);
});
