package main

import (
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/loci-memory/loci/tool"
)

// A toolEntry is one entry of the setting tools.
type toolEntry struct {
	tool.Instance
	at  string // where it was written
	bad bool   // a fault of it was reported already
}

// familyNames lists the families of tools; toolNames, the tools of all families,
// each name once.
func familyNames() []string { return tool.Families() }

func toolNames() (names []string) {
	for _, family := range familyNames() {
		set, err := tool.New(nil, tool.Config{Entries: []tool.Instance{{Family: family}}})
		if err != nil {
			return nil // checkTools would say so
		}
		for _, t := range set.Tools() {
			if !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}

// toolConfig is what the configuration says about tools.
func (c *config) toolConfig(logger *slog.Logger) tool.Config {
	cfg := tool.Config{ReplyCap: c.replyBytes, SearchTimeout: tool.Duration(c.readTimeout), WriteTimeout: tool.Duration(c.writeTimeout),
		KeepSecrets: !c.redact, Logger: logger}
	for _, e := range c.tools {
		cfg.Entries = append(cfg.Entries, e.Instance)
	}
	return cfg
}

// checkTools reports what package tool finds wrong, with the place of the entry.
func (c *config) checkTools(bad *faults) {
	origin := c.origin["tools"]
	if origin == "" {
		return
	}
	if len(c.tools) == 0 {
		bad.add(origin, errors.New("tools must name at least one: write one of "+strings.Join(familyNames(), ", ")))
		return
	}
	whole := true
	for _, e := range c.tools {
		if e.bad {
			whole = false
			continue
		}
		if _, err := tool.New(nil, tool.Config{Entries: []tool.Instance{e.Instance}}); err != nil {
			whole = false
			where := e.at
			if where == "" {
				where = origin
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				bad.add(where, errors.New("tools: "+strings.TrimPrefix(line, "tools entry 1: ")))
			}
		}
	}
	if !whole {
		return
	}
	// Each is right for itself; together two may have one name.
	var cfg tool.Config
	for _, e := range c.tools {
		cfg.Entries = append(cfg.Entries, e.Instance)
	}
	if _, err := tool.New(nil, cfg); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			bad.add(origin, errors.New("tools: "+line))
		}
	}
}
