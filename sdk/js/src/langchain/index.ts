export { fromStored, LociChatMessageHistory, toStored, type LociChatMessageHistoryOptions } from "./history.js";
export {
  createManageMemoryTool,
  createSearchMemoryTool,
  type ManageMemoryToolOptions,
  type MemoryAction,
  type MemoryToolOptions,
  type SearchMemoryToolOptions,
} from "./tools.js";
export { LociRetriever, type LociRetrieverOptions } from "./retriever.js";
export { LociByteStore, LociKeyValueStore, type LociStoreOfValuesOptions } from "./stores.js";
