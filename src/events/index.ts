export * from "./catalog.ts"; export * from "./envelope.ts"; export * from "./upcast.ts"; export * from "./legacy-keys.ts"; export * from "./row.ts"; export * from "./names.ts";
