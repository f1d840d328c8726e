import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { headSeq } from "../../src/router/index.ts";
import { type EventReader, readEvents } from "../support/sse.ts";
import { connectionsOf, type RunningSurface, runSurface } from "../support/surface.ts";

let surface: RunningSurface;
beforeAll(async () => {
  surface = await runSurface({ RINGRIFT_RATE_FACTOR: "1000" });
});
afterAll(() => surface.end());

const publish = (n: number, node = "n1", notes = "") =>
  surface.coordination.router.publish(
    "NEW_GAMES_AVAILABLE",
    {
      config_key: `hex${5 + (n % 4)}_2p`,
      node_id: node,
      new_games: 1,
      total_games: n,
      ...(notes && { notes }),
    } as never,
    { source: "sse" },
  );
const follow = (query = "", headers: Record<string, string> = {}): Promise<EventReader> =>
  readEvents({ socketPath: surface.coordination.api.socketPath }, `/events${query}`, headers);
const head = () => headSeq(surface.coordination.router.store);
const seqs = (reader: EventReader) => reader.messages.filter(({ id }) => id !== undefined).map(({ id }) => Number(id));
const totals = (readers: readonly EventReader[]) =>
  readers.flatMap(({ messages }) =>
    messages.filter(({ event }) => event === "message").map(({ data }) => JSON.parse(data).data.total_games as number),
  );

