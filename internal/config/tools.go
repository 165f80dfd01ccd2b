package config

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/tool"
)

// toolKeys are the names an entry of the setting tools may have, with what they mean.
var toolKeys = []struct{ key, help string }{
	{"family", "the family whose tools are offered"},
	{"tool", "one tool, of that family if one is named"},
	{"name", "the name under which agents see the tool; needs tool"},
	{"prefix", "comes before the names of all tools of the family"},
	{"namespace", "where its memories go: a list of labels, of which {user_id}, {org_id}, {agent_id} and so on are filled in"},
	{"instructions", "when the agent should use it"},
	{"actions_permitted", "of create, update and delete"},
	{"commands", "of the tool memory: what it may do, such as [read, list]; search only if it is named"},
	{"response_format", "content, or content_and_artifact"},
	{"min_score", "the least score of a result of the tools that search, 0 to 1, where a call names none"},
	{"timeout", "how long a call may take, such as 5s; default: timeouts.read or timeouts.write"},
	{"tier", "SideEffecting: clients are to be as careful with a tool that only reads as with one that changes something"},
	{"top_k", "how many results a search gives that names no number"},
	{"weights", "of the scores of memory_recall and memory_context: relevance, importance, recency and confidence, which sum to 1; default: recall"},
	{"memory", "the name of the tree of files that the tool memory works on; tools with the same name share it"},
	{"scope", "of the tool memory: global, or perThread for a tree of each thread"},
	{"title", "of the tool memory, as clients show it"},
	{"description", "of the tool memory, as agents read it"},
}

// tools reads the list of tools: names of families, or mappings.
func (r *fileReader) tools(s *Setting, n *yaml.Node) {
	if r.empty(n, s.Key) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "tools must be a list, not %s: write it as [%s]", describe(n), strings.Join(familyNames(), ", "))
		return
	}
	var tools []toolEntry
	for _, e := range n.Content {
		entry := toolEntry{at: r.at(e)}
		before := len(*r.bad)
		switch {
		case e.Kind == yaml.ScalarNode && e.ShortTag() == "!!str":
			family, err := spelling.OneOf(e.Value, familyNames()...)
			if err != nil {
				r.fault(e, "tools: %w", err)
			}
			entry.Family = family
		case e.Kind == yaml.MappingNode:
			r.tool(e, &entry)
		default:
			r.fault(e, "an entry of tools must be the name of a family or a mapping, not %s", describe(e))
		}
		entry.bad = len(*r.bad) > before
		tools = append(tools, entry)
	}
	r.c.tools = tools
	r.c.origin[s.Key] = r.at(n)
}

// tool reads one mapping of the list of tools.
func (r *fileReader) tool(n *yaml.Node, entry *toolEntry) {
	r.fields(n, "an entry of tools", func(key string, k, v *yaml.Node) {
		name := "tools." + key
		switch key {
		case "family":
			r.choice(v, name, &entry.Family, familyNames())
		case "tool":
			r.choice(v, name, &entry.Tool, ToolNames())
		case "name":
			r.text(v, name, &entry.Name)
		case "prefix":
			r.text(v, name, &entry.Prefix)
		case "instructions":
			r.text(v, name, &entry.Instructions)
		case "response_format":
			r.choice(v, name, &entry.ResponseFormat, []string{tool.FormatContent, tool.FormatContentAndArtifact})
		case "min_score":
			r.share(v, name, &entry.MinScore)
		case "memory":
			r.text(v, name, &entry.Memory)
		case "scope":
			r.choice(v, name, &entry.Scope, []string{tool.ScopeGlobal, tool.ScopePerThread})
		case "title":
			r.text(v, name, &entry.Title)
		case "description":
			r.text(v, name, &entry.Description)
		case "timeout":
			r.timeout(v, name, &entry.Timeout)
		case "tier":
			var tier string
			r.choice(v, name, &tier, []string{string(tool.ReadOnly), string(tool.SideEffecting)})
			entry.Tier = tool.Tier(tier)
		case "top_k":
			r.count(v, name, &entry.TopK)
		case "weights":
			entry.Weights = r.weights(v, name)
		case "namespace":
			entry.Namespace, _ = r.texts(v, name)
		case "commands":
			entry.Commands, _ = r.texts(v, name)
		case "actions_permitted":
			entry.ActionsPermitted, _ = r.texts(v, name)
		default:
			r.unknownKey(k, key, name, toolKeys)
		}
	})
}

