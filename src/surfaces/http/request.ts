import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { z } from "zod";
import { OperatingError } from "../../kernel/index.ts";
import type { Door } from "./access.ts";

export type Env = { Bindings: HttpBindings & { readonly cameBy: Door } };

/** Reads what came from outside; says which field is wrong. */
export const parse = <T extends z.ZodType>(what: T, value: unknown): z.output<T> => {
  const read = what.safeParse(value);
  if (read.success) return read.data;
  const issue = read.error.issues[0]!;
  throw new OperatingError("INVALID_REQUEST", `${issue.path.join(".") || "body"}: ${issue.message}`);
};

export const readJson = async <T extends z.ZodType>(c: Context<Env>, what: T): Promise<z.output<T>> => {
  const text = await c.req.text();
  let json: unknown;
  try {
    json = text === "" ? {} : JSON.parse(text);
  } catch (cause) {
    throw new OperatingError("INVALID_REQUEST", "the body is not JSON", { cause });
  }
  return parse(what, json);
};
