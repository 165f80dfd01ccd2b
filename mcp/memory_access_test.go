package mcp_test

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/tool"
)

const unknownID = "01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77"

// calls are arguments that each tool takes, of the butler "general".
func calls(id string) map[string]args {
	return map[string]args{
		"memory_store_episode": {"content": "Talked about chocolates.", "butler": "general"},
		"memory_store_fact":    {"subject": "user", "predicate": "diet", "content": "No chocolates"},
		"memory_store_rule":    {"content": "Never offer chocolates"},
		"memory_search":        {"query": "chocolates", "min_confidence": 0},
		"memory_recall":        {"topic": "chocolates"},
		"memory_get":           {"type": "fact", "id": id},
		"memory_confirm":       {"type": "fact", "id": id},
		"memory_mark_helpful":  {"rule_id": id},
		"memory_mark_harmful":  {"rule_id": id, "reason": "x"},
		"memory_forget":        {"type": "fact", "id": id},
		"memory_stats":         {},
		"memory_context":       {"trigger_prompt": "chocolates", "butler": "general"},
	}
}

// TestMemoryToolsRefuseATenantArgument, even the caller's own; nothing is done.
func TestMemoryToolsRefuseATenantArgument(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		admin := b.as(t, butler(t, "general", loci.ScopeAdmin))
		for name, in := range calls(unknownID) {
			for _, selector := range []string{"tenant", "tenant_id", "tenantId", "TENANT", "target_tenant"} {
				in[selector] = "default"
				for _, c := range []*client{b.client, admin} { // admin alone is not enough
					c.ask(name, in).refused(loci.Forbidden, `argument "`+selector+`" is refused: the tenant follows from the credential and cannot be chosen by a call`)
				}
				delete(in, selector)
			}
		}
		if events := b.events(t, loci.EventFilter{}); len(events) != 0 {
			t.Errorf("events %+v", events)
		}
	})
}

// TestMemoryInAnotherTenantNeedsElevation, which both audit logs record.
func TestMemoryInAnotherTenantNeedsElevation(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		there := sdk.Meta{"loci/tenant": "acme"}
		for name, in := range calls(unknownID) {
			for _, scopes := range [][]loci.Scope{nil, {loci.ScopeAdmin}, {loci.ScopeElevate}} {
				b.as(t, butler(t, "general", scopes...)).ask(name, in, there).refused(loci.Forbidden, "a request cannot choose its tenant")
			}
		}
		operator := butler(t, "general", loci.ScopeAdmin, loci.ScopeElevate)
		unrecorded := b.as(t, operator).ask("memory_store_fact", calls("")["memory_store_fact"], there)
		unrecorded.refused(loci.Forbidden, "requests cannot choose their tenant here")
		c := dialOptions(t, b.engine, mcp.Options{Principal: operator, RecordElevation: b.engine.RecordElevation},
			tool.Config{Entries: []tool.Instance{lifecycle}, Logger: slog.New(slog.DiscardHandler)})
		id := c.ask("memory_store_fact", calls("")["memory_store_fact"], there).id("id")
		if got := c.ask("memory_recall", args{"topic": "chocolates"}).ids(); len(got) != 0 {
			t.Errorf("stored at home: %v", got)
		}
		if got := c.ask("memory_recall", args{"topic": "chocolates"}, there).ids(); !slices.Equal(got, []string{id}) {
			t.Errorf("recalled there: %v", got)
		}
		for _, tenant := range []string{"default", "acme"} {
			var requests []string
			for _, e := range b.eventsOf(t, tenant, loci.EventFilter{Types: []loci.EventType{loci.EventElevated}}) {
				requests = append(requests, e.RequestID)
				if e.Actor != "test" || !strings.Contains(string(e.Payload), "memory_") {
					t.Errorf("%s: %+v %s", tenant, e, e.Payload)
				}
			}
			if len(requests) != 2 || requests[0] == requests[1] {
				t.Errorf("%s: elevations %v", tenant, requests)
			}
		}
	})
}

