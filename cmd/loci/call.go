package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

type callCmd struct {
	Tool           string `arg:"" help:"The name of the tool."`
	Arguments      string `arg:"" optional:"" default:"{}" help:"Its arguments, a JSON object; - reads it from standard input."`
	IdempotencyKey string `placeholder:"KEY" help:"Makes the call safe to repeat: the same key makes it only once."`
}

// Help is shown below the usage.
func (*callCmd) Help() string {
	return `Prints the text an agent would get; with --json the structured form, if the tool has one.

    loci call memory_search '{"query":"seats"}'
    loci --tools facts call manage_memory '{"content":"Prefers window seats."}'`
}

// Run calls one tool.
func (c *callCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	arguments := c.Arguments
	if arguments == "-" {
		data, err := io.ReadAll(io.LimitReader(a.input(), tool.DefaultMaxArguments+1))
		if err != nil {
			return fileError("standard input", err)
		}
		arguments = string(data)
	}
	if err := a.open(); err != nil {
		return err
	}
	set, err := tool.New(a.engine, cfg.Tools(a.logger()))
	if err != nil {
		return err
	}
	t, ok := set.Lookup(c.Tool)
	if !ok {
		var names []string
		for _, t := range set.Tools() {
			names = append(names, t.Name)
		}
		return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("no tool %q: there are %s", c.Tool, strings.Join(names, ", ")),
			Recovery: "Choose other tools with --tools, or one of these."}
	}
	caller := tool.Caller{Principal: a.principal, IdempotencyKey: c.IdempotencyKey, Client: "loci call"}
	reply, err := t.Call(a.ctx, caller, json.RawMessage(arguments))
	if err != nil {
		return err
	}
	switch {
	case a.json && len(reply.Structured) > 0:
		a.printf("%s\n", reply.Structured)
	case a.json:
		err = a.printJSON(map[string]string{"text": reply.Text})
	default:
		a.printf("%s\n", a.text(reply.Text))
	}
	return cmp.Or(err, reply.Err)
}
