package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/tool"
)

// TestRequestChoosesWhatItMay: a thread and a session always, the rest with the
// scope delegate alone, nothing by another name or type.
func TestRequestChoosesWhatItMay(t *testing.T) {
	engine := newEngine(t)
	plain := dial(t, engine, alice(t), notes)
	backend := dial(t, engine, newPrincipal(t, loci.Vars{loci.VarUser: "alice"}, loci.ScopeDelegate), notes)
	for _, c := range []struct {
		name     string
		meta     sdk.Meta
		plain    string // code; "": allowed
		delegate string
	}{
		{"nothing", nil, "", ""},
		{"thread", sdk.Meta{"loci/thread_id": "t"}, "", ""},
		{"session", sdk.Meta{"loci/session_id": "s"}, "", ""},
		{"own user", sdk.Meta{"loci/user_id": "alice"}, "", ""},
		{"empty user", sdk.Meta{"loci/user_id": ""}, "invalid", "invalid"},
		{"empty organisation", sdk.Meta{"loci/org_id": ""}, "invalid", "invalid"},
		{"empty thread", sdk.Meta{"loci/thread_id": ""}, "invalid", "invalid"},
		{"empty idempotency key", sdk.Meta{"loci/idempotency_key": ""}, "invalid", "invalid"},
		{"other user", sdk.Meta{"loci/user_id": "bob"}, "forbidden", ""},
		{"other user by letter case", sdk.Meta{"loci/user_id": "Alice"}, "forbidden", ""},
		// Notes are a user's, and these name none: the server's own is not meant.
		{"organisation", sdk.Meta{"loci/org_id": "acme"}, "forbidden", "forbidden"},
		{"agent", sdk.Meta{"loci/agent_id": "x"}, "forbidden", "forbidden"},
		{"organisation and user", sdk.Meta{"loci/org_id": "acme", "loci/agent_id": "x", "loci/user_id": "alice"}, "forbidden", ""},
		{"butler", sdk.Meta{"loci/butler": "x"}, "forbidden", ""},
		{"tenant", sdk.Meta{"loci/tenant": "other"}, "forbidden", "forbidden"},
		{"own tenant", sdk.Meta{"loci/tenant": "default"}, "forbidden", "forbidden"},
		{"empty tenant", sdk.Meta{"loci/tenant": ""}, "forbidden", "forbidden"},
		{"misspelt", sdk.Meta{"loci/userid": "bob"}, "invalid", "invalid"},
		{"another letter case", sdk.Meta{"LOCI/user_id": "alice"}, "invalid", "invalid"},
		{"another letter case of a name", sdk.Meta{"loci/User_id": "alice"}, "invalid", "invalid"},
		{"a number", sdk.Meta{"loci/thread_id": 7}, "invalid", "invalid"},
		{"null", sdk.Meta{"loci/user_id": nil}, "invalid", "invalid"},
		{"too long", sdk.Meta{"loci/thread_id": strings.Repeat("x", 300)}, "invalid", "invalid"},
		{"of others", sdk.Meta{"example.com/user_id": "bob", "user_id": "bob"}, "", ""},
	} {
		for want, client := range map[*string]*client{&c.plain: plain, &c.delegate: backend} {
			a := client.ask("memory_search", args{"query": "x"}, c.meta)
			code, _ := a.data["code"].(string)
			if code != *want || a.isError != (*want != "") {
				t.Errorf("%s: got code %q (%s), want %q", c.name, code, a.text, *want)
			}
		}
	}
}

// TestDelegateActsForTheUserItNames and for nobody else.
func TestDelegateActsForTheUserItNames(t *testing.T) {
	engine := newEngine(t)
	backend := dial(t, engine, newPrincipal(t, nil, loci.ScopeDelegate), notes)
	for _, user := range []string{"alice", "bob"} {
		backend.ask("memory_save", args{"content": "Chocolates of " + user}, sdk.Meta{"loci/user_id": user})
	}
	hits := dial(t, engine, alice(t), notes).ask("memory_search", args{"query": "chocolates"}).list()
	if len(hits) != 1 || hits[0]["text"] != "Chocolates of alice" {
		t.Errorf("got %v", hits)
	}
	backend.ask("memory_search", args{"query": "x"}).refused(loci.Forbidden, "user context is not available")
}