// TestButlerIsTheCallersOwn, unless the caller acts for others.
func TestButlerIsTheCallersOwn(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		agent := b.as(t, newPrincipal(t, loci.Vars{loci.VarUser: "alice", loci.VarAgent: "health"}))
		nobody := b.as(t, newPrincipal(t, loci.Vars{loci.VarUser: "alice"}))
		delegate := b.as(t, newPrincipal(t, loci.Vars{loci.VarUser: "alice"}, loci.ScopeDelegate))
		const other, none = `butler "health" is refused: it is not this credential's own`, `butler "health" is refused: this credential names no agent`
		for _, name := range []string{"memory_store_episode", "memory_context"} {
			in := calls("")[name]
			in["butler"] = "health"
			b.ask(name, in).refused(loci.Forbidden, other)
			nobody.ask(name, in).refused(loci.Forbidden, none)
			for who, c := range map[string]*client{"agent": agent, "delegate": delegate} {
				if a := c.ask(name, in); a.isError {
					t.Errorf("%s of %s: %s", name, who, a.text)
				}
			}
			in["butler"] = "Health" // byte for byte
			agent.ask(name, in).refused(loci.Forbidden, `butler "Health" is refused: it is not this credential's own`)
			in["butler"] = ""
			delegate.ask(name, in).refused(loci.Invalid, "butler must not be empty: pass the name of your agent")
		}
		// A request may take the part of another agent with the scope delegate alone.
		meta := sdk.Meta{"loci/butler": "health"}
		b.ask("memory_store_episode", args{"content": "x", "butler": "health"}, meta).refused(loci.Forbidden, "butler of this credential cannot be changed by a request")
	})
}

// TestMemoriesOfOthersAreInvisible: another user, and the same user of another
// tenant, find nothing, read nothing and change nothing, by any tool.
func TestMemoriesOfOthersAreInvisible(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		fact, rule, episode := b.fact("user", "diet", "No chocolates", nil), b.rule("Never offer chocolates", nil), b.episode("Talked about chocolates.", nil)
		before := len(b.events(t, loci.EventFilter{}))
		tenant, err := loci.NewTenant("acme")
		if err != nil {
			t.Fatal(err)
		}
		away, err := loci.NewPrincipal(tenant, "test", loci.Vars{
			loci.VarUser:   "alice",
			loci.VarButler: "general",
		}, loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)
		if err != nil {
			t.Fatal(err)
		}
		others := map[string]loci.Principal{"away": away}
		for _, user := range []string{"bob", "Alice", "alice ", "alice/", "alice:general", "user", "{user_id}", "%"} {
			others[user] = newPrincipal(t, loci.Vars{loci.VarUser: user, loci.VarButler: "general"})
		}
		const empty = `{"facts":{"total":0,"active":0,"fading":0,"superseded":0,"expired":0,"retracted":0},` +
			`"rules":{"total":0,"candidate":0,"established":0,"proven":0,"anti_pattern":0,"forgotten":0},` +
			`"episodes":{"total":0,"unconsolidated":0,"expired":0,"backlog_age_hours":0}}`
		for name, p := range others {
			c := b.as(t, p)
			for _, scope := range []string{"", "general", "global", "*", "%"} {
				for tool, in := range map[string]args{"memory_search": {"query": "chocolates", "min_confidence": 0}, "memory_recall": {"topic": "chocolates"}} {
					if scope != "" {
						in["scope"] = scope
					}
					c.ask(tool, in).want(`{"results":[]}`)
				}
			}
			c.ask("memory_stats", nil).want(empty)
			if text := c.ask("memory_context", args{"trigger_prompt": "chocolates", "butler": "general"}).text; strings.Contains(text, "hocolates") {
				t.Errorf("%s: context %s", name, text)
			}
			for kind, id := range map[string]string{"fact": fact, "rule": rule, "episode": episode} {
				unknown := "no " + kind + ` with id "` + id + `"`
				c.ask("memory_get", args{"type": kind, "id": id}).refused(loci.NotFound, unknown)
				c.ask("memory_forget", args{"type": kind, "id": id}).want(`{"forgotten":false}`)
				if kind != "episode" {
					c.ask("memory_confirm", args{"type": kind, "id": id}).refused(loci.NotFound, unknown)
				}
				c.ask("memory_mark_helpful", args{"rule_id": id}).refused(loci.NotFound, `no rule with id "`+id+`"`)
				c.ask("memory_mark_harmful", args{"rule_id": id}).refused(loci.NotFound, `no rule with id "`+id+`"`)
			}
			// The same key of another place supersedes nothing.
			if a := c.ask("memory_store_fact", calls("")["memory_store_fact"]); a.isError || a.data["superseded_id"] != nil {
				t.Errorf("%s: %s", name, a.text)
			}
		}
		own := 0
		for _, e := range b.events(t, loci.EventFilter{}) {
			if e.Namespace.Equal(loci.Namespace{"user", "alice"}) {
				own++
			}
		}
		if own != before {
			t.Errorf("alice had %d events, has %d", before, own)
		}
		has(t, b.get("fact", fact), args{"validity": "active", "reference_count": 1.0, "version": 1.0})
	})
}

