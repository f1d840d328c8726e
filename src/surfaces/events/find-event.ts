import { isOperatingError, OperatingError, sayWhich } from "../../kernel/index.ts";
import type { JournalView } from "../cli/journal-view.port.ts";

const LOOKED_AT = 10_000;
const LEAST_CHARACTERS = 6;

/** The id that was meant: a whole one, or the end of one (as lists show it) among the newest events. */
export async function findEventId(view: JournalView, given: string): Promise<string> {
  try {
    await view.event(given);
    return given;
  } catch (thrown) {
    if (!isOperatingError(thrown, "EVENT_NOT_FOUND")) throw thrown;
    if (given.length < LEAST_CHARACTERS)
      throw OperatingError.invalid("INVALID_EVENT_ID", `'${given}' is too short to name an event`, {
        hint: `Give the whole id, or at least its last ${LEAST_CHARACTERS} characters.`,
      });
    const ends = (await view.history({ limit: LOOKED_AT }))
      .map(({ eventId }) => eventId)
      .filter((id) => id.endsWith(given.toLowerCase()));
    if (ends.length > 1)
      throw OperatingError.invalid("INVALID_EVENT_ID", `'${given}' is the end of ${ends.length} ids`, {
        hint: sayWhich(ends),
      });
    if (ends.length === 1) return ends[0]!;
    throw OperatingError.notFound("EVENT_NOT_FOUND", `no event ${given} in the journal`, {
      cause: thrown,
      hint:
        "'ringrift events history' lists the events. Events that are not durable are not kept, and old ones go " +
        "after 7 days.",
    });
  }
}
