/**
 * Node's HTTP, taken whole. An import of `node:http` by name looks at everything that the module offers, `WebSocket` among it,
 * and that loads the whole of undici: more time than all the rest of a command needs.
 */
export const http = process.getBuiltinModule("node:http");

/** HTTP over TLS, loaded by those who dial another machine: with it come TLS and all that it needs. */
export const https = () => process.getBuiltinModule("node:https");
