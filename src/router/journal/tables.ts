import { defineStoreModule } from "../store.port.ts";
import { appendEvents } from "./append.ts";
import { expireConsumers, registerConsumer, touchConsumers, unregisterConsumer } from "./consumers.ts";
import { discardDeadLetters, recoverDeadLetter, retryDeadLetters, sweepDeadLetters } from "./dead-letters.ts";
import { ackDeliveries, buryDelivery, failDelivery, parkDeliveries } from "./deliveries.ts";
import { journalMigrations } from "./migrations.ts";
import { probeStore } from "./probe.ts";
import { replayDeliveries } from "./replay.ts";
import { trimDedup, trimJournal } from "./retention.ts";

/** What the router keeps in the store. */
export const journalModule = defineStoreModule({
  name: "journal",
  migrations: journalMigrations,
  operations: [
    appendEvents,
    registerConsumer,
    unregisterConsumer,
    touchConsumers,
    expireConsumers,
    ackDeliveries,
    parkDeliveries,
    failDelivery,
    buryDelivery,
    retryDeadLetters,
    recoverDeadLetter,
    replayDeliveries,
    discardDeadLetters,
    sweepDeadLetters,
    trimJournal,
    trimDedup,
    probeStore,
  ],
});
