package isolation

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

// everyTool is the tools of all families.
func everyTool(t *testing.T, engine *loci.Engine) []*tool.Tool {
	t.Helper()
	set, err := tool.New(engine, tool.Config{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Entries: []tool.Instance{
			{Family: tool.FamilyFacts, ResponseFormat: tool.FormatContentAndArtifact},
			{Family: tool.FamilyNotes},
			{Family: tool.FamilyMemory, Prefix: "agent_"},
			{Family: tool.FamilyFiles},
			{Family: tool.FamilyClaude, Prefix: "claude_"},
			{Family: tool.FamilySessions},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return set.Tools()
}

func callerOf(t *testing.T, tenant, user, butler string) tool.Caller {
	t.Helper()
	tn, err := loci.NewTenant(tenant)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loci.NewPrincipal(tn, "same actor", loci.Vars{loci.VarUser: user, loci.VarButler: butler},
		loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Caller{Principal: p}
}

// arguments fills every argument of a tool that is a text, or a list of texts, with what is
// sent, except for those that choose from a list of words. The id is the victim's.
func arguments(t *testing.T, tl *tool.Tool, sent, word, id string) json.RawMessage {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Type  string
			Enum  []string
			AnyOf []any
			Items struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(tl.InputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for name, p := range schema.Properties {
		switch {
		case name == "id" || strings.HasSuffix(name, "_id") && name != "session_id":
			args[name] = id
		case name == "cursor": // a cursor of its own list
		case name == "butler":
			args[name] = word
		case len(p.Enum) > 0:
			args[name] = p.Enum[len(sent)%len(p.Enum)]
		case p.Type == "string" || p.AnyOf != nil:
			args[name] = sent
		case name == "filter":
			args[name] = map[string]any{"k": sent}
		case p.Type == "array" && len(p.Items.Enum) == 0 && strings.TrimSpace(sent) != "" && len(sent) < 60:
			args[name] = []string{sent}
		}
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestNoToolCrosses lets another user, and the same user of another tenant, call
// every tool there is with every payload and the victim's ids.
func TestNoToolCrosses(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		before := export(t, sc.victim)
		tools := everyTool(t, sc.engine)
		attackers := []tool.Caller{callerOf(t, "home", "attacker", canary), callerOf(t, "away", "victim", canary)}
		call := func(c tool.Caller, tl *tool.Tool, n int, sent string) {
			reply, err := tl.Call(t.Context(), c, arguments(t, tl, sent, canary, sc.ids[n%len(sc.ids)].String()))
			shown := reply.Text + string(reply.Structured)
			if err != nil && !strings.Contains(sent, canary) { // an error may repeat what was sent
				shown = tool.ErrorReply(err).Text
			}
			if strings.Contains(shown, canary) {
				t.Errorf("%s(%.40q) shows %s", tl.Name, sent, shown)
			}
		}
		for _, reads := range []bool{true, false} { // before they have stored the payloads themselves
			for n, sent := range payloads {
				for i, tl := range tools {
					if (tl.Tier == tool.ReadOnly) == reads && (reads || !strings.Contains(sent, canary)) {
						call(attackers[(n+i)%2], tl, n+i/2, sent)
					}
				}
			}
		}
		if after := export(t, sc.victim); after != before {
			t.Errorf("the victim's memory changed:\n%s\n---\n%s", before, after)
		}
		sc.unused(t)
		if strings.Contains(sc.log.String(), canary) {
			t.Errorf("the log shows content: %s", sc.log)
		}
	})
}

// unfiltered are arguments without those that narrow a search, which may keep anything from being found.
func unfiltered(t *testing.T, args json.RawMessage) json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(args, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"filter", "subject", "predicate", "since", "until"} {
		delete(all, name)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEveryToolFindsTheCanary is the control: the same calls as the victim find it.
func TestEveryToolFindsTheCanary(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		victim := callerOf(t, "home", "victim", canary)
		for _, tl := range everyTool(t, sc.engine) {
			if tl.Tier != tool.ReadOnly || tl.Name == "agent_memory_stats" {
				continue
			}
			found := false
			for n := range sc.ids {
				reply, err := tl.Call(t.Context(), victim, arguments(t, tl, canary, canary, sc.ids[n].String()))
				plain, _ := tl.Call(t.Context(), victim,
					unfiltered(t, arguments(t, tl, canary, canary, sc.ids[n].String())))
				found = found || err == nil && strings.Contains(reply.Text, canary) ||
					strings.Contains(plain.Text, canary)
			}
			if !found {
				t.Errorf("%s finds no canary", tl.Name)
			}
		}
	})
}
