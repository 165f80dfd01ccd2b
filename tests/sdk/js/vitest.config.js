import { defineConfig } from "vitest/config";

export default defineConfig({ test: { globals: true, include: ["*.test.js"], testTimeout: 30_000, hookTimeout: 60_000, maxWorkers: 2, server: { deps: { inline: [] } } } });
