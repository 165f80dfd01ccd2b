package main

import (
	"strings"

	"github.com/loci-memory/loci"
)

type contextCmd struct {
	Prompt   []string `arg:"" help:"What the agent was asked; - reads it from standard input."`
	MinScore float64  `placeholder:"X" help:"Only memories that fit at least so well, 0 to 1: about the chance that one answers. Default: 0."`
	Budget   int      `default:"3000" placeholder:"N" help:"Tokens of the text at most, 0 to 200000. Default: 3000."`
	place
}

// Help is shown below the usage.
func (*contextCmd) Help() string {
	return `Prints the block of memories that the agent of --agent gets for a prompt: facts, rules and recent episodes by score; without an
agent, those of all agents. With --json it also says what was left out, and how each score came about.

    loci context book a seat on the train
    loci --agent health context help the user with a diet --budget 1000`
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
