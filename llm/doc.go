// Package llm asks language models: services with OpenAI's chat completions and
// Anthropic's messages.
package llm