// TestAgentsOfOneUserShareHerMemory: a scope narrows what is recalled and is no wall.
func TestAgentsOfOneUserShareHerMemory(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.fact("user", "diet", "No chocolates", args{"scope": "general"})
		health := b.as(t, butler(t, "health"))
		if got := health.ask("memory_recall", args{"topic": "chocolates"}).ids(); !slices.Equal(got, []string{id}) {
			t.Errorf("of all scopes: %v", got)
		}
		health.ask("memory_recall", args{"topic": "chocolates", "scope": "health"}).want(`{"results":[]}`)
		health.get("fact", id)
	})
}

// TestMemoryWritesAreRepeatable by their idempotency key.
func TestMemoryWritesAreRepeatable(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		rule := b.rule("Be brief", nil)
		in := calls(rule)
		for _, name := range []string{"memory_store_episode", "memory_store_fact", "memory_store_rule", "memory_mark_helpful", "memory_mark_harmful"} {
			key := sdk.Meta{"loci/idempotency_key": name}
			first := b.ask(name, in[name], key)
			if again := b.ask(name, in[name], key); first.isError || again.text != first.text {
				t.Errorf("%s: %s, again %s", name, first.text, again.text)
			}
			b.ask("memory_store_rule", args{"content": "Another"}, key).refused(loci.Conflict, "this idempotency key was used for another request")
		}
		has(t, b.get("rule", rule), args{"applied_count": 2.0})
	})
}

func TestMemoryToolsWithoutMemoryAreRefusedClearly(t *testing.T) {
	c := dial(t, nil, butler(t, "general"), lifecycle)
	for name, in := range calls(unknownID) {
		if a := c.ask(name, in); !a.isError || a.text != "memory is not configured" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestToolsOfAReader: a model sees the tools and the words of arguments that its scopes
// permit, and what it does not see is refused all the same.
func TestToolsOfAReader(t *testing.T) {
	with := func(scopes ...loci.Scope) *client {
		p, err := loci.NewPrincipal(alice(t).Tenant(), "test", loci.Vars{loci.VarUser: "alice"}, scopes...)
		if err != nil {
			t.Fatal(err)
		}
		return dial(t, newEngine(t), p, tool.Instance{Family: tool.PresetAll})
	}
	names := func(c *client) (list []string) {
		for name := range c.schemas() {
			list = append(list, name)
		}
		slices.Sort(list)
		return list
	}
	enum := func(c *client, name, argument string) any {
		return property(t, c.schemas()[name].InputSchema, "properties", argument, "enum")
	}
	reader := with(loci.ScopeRead)
	if got, want := names(reader), []string{"memory", "memory_context", "memory_get", "memory_list_sessions", "memory_memory_search", "memory_read_session",
		"memory_recall", "memory_search", "memory_search_sessions", "memory_stats", "search_memory"}; !slices.Equal(got, want) {
		t.Errorf("of a reader: %v", got)
	}
	if got := enum(reader, "memory", "command"); !reflect.DeepEqual(got, []any{"read", "list"}) {
		t.Errorf("commands of a reader: %v", got)
	}
	if a := reader.schemas()["memory"].Annotations; !a.ReadOnlyHint || *a.DestructiveHint {
		t.Errorf("files of a reader: %+v", a)
	}
	reader.ask("memory_save", args{"content": "x"}).refused(loci.Forbidden, `memory_save needs the scope "write", which this credential lacks`)
	if text := reader.InitializeResult().Instructions; strings.Contains(text, "memory_save") || !strings.Contains(text, "memory_search") {
		t.Errorf("instructions of a reader: %s", text)
	}
	writer := with(loci.ScopeRead, loci.ScopeWrite)
	if got := enum(writer, "manage_memory", "action"); !reflect.DeepEqual(got, []any{"create", "update"}) {
		t.Errorf("actions of a writer: %v", got)
	}
	if got := writer.schemas()["manage_memory"].Description; strings.Contains(got, "delete") {
		t.Errorf("a writer is told: %s", got)
	}
	eraser := with(loci.ScopeDelete)
	if got := property(t, eraser.schemas()["manage_memory"].InputSchema, "required"); !reflect.DeepEqual(got, []any{"action"}) {
		t.Errorf("a default that is forbidden is left out: required %v", got)
	}
	everything := with(loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)
	if got := len(names(everything)); got != 23 {
		t.Errorf("%d tools of one who may do everything: %v", got, names(everything))
	}
	text := everything.InitializeResult().Instructions
	for _, says := range []string{"memory_save for notes", "memory_store_fact for what may change", "manage_memory for", "memory_memory_search", "memory_search_sessions", "files"} {
		if !strings.Contains(text, says) {
			t.Errorf("%q is not in: %s", says, text)
		}
	}
	if n := len(strings.Fields(text)); n >= 120 {
		t.Errorf("%d words: %s", n, text)
	}
}
