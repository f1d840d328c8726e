/** A reader of server-sent events over a real connection, which can be cut off at any byte and can stop reading. */
import { type IncomingMessage, request } from "node:http";
import type { Where } from "./surface.ts";

export interface Message {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface EventReader {
  readonly messages: readonly Message[];
  readonly comments: readonly string[];
  readonly status: number;
  readonly lastEventId: string | undefined;
  /** Resolves when so many messages are there. */
  until(enough: (messages: readonly Message[]) => boolean): Promise<void>;
  pause(): void;
  resume(): void;
  /** Hangs up without a word. */
  cut(): void;
  readonly ended: Promise<void>;
}

export const readEvents = (
  where: Where,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventReader> =>
  new Promise((resolve, reject) => {
    const { secure: _, ...address } = where;
    const outgoing = request({ ...address, path, headers, agent: false } as object, (answer: IncomingMessage) => {
      const messages: Message[] = [];
      const comments: string[] = [];
      const waiting = new Set<() => void>();
      let lastEventId: string | undefined;
      let rest = "";
      const take = (block: string) => {
        const fields: Record<string, string> = {};
        for (const line of block.split("\n")) {
          if (line.startsWith(":")) comments.push(line);
          const at = line.indexOf(": ");
          if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
        }
        if (fields.data === undefined) return;
        if (fields.id !== undefined) lastEventId = fields.id;
        messages.push({ id: fields.id, event: fields.event ?? "message", data: fields.data });
      };
      answer.setEncoding("utf8").on("data", (part: string) => {
        rest += part;
        const blocks = rest.split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) take(block);
        for (const look of waiting) look();
      });
      const ended = new Promise<void>((done) => {
        answer.once("end", done);
        answer.once("error", () => done());
      });
      resolve({
        messages,
        comments,
        status: answer.statusCode ?? 0,
        get lastEventId() {
          return lastEventId;
        },
        until: (enough) =>
          new Promise((done) => {
            const look = () => {
              if (!enough(messages)) return;
              waiting.delete(look);
              done();
            };
            waiting.add(look);
            look();
          }),
        pause: () => void answer.pause(),
        resume: () => void answer.resume(),
        cut: () => void outgoing.destroy(),
        ended,
      });
    });
    outgoing.on("error", (error) => reject(error));
    outgoing.end();
  });
