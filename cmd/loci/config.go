package main

import "github.com/loci-memory/loci/internal/config"

type configCmd struct {
	Reference referenceCmd `cmd:"" help:"Print the reference of all settings in Markdown."`
}

type referenceCmd struct{}

// Run prints the reference.
func (*referenceCmd) Run(a *app) error { return config.WriteReference(a.out) }
