import { defineConfig } from "vitest/config";

export default defineConfig({ test: { globals: true, include: ["*.test.js"], testTimeout: 120_000, hookTimeout: 120_000, maxWorkers: 2, server: { deps: { inline: [] } } } });