func (r *fileReader) text(n *yaml.Node, name string, field *string) {
	switch {
	case r.empty(n, name):
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		r.fault(n, "%s must be a text, not %s%s", name, describe(n), remedy(Text, n))
	case strings.TrimSpace(n.Value) == "":
		r.fault(n, "%s must not be empty", name)
	default:
		*field = n.Value
	}
}

// share reads a number from 0 to 1.
func (r *fileReader) share(n *yaml.Node, name string, field *float64) {
	switch {
	case r.empty(n, name):
	case n.Kind != yaml.ScalarNode || n.Decode(field) != nil || !(*field >= 0 && *field <= 1):
		r.fault(n, "%s must be a number from 0 to 1, not %s", name, describe(n))
	}
}

// weights reads the weights of an entry; one that is not named is 0.
func (r *fileReader) weights(n *yaml.Node, name string) *loci.RecallWeights {
	w := &loci.RecallWeights{}
	parts := map[string]*float64{
		"relevance": &w.Relevance, "importance": &w.Importance, "recency": &w.Recency, "confidence": &w.Confidence,
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be a mapping such as {relevance: 0.7, recency: 0.3}, not %s", name, describe(n))
		return nil
	}
	r.fields(n, name, func(key string, k, v *yaml.Node) {
		part := parts[key]
		if part == nil {
			r.fault(k, "%s.%s is not a setting: it must be one of relevance, importance, recency, confidence", name, terminal.Word(key))
			return
		}
		r.share(v, name+"."+key, part)
	})
	return w
}

func (r *fileReader) choice(n *yaml.Node, name string, field *string, allowed []string) {
	var v string
	r.text(n, name, &v)
	if v == "" {
		return
	}
	if _, err := spelling.OneOf(v, allowed...); err != nil {
		r.fault(n, "%s: %w", name, err)
		return
	}
	*field = v
}

func (r *fileReader) timeout(n *yaml.Node, name string, field *tool.Duration) {
	var text string
	if r.text(n, name, &text); text == "" {
		return
	}
	if err := field.UnmarshalText([]byte(text)); err != nil {
		r.fault(n, "%s: %w", name, err)
	} else if *field == 0 {
		r.fault(n, "%s is 0s; it must be 1ms to 10m", name)
	}
}

func (r *fileReader) count(n *yaml.Node, name string, field *int) {
	switch {
	case r.empty(n, name):
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(field) != nil || *field < 1:
		r.fault(n, "%s must be a whole number above 0, not %s", name, describe(n))
	}
}

// A toolEntry is one entry of the setting tools.
type toolEntry struct {
	tool.Instance
	at  string // where it was written
	bad bool   // one of its faults was already reported
}

// familyNames lists the families of tools and the preset of several; toolNames, the tools of all families,
// each name once.
func familyNames() []string { return append(tool.Families(), tool.PresetAll) }

// ToolNames lists the tools of all families, each name once.
func ToolNames() []string { return slices.Clone(toolNames()) }

// toolNames makes all tools to learn their names, which takes milliseconds: once, not for each entry of a list.
var toolNames = sync.OnceValue(func() (names []string) {
	for _, family := range tool.Families() {
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
})

// Tools is what the configuration says about tools.
func (c *Config) Tools(logger *slog.Logger) tool.Config {
	cfg := tool.Config{ReplyCap: c.replyBytes, KeepSecrets: !c.redact, Logger: logger,
		SearchTimeout: tool.Duration(c.ReadTimeout), WriteTimeout: tool.Duration(c.WriteTimeout)}
	for _, e := range c.tools {
		cfg.Entries = append(cfg.Entries, e.Instance)
	}
	return cfg
}

// checkTools reports what package tool finds wrong, with the place of the entry.
func (c *Config) checkTools(bad *faults) {
	origin := c.origin["tools"]
	if origin == "" {
		return
	}
	if len(c.tools) == 0 {
		bad.add(origin, errors.New("tools must name at least one: write one of "+strings.Join(familyNames(), ", ")))
		return
	}
	if n := len(c.tools); n > tool.MaxEntries {
		bad.add(origin, loci.Errorf(loci.Invalid, "tools has %d entries; the limit is %d: leave some out", n, tool.MaxEntries))
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
	// Each entry is right by itself, but two of them may have the same name.
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
