/**
 * events: the language that all rooms speak, as data.
 *
 * An event is a row: its name, what it tells, how far it travels, what keeps its order, when a repeat is the same event,
 * and the shape of its payload. Everything else is derived from the rows: types, validation, storage, the wire, the
 * reference pages and the audit. Nobody writes a mapping.
 *
 * It guarantees that
 * - constant, wire value and legacy spelling of a name are one event, and one spelling never names two;
 * - one key has one meaning and one kind over all payloads, and ids are branded, so that a node is never taken for a model;
 * - what our units emit is checked strictly, and what comes from outside is read tolerantly, unknown fields kept;
 * - a stored payload of an older version is brought up to date, and one of a newer version is kept as it is;
 * - on the wire an event is a CloudEvent with W3C trace context, and reading it back gives the same event;
 * - everything is bounded: size and depth of payloads, length of names, ids and lists.
 *
 * `defineEvents` adds events of your own, with the same typing, bridging and audit. This room keeps no state and does no
 * work of its own; it knows the kernel only.
 */

export { asyncApiDocument } from "./asyncapi.ts";
export { BoardType, configKeyOf } from "./boards.ts";
export { boundedText } from "./bounds.ts";
export {
  type BuiltinRows,
  builtinRows,
  type Catalog,
  createCatalog,
  type EventName,
  type PayloadFor,
} from "./catalog.ts";
export {
  type CloudEvent,
  fromCloudEvent,
  parseTraceparent,
  spanIdOf,
  toCloudEvent,
  traceparentOf,
} from "./cloud-event.ts";
export {
  type AnyRouterEvent,
  contentHashOfText,
  DataEventType,
  EventSource,
  type RouterEvent,
  type RouterEventOf,
  type WireValue,
} from "./envelope.ts";
export * as fields from "./fields.ts";
export { field } from "./fields.ts";
export { issueText } from "./issue-text.ts";
export { fieldsOf, type JsonSchema, payloadSchemaOf } from "./json-schema.ts";
export { liftKeys } from "./legacy-keys.ts";
export { defineEvents, type EventClass, type EventRow, missingFields, type Rows, type Upcasters } from "./row.ts";
export { upcast } from "./upcast.ts";
