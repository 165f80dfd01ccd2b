export { LociClient, type Info } from "./client.js";
export { ConfigurationError, LociError, type ErrorCode, type ErrorFields, type ErrorPart } from "./errors.js";
export type { CallOptions, ClientOptions, Identity } from "./transport.js";
export * from "./checkpoints.js";
export * from "./items.js";
export * from "./memories.js";
export { remember, type OnError, type Remembered } from "./remember.js";
export * from "./sessions.js";
export * from "./tools.js";
