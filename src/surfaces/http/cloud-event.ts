import { toCloudEvent } from "../../events/index.ts";
import type { AnyEvent } from "../../router/index.ts";

export const onTheWire = (event: AnyEvent) => toCloudEvent(event as Parameters<typeof toCloudEvent>[0]);
