package config

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/llm"
)

// noLLM is the provider that stands for "no language model".
const noLLM = "none"

// checkLLM checks what only holds between the settings of the language model.
func (c *Config) checkLLM(bad *faults) {
	if c.llm.Provider == noLLM || c.llm.Provider == "" || !c.sound("llm.provider") {
		return
	}
	where := c.origin["llm.provider"]
	if _, err := llm.Open(c.llm); err != nil {
		bad.add(where, err)
	}
	if c.origin["llm.key_env"] != "" && c.origin["llm.key_file"] != "" {
		bad.add(c.origin["llm.key_file"], errors.New("llm.key_env and llm.key_file are both set: leave one of them out"))
	}
	budgets := c.Consolidation
	if least := 4000 + budgets.CompletionTokens; min(budgets.TokensPerRun, budgets.TokensPerDay) < least {
		bad.add(where, loci.Errorf(loci.Invalid, "llm.max_tokens_per_run and llm.max_tokens_per_day must be at least %d: "+
			"a prompt of 4000 and llm.completion_tokens", least))
	}
}

// Completer makes the configured language model; nil: there is none. Its key is read
// with every call.
func (c *Config) Completer() (loci.Completer, error) {
	if c.llm.Provider == noLLM || c.llm.Provider == "" {
		return nil, nil //nolint:nilnil // no model is a configuration, too
	}
	return llm.Open(c.llm)
}
