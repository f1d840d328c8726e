import { assertSpeaksFor } from "../http/node-callers.ts";
import { handle, type Route } from "../http/route.ts";
import * as wire from "./wire.ts";

export const copyRoutes: readonly Route[] = [
  handle(wire.tellCopies, ({ ports, body, caller }) => {
    assertSpeaksFor(caller, [body.node_id], ports);
    return ports.copies.exchange(body);
  }),
  handle(wire.findSources, ({ ports, body: { node_id, files }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    return ports.copies.sourcesFor(node_id, files);
  }),
  handle(wire.findKnown, ({ ports, body: { node_id, files }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    return ports.library.known(files);
  }),
  handle(wire.listCopies, ({ ports, query: { node_id, after, limit }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    return { copies: ports.copies.listed(node_id, after, limit) };
  }),
  handle(wire.confirmCopies, ({ ports, body: { node_id, incarnation, upto, bits }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    return ports.copies.confirm(node_id, incarnation, upto, bits);
  }),
];
