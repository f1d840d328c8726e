/** Fields of answers of providers, with bounds on everything. */
import { z } from "zod";

export const text = z.string().max(10_000);
export const count = z.number().min(0).max(1e9);
/** US dollars or euros in an hour: more is a mistake. */
export const price = z.number().min(0).max(10_000);
/** An amount that comes as text. */
export const priceText = z
  .string()
  .regex(/^\d{1,6}(\.\d{1,20})?$/)
  .transform(Number);
export const numericId = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
/** Names that we put into paths. */
export const pathId = z.string().regex(/^[\w-]{1,100}$/);
export const many = <T extends z.ZodType>(item: T) => z.array(item).max(10_000);
/** Whatever else is said is passed over. */
export const anything = z.unknown();
