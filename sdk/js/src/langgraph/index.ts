export { LociSaver } from "./saver.js";
export { LociStore, type LociStoreOptions } from "./store.js";
