export { fromStored, LociChatMessageHistory, toStored, type LociChatMessageHistoryOptions } from "./history.js";
export {
  createManageMemoryTool,
  createSearchMemoryTool,
  type ManageMemoryToolOptions,
  type MemoryAction,
  type MemoryToolOptions,
  type SearchMemoryToolOptions,
} from "./tools.js";
