package isolation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// innerNames are the words that the places of features are made of, or might be.
var innerNames = []string{
	"sessions",
	"messages",
	"checkpoints",
	"tree",
	"trees",
	"files",
	"memory",
	"global",
	"thread",
	"threads",
	"episodes",
	"erased",
	"items",
	"//sessions",
	"%2Fsessions",
	"\x01sessions",
	" sessions",
	"{agent_id}",
}

// agentOf binds the handle of an agent of an organisation as every surface does; "" is the
// organisation itself.
func (sc *scene) agentOf(t *testing.T, org, agent string) *loci.Memory {
	t.Helper()
	vars := loci.Vars{loci.VarOrg: org}
	if agent != "" {
		vars[loci.VarAgent] = agent
	}
	p := must(
		loci.NewPrincipal(must(loci.NewTenant("home")), "key", vars, loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete),
	)
	return sc.bind(t, "home", must(loci.Template(nil).Resolve(p.Vars())), "")
}

// TestAgentsNamedLikePlaces gives an organisation conversations, files and checkpoints full of
// canaries, and agents with every name that these might lie under. The agents see, export and
// erase nothing of it.
func TestAgentsNamedLikePlaces(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		org := sc.agentOf(t, "acme", "")
		if err := storeSession(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", "sessions", "tree"} {
			for _, thread := range []string{"", "global", canary} {
				files := must(tree.Of(org, name, thread))
				must(files.Write(t.Context(), "/"+canary, "words "+canary, nil))
			}
		}
		kept := checkpoint.Checkpoint{
			Thread:   "thread",
			ID:       canary,
			State:    checkpoint.Typed{Type: "json", Data: []byte(canary)},
			Metadata: json.RawMessage(`{}`),
		}
		if err := checkpoint.Of(org).Put(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
		before := export(t, org)
		if n := strings.Count(before, canary); n < 10 { // the control
			t.Fatalf("the organisation's export has the canary %d times", n)
		}
		for _, agent := range innerNames {
			m := sc.agentOf(t, "acme", agent)
			p := &probe{t: t, sc: sc, m: m, sent: agent, alone: true}
			p.read(t.Context())
			empty := func(what string, n int, err error) {
				t.Helper()
				if n != 0 || err != nil {
					t.Errorf("the agent %q has %d %s, %v", agent, n, what, err)
				}
			}
			sessions, _, err := session.Of(m).List(t.Context(), session.Query{Expired: true}, loci.Page{})
			empty("sessions", len(sessions), err)
			_, err = session.Of(m).History(t.Context(), canary, session.HistoryQuery{})
			if e := loci.AsError(err); e == nil || e.Code != loci.NotFound {
				t.Errorf("the agent %q reads a history: %v", agent, err)
			}
			events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
			empty("events", len(events), err)
			var out bytes.Buffer
			n, err := m.Export(t.Context(), &out, nil)
			empty("exported records", int(n), err)
			n, err = m.CountErase(t.Context(), loci.EraseQuery{All: true})
			empty("records to erase", int(n), err)
			stats, err := m.Stats(t.Context())
			empty("messages", int(stats.Features[session.KindMessage].Records), err)
			// The agent uses what it has, and erases all of that.
			must(m.StoreFact(t.Context(), loci.NewFact{Content: "of the agent " + agent}))
			must(session.Of(m).Append(t.Context(), canary, must(session.ParseMessages([]byte(`[{"role":"user","content":"own"}]`)))))
			must(must(tree.Of(m, "", "")).Write(t.Context(), "/own", "own", nil))
			n = must(m.CountErase(t.Context(), loci.EraseQuery{All: true}))
			must(m.EraseAll(t.Context(), loci.EraseQuery{All: true, Expect: n}, nil))
			must(session.Of(m).ClearAll(t.Context()))
			must(checkpoint.Of(m).DeleteThread(t.Context(), "thread"))
		}
		if after := export(t, org); after != before {
			t.Errorf("the organisation's memory changed:\n%s\n---\n%s", before, after)
		}
		report := must(sc.engine.VerifyEvents(t.Context(), must(loci.NewTenant("home")), loci.Hash{}))
		for _, problem := range report.Problems {
			t.Error(problem)
		}
		if n := must(org.CountErase(t.Context(), loci.EraseQuery{All: true})); n == 0 {
			t.Error(fmt.Sprint("the organisation has ", n, " records to erase"))
		}
	})
}

func export(t *testing.T, m *loci.Memory) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := m.Export(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	// Checkpoints are not part of an export.
	page, err := checkpoint.Of(m).List(t.Context(), checkpoint.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&out).Encode(page); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