func TestIdempotencyKeyMakesASaveRepeatable(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	key := sdk.Meta{"loci/idempotency_key": "k-1"}
	in := args{"content": "Prefers window seats.", "metadata": args{"category": "preference"}}
	id := c.ask("manage_memory", in, key).id("id")
	c.ask("manage_memory", args{"action": "update", "id": id, "content": "Prefers aisle seats."})
	if again := c.ask("manage_memory", in, key).id("id"); again != id {
		t.Errorf("repeated: %s, first %s", again, id)
	}
	if got := c.ask("search_memory", args{"query": "seats"}).list(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	c.ask("manage_memory", args{"content": "Something else."}, key).refused(loci.Conflict, "this idempotency key was used for another request")
}

// elevation is one call of Options.RecordElevation.
type elevation struct{ from, to, requestID, tool string }

// TestOperatorActsInAnotherTenant only when that is on record.
func TestOperatorActsInAnotherTenant(t *testing.T) {
	var recorded []elevation
	var broken error
	record := func(_ context.Context, p loci.Principal, requestID, tool string) error {
		if broken == nil {
			recorded = append(recorded, elevation{p.ElevatedFrom().String(), p.Tenant().String(), requestID, tool})
		}
		return broken
	}
	engine := openEngine(t, t.TempDir())
	operator := newPrincipal(t, loci.Vars{loci.VarUser: "alice"}, loci.ScopeAdmin, loci.ScopeElevate)
	cfg := tool.Config{Entries: []tool.Instance{notes}}
	c := dialOptions(t, engine, mcp.Options{Principal: operator, RecordElevation: record}, cfg)
	there := sdk.Meta{"loci/tenant": "acme"}

	c.ask("memory_save", args{"content": "Chocolates of acme"}, there)
	if len(recorded) != 1 || recorded[0].from != "default" || recorded[0].to != "acme" ||
		recorded[0].tool != "memory_save" || recorded[0].requestID == "" {
		t.Errorf("recorded %+v", recorded)
	}
	c.ask("memory_search", args{"query": "chocolates"}).want("[]")
	if hits := c.ask("memory_search", args{"query": "chocolates"}, there).list(); len(hits) != 1 || len(recorded) != 2 {
		t.Errorf("got %v, recorded %+v", hits, recorded)
	}
	c.ask("memory_search", args{"query": "x"}, sdk.Meta{"loci/tenant": ""}).refused(loci.Invalid, "tenant must not be empty")

	broken = errors.New("disk full")
	c.ask("memory_save", args{"content": "Sweets of acme"}, there).refused(loci.Internal, "internal error")
	broken = nil
	if hits := c.ask("memory_search", args{"query": "sweets of"}, there).list(); len(hits) != 1 || hits[0]["text"] != "Chocolates of acme" {
		t.Errorf("what could not be recorded was done: %v", hits)
	}

	mute := dialOptions(t, engine, mcp.Options{Principal: operator}, cfg)
	mute.ask("memory_search", args{"query": "x"}, there).refused(loci.Forbidden, "requests cannot choose their tenant here")
}

// TestElevationIsInBothAuditLogs, as the engine writes it.
func TestElevationIsInBothAuditLogs(t *testing.T) {
	engine := openEngine(t, t.TempDir())
	operator := newPrincipal(t, loci.Vars{loci.VarUser: "alice"}, loci.ScopeAdmin, loci.ScopeElevate)
	c := dialOptions(t, engine, mcp.Options{
		Principal:       operator,
		RecordElevation: engine.RecordElevation,
	}, tool.Config{Entries: []tool.Instance{notes}})
	c.ask("memory_search", args{"query": "x"}, sdk.Meta{"loci/tenant": "acme"})
	for _, name := range []string{"default", "acme"} {
		tenant, err := loci.NewTenant(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := engine.Memory(loci.View{Tenant: tenant, Actor: "auditor"})
		if err != nil {
			t.Fatal(err)
		}
		events, _, err := m.Events(context.Background(),
			loci.EventFilter{Types: []loci.EventType{loci.EventElevated}}, loci.Page{})
		if err != nil || len(events) != 1 || events[0].Actor != "test" || events[0].RequestID == "" {
			t.Errorf("%s: %+v, %v", name, events, err)
		}
	}
}

// TestTenantArgumentIsRefused, even the caller's own.
func TestTenantArgumentIsRefused(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	for _, name := range []string{"tenant", "tenant_id", "TENANT"} {
		if a := c.ask("memory_search", args{"query": "x", name: "default"}); !a.isError || a.data["code"] != "forbidden" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestCallersAreIdentifiedPerRequest: one server, many callers, nothing shared.
func TestCallersAreIdentifiedPerRequest(t *testing.T) {
	engine := newEngine(t)
	var refuse error
	identify := func(context.Context, mcp.Origin) (loci.Principal, error) { return alice(t), refuse }
	c := dialOptions(t, engine, mcp.Options{Identify: identify}, tool.Config{Entries: []tool.Instance{notes}})
	c.ask("memory_save", args{"content": "User likes chocolates."})
	refuse = loci.Errorf(loci.Unauthenticated, "the token has expired")
	c.ask("memory_search", args{"query": "chocolates"}).refused(loci.Unauthenticated, "the token has expired")
}
