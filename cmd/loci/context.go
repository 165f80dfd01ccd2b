package main

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

type contextCmd struct {
	Prompt   []string `arg:"" help:"What the agent was asked; - reads it from standard input."`
	MinScore float64  `placeholder:"X" help:"Only memories with at least this score, 0 to 1. A score is about the chance that the memory answers. Default: 0."`
	Budget   int      `default:"3000" placeholder:"N" help:"The most tokens that the text may have, 0 to 200000. Default: 3000."`
	place
}

// Help is shown below the usage.
func (*contextCmd) Help() string {
	return `Prints the block of memories that an agent gets for a prompt: facts, rules and recent episodes, best score first. --agent names
the agent; without it the block has those of all agents. --json also shows what was left out, and how each score came about.

    loci context "book a seat on the train"
    loci --agent health context "help the user with a diet" --budget 1000`
}

// Run makes a context.
func (c *contextCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	prompt, err := a.words(c.Prompt, loci.MaxQueryBytes)
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	block, err := m.Context(a.ctx, loci.ContextQuery{Prompt: prompt, Agent: cfg.Vars[loci.VarAgent],
		TokenBudget: &c.Budget, MinScore: c.MinScore})
	if err != nil {
		return err
	}
	if block.KeywordOnly {
		a.note("the embedder did not answer: these are results by keyword")
	}
	if block.Unfit > 0 {
		a.note("%d candidates are left out: their fit is below %g", block.Unfit, c.MinScore)
	}
	if a.json {
		return a.printJSON(block)
	}
	if block.Text == "" {
		a.note("nothing to show in so few tokens")
		return nil
	}
	a.printf("%s\n", a.text(strings.TrimSuffix(block.Text, "\n")))
	return nil
}

type hookCmd struct {
	MinScore float64 `default:"0.03" placeholder:"X" help:"Only memories with at least this score, 0 to 1. A score is about the chance that the memory answers. Default: 0.03, which leaves out most memories about something else."`
	Budget   int     `default:"1000" placeholder:"N" help:"The most tokens that the text may have, 0 to 200000. Default: 1000."`
	place
}

// Help is shown below the usage.
func (*hookCmd) Help() string {
	return `Reads the JSON that Claude Code or Codex gives to a prompt hook, and prints the memories that fit its field prompt, if there are
any. The agent reads them before it answers. An error is a line on standard error and never stops a prompt. The plugin of this
project calls this command.

    echo '{"prompt":"Which port has the staging database?"}' | loci hook`
}

// maxHookEvent bounds the event of a hook.
const maxHookEvent = 1 << 20

// Run prints what bears on a prompt. It always succeeds: an agent takes the exit code 2 for a
// refusal of what its user has asked.
func (c *hookCmd) Run(a *app) error {
	if err := c.print(a); err != nil {
		a.note("loci: %v", err)
	}
	return nil
}

func (c *hookCmd) print(a *app) error {
	data, err := io.ReadAll(io.LimitReader(a.input(), maxHookEvent+1))
	if err != nil {
		return fileError("standard input", err)
	}
	if len(data) > maxHookEvent {
		return loci.Errorf(loci.TooLarge, "the event has more than %d bytes", maxHookEvent)
	}
	var event struct{ Prompt string }
	if err := json.Unmarshal(data, &event); err != nil {
		return loci.Errorf(loci.Invalid,
			"a coding agent gives the event to standard input, as JSON with a field prompt; loci hook --help shows one: %w", err)
	}
	prompt := beginning(event.Prompt, loci.MaxQueryBytes)
	if strings.TrimSpace(prompt) == "" {
		return nil
	}
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	block, err := m.Context(a.ctx, loci.ContextQuery{Prompt: prompt, Agent: cfg.Vars[loci.VarAgent],
		TokenBudget: &c.Budget, MinScore: c.MinScore})
	if err != nil || len(block.Shown) == 0 {
		return err
	}
	a.printf("%s\n", a.text(strings.TrimSuffix(block.Text, "\n")))
	return nil
}

// beginning is the beginning of a text of at most so many bytes, without half a character.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