describe("GET /events", () => {
  test("a reader that is cut off again and again, while events are published, misses none and sees none twice", async () => {
    const from = head();
    const all = 2_000;
    let published = 0;
    const publishing = (async () => {
      for (; published < all; published += 50)
        await Promise.all(Array.from({ length: 50 }, (_, i) => publish(published + i)));
    })();
    const readers: EventReader[] = [];
    let last: string | undefined;
    const seen = () => new Set(totals(readers)).size;
    for (let round = 1; seen() < all; round += 1) {
      const reader = await follow(
        `?event_type=new_games&source=sse&after=${from}`,
        last === undefined ? {} : { "last-event-id": last },
      );
      expect(reader.status).toBe(200);
      readers.push(reader);
      const enough = Math.min(round * 37, all - seen());
      await reader.until((messages) => messages.length >= enough);
      reader.cut();
      last = reader.lastEventId ?? last;
    }
    await publishing;
    expect(readers.length).toBeGreaterThan(5);
    const found = totals(readers);
    // What arrived after the reader stopped looking is part of what it saw: its last id counts it.
    expect(found).toHaveLength(all);
    expect(found).toEqual(Array.from({ length: all }, (_, i) => i).sort((a, b) => found.indexOf(a) - found.indexOf(b)));
    const places = readers.flatMap(seqs);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  test("without a place it begins with what comes", async () => {
    await publish(1);
    const reader = await follow("?event_type=NEW_GAMES_AVAILABLE");
    const event = await publish(2);
    await reader.until((messages) => messages.length > 0);
    expect(seqs(reader)).toEqual([event.seq]);
    reader.cut();
  });

  test("filters by name, category, config, node, source, order key and class", async () => {
    const from = head();
    await publish(1, "node-a");
    await publish(2, "node-b");
    await surface.coordination.router.publish("HOST_OFFLINE", { node_id: "node-a", reason: "silent" }, { source: "x" });
    const last = await surface.coordination.router.publish("HOST_ONLINE" as never, { node_id: "node-z" } as never, {
      source: "end",
    });
    const typesFor = async (query: string) => {
      const reader = await follow(`?after=${from}&${query}`);
      const end = await follow(`?after=${from}`);
      await end.until((messages) => messages.some(({ id }) => id === String(last.seq)));
      end.cut();
      await expect.poll(() => reader.messages.length).toBeGreaterThan(0);
      reader.cut();
      return reader.messages.map(({ data }) => (JSON.parse(data) as { type: string }).type);
    };
    expect(await typesFor("config_key=hex6_2p")).toEqual(["NEW_GAMES_AVAILABLE"]);
    expect(await typesFor("node_id=node-a")).toEqual(["NEW_GAMES_AVAILABLE", "HOST_OFFLINE"]);
    expect(await typesFor("source=x")).toEqual(["HOST_OFFLINE"]);
    expect(await typesFor("order_key=node-a")).toEqual(["HOST_OFFLINE"]);
    expect(await typesFor("event_type=host_offline&event_type=HOST_ONLINE")).toEqual(["HOST_OFFLINE", "HOST_ONLINE"]);
    const category = surface.coordination.router.catalog.row("HOST_OFFLINE")!.category;
    expect(await typesFor(`category=${category}&source=x&class=durable`)).toEqual(["HOST_OFFLINE"]);
    const refused = await surface.ask("socket", "/events?category=nothing");
    expect([refused.status, refused.json.code]).toEqual([422, "INVALID_REQUEST"]);
  });

  test("passing events come without a place; a slow reader is told how many it missed, and gets every durable one", async () => {
    const { router } = surface.coordination;
    const reader = await follow("?event_type=METRICS_UPDATED&event_type=NEW_GAMES_AVAILABLE");
    await router.publish("METRICS_UPDATED", { node_id: "n1", metrics: { load: 1 } });
    await reader.until((messages) => messages.length === 1);
    expect(reader.messages[0]).toMatchObject({ id: undefined });
    reader.pause();
    const notes = "x".repeat(100_000);
    const from = head();
    for (let n = 0; n < 150; n += 1) {
      await publish(n, "n1", notes);
      await router.publish("METRICS_UPDATED", { node_id: "n1", metrics: { load: n } });
    }
    const newest = head();
    reader.resume();
    await reader.until((messages) => messages.some(({ id }) => id === String(newest)));
    const places = seqs(reader);
    expect(places).toEqual(Array.from({ length: newest - from }, (_, i) => from + 1 + i));
    const missed = reader.messages.filter(({ event }) => event === "missed");
    const passing = reader.messages.filter(({ event, id }) => event === "message" && id === undefined).length - 1;
    const told = missed.reduce((sum, { data }) => sum + (JSON.parse(data) as { missed: number }).missed, 0);
    expect(told).toBeGreaterThan(0);
    expect(passing + told).toBe(150);
    reader.cut();
  });

  test("says so when the journal no longer reaches back, or is another one", async () => {
    const ahead = await follow(`?after=${head() + 1_000}`);
    await ahead.until((messages) => messages.length > 0);
    expect(ahead.messages[0]).toMatchObject({ event: "gap" });
    const event = await publish(7);
    await ahead.until((messages) => messages.length > 1);
    expect(seqs(ahead)).toEqual([event.seq]);
    ahead.cut();
    expect((await surface.ask("socket", "/events", { headers: { "last-event-id": "x" } })).status).toBe(422);
  });

  test("leaves no listener behind", async () => {
    const reader = await follow();
    await expect.poll(() => surface.coordination.router.listSubscribers()["*"] ?? []).toContain("stream");
    reader.cut();
    await expect
      .poll(() => Object.values(surface.coordination.router.listSubscribers()).flat())
      .not.toContain("stream");
  });

  test("refuses one stream too many, and leaves no listener behind for it either", async () => {
    const port = { host: "127.0.0.1", port: surface.coordination.api.port };
    const listeners = () =>
      (surface.coordination.router.listSubscribers()["*"] ?? []).filter((name) => name === "stream").length;
    await expect.poll(listeners).toBe(0);
    const readers: EventReader[] = [];
    for (let i = 0; i < 131; i += 1) readers.push(await readEvents(port, i % 2 === 0 ? "/events" : "/v1/stream"));
    expect(readers.map(({ status }) => status).filter((status) => status === 429)).toHaveLength(3);
    expect(listeners()).toBe(128);
    for (const reader of readers) reader.cut();
    await expect.poll(listeners).toBe(0);
  });

  test("a reader that takes nothing is cut off when its token ends", async () => {
    const body = { label: "idler", scope: "read" };
    const { json } = await surface.ask("socket", "/v1/tokens", { method: "POST", body });
    const port = { host: "127.0.0.1", port: surface.coordination.api.port };
    const theirs = connectionsOf(port.port, onTestFinished);
    // The process looks at its own port now and then: connections that come and go.
    const isCut = () => theirs.length > 0 && theirs.every(({ socket }) => socket.destroyed);
    const idler = await readEvents(port, "/events", { authorization: `Bearer ${json.token}` });
    idler.pause();
    for (let i = 0; i < 40; i += 1) await Promise.all(Array.from({ length: 10 }, (_, n) => publish(n, "n1", long)));
    expect(isCut()).toBe(false);
    await surface.ask("socket", `/v1/tokens/${json.id}`, { method: "DELETE" });
    // Our end of it stays, since it does not look.
    await expect.poll(isCut).toBe(true);
    idler.cut();
  });
});

const long = "x".repeat(40_000);

describe("pages of the journal", () => {
  const page = async (path: string) =>
    (await surface.ask("socket", path)).json as {
      events: { sequence?: string; event?: { type: string; sequence: string } }[];
      next_before?: number | null;
      next_after?: number | null;
    };

  test("a history is bounded by bytes, and the pages together hold all of it once", async () => {
    const notes = "y".repeat(900_000);
    const from = head();
    for (let n = 0; n < 20; n += 1) await publish(n, "n1", notes);
    const found: number[] = [];
    let before: number | null = head() + 1;
    let pages = 0;
    while (before !== null && before > from + 1) {
      const { events, next_before } = await page(`/v1/events?source=sse&before=${before}&limit=1000`);
      expect(JSON.stringify(events).length).toBeLessThan(10_000_000);
      found.unshift(...events.map(({ sequence }) => Number(sequence)));
      before = next_before!;
      pages += 1;
    }
    expect(pages).toBeGreaterThan(2);
    const ours = found.filter((seq) => seq > from);
    expect(ours).toEqual(Array.from({ length: 20 }, (_, i) => from + 1 + i));
  });

  test("a trace comes in pages, each event once", async () => {
    const { router } = surface.coordination;
    const traceId = "b".repeat(32);
    const [first] = await Promise.all(
      Array.from({ length: 130 }, (_, n) =>
        router.publish("HOST_OFFLINE", { node_id: `t${n}`, reason: "silent" }, { source: "trace", traceId }),
      ),
    );
    const seen: string[] = [];
    let after: number | null = 0;
    while (after !== null) {
      const { events, next_after } = await page(`/v1/events/${first!.eventId}/trace?limit=50&after=${after}`);
      expect(events.length).toBeLessThanOrEqual(50);
      // A unit may answer one of them meanwhile, and is in the trace then.
      seen.push(...events.flatMap(({ event }) => (event!.type === "HOST_OFFLINE" ? [event!.sequence] : [])));
      after = next_after!;
    }
    expect(seen).toHaveLength(130);
    expect(new Set(seen).size).toBe(130);
  });
});
