package isolation

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/rest"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

// A surface is the HTTP server as one caller reaches it, with its own description: a route that
// somebody adds is tried without a change here.
type surface struct {
	handler http.Handler
	api     struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]*schema }
	}
}

type operation struct {
	OperationID string
	Parameters  []struct{ Name, In string }
	RequestBody struct {
		Content map[string]struct{ Schema *schema }
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Enum, Examples       []any
	Format               string
	Required             []string
	Properties           map[string]*schema
	AdditionalProperties json.RawMessage
	Items                *schema
	OneOf                []*schema
}

// values is the schema of what a map holds; nil: anything.
func (sc *schema) values() *schema {
	var of schema
	if json.Unmarshal(sc.AdditionalProperties, &of) != nil || of.Ref == "" && of.Type == nil {
		return nil
	}
	return &of
}

func serve(t *testing.T, sc *scene, p loci.Principal) *surface {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(sc.log, nil))
	set, err := tool.New(sc.engine, tool.Config{Logger: logger, Entries: []tool.Instance{{Family: tool.FamilyNotes}}})
	if err != nil {
		t.Fatal(err)
	}
	connector, err := tool.NewConnector(sc.engine, tool.ConnectorConfig{Content: tree.ContentFull})
	if err != nil {
		t.Fatal(err)
	}
	api, err := rest.New(
		rest.Options{
			Engine:   sc.engine,
			Tools:    set,
			Agents:   map[string]rest.Agent{"planner": {Tools: set.Tools(), Connector: connector}},
			Identify: restIdentify(p),
			Logger:   logger,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{REST: api, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	out := &surface{handler: s.Handler()}
	if err := json.Unmarshal(out.send("GET", "/v1/openapi.json", "").Body.Bytes(), &out.api); err != nil {
		t.Fatal(err)
	}
	return out
}

// restIdentify lets headers choose, as the program does.
func restIdentify(p loci.Principal) func(context.Context, http.Header) (loci.Principal, error) {
	return func(_ context.Context, h http.Header) (loci.Principal, error) { return server.Identify(p, h) }
}

func (s *surface) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// fill makes values for a schema, one of each alternative, and puts sent wherever a text may
// be. Fields whose names say so get an id or a cursor.
func (s *surface) fill(sc *schema, name, sent, id, cursor string) []any {
	if sc.Ref != "" {
		sc = s.api.Components.Schemas[strings.TrimPrefix(sc.Ref, "#/components/schemas/")]
	}
	kind := fmt.Sprint(sc.Type)
	switch {
	case len(sc.OneOf) > 0:
		var all []any
		for _, one := range sc.OneOf {
			all = append(all, s.fill(one, name, sent, id, cursor)...)
		}
		return all
	case len(sc.Enum) > 0:
		return sc.Enum
	case len(sc.Examples) > 0:
		return sc.Examples
	case sc.Properties == nil && sc.values() != nil:
		of := s.fill(sc.values(), name, sent, id, cursor)
		return []any{map[string]any{sent: of[0]}}
	case name == "lines":
		line, _ := json.Marshal(map[string]any{"type": "entity", "name": sent, "entityType": "x", "observations": []string{sent}}) // of texts: cannot fail
		return []any{[]any{string(line)}}
	case name == "messages":
		return []any{[]any{map[string]string{"role": "user", "content": sent}}}
	case sc.Type == nil || strings.Contains(kind, "object") && sc.Properties == nil:
		return []any{map[string]any{"query": sent, "note_id": id, "content": sent, sent: sent}}
	case strings.Contains(kind, "object"):
		// A filter or a condition may keep anything from being found: try once without.
		full, bare := map[string]any{}, map[string]any{}
		for field, property := range sc.Properties {
			values := s.fill(property, field, sent, id, cursor)
			if len(values) == 0 || field == "limit" || field == "offset" {
				continue
			}
			full[field] = values[len(sent)%len(values)]
			if slices.Contains(sc.Required, field) || slices.Contains([]string{"op", "namespace", "namespace_prefix", "key", "value", "query", "topic", "trigger_prompt", "content", "butler"}, field) {
				bare[field] = values[0]
			}
			if field == "operations" {
				full[field], bare[field] = values, values
			}
		}
		if _, has := sc.Properties["all"]; has { // goes with no other condition
			delete(full, "all")
			return []any{full, map[string]any{"all": true}}
		}
		return []any{full, bare}
	case strings.Contains(kind, "array"):
		if items := s.fill(sc.Items, name, sent, id, cursor); name == "operations" {
			return items
		} else if len(items) > 0 {
			return []any{items[:1]}
		}
		return []any{[]any{}}
	case strings.Contains(kind, "string") && (name == "id" || name == "entity" || name == "note_id"):
		return []any{id}
	case strings.Contains(kind, "string") && name == "cursor":
		return []any{cursor}
	case strings.Contains(kind, "string") && sc.Format == "date-time":
		return []any{"2026-01-02T03:04:05Z"}
	case strings.Contains(kind, "string") && sc.Format == "byte":
		return []any{base64.StdEncoding.EncodeToString([]byte(sent))}
	case name == "path":
		return []any{filePath(sent)}
	case strings.HasPrefix(name, "target_") && kind == "string": // not where it comes from
		return []any{sent + " copy"}
	case strings.Contains(kind, "string"):
		return []any{sent}
	case strings.Contains(kind, "boolean"):
		return []any{true}
	case kind == "integer":
		return []any{1}
	}
	return nil
}

// filePath is where the victim has a file, if what is sent is the canary.
func filePath(sent string) string { return "/" + sent + "/" + sent }

// each calls do with a request for every operation and every way to fill it.
func (s *surface) each(t *testing.T, sent, id, cursor string, do func(name, method, target, body string)) {
	t.Helper()
	// Calls that store come before those that read, and calls that remove come last.
	type call struct{ path, method string }
	rank := func(c call) int {
		switch {
		case c.method == "delete" && !strings.Contains(c.path, "{"): // all of it
			return 3
		case c.method == "delete" || slices.Contains([]string{"delete", "erase", "batch", "move"}, path.Base(c.path)):
			return 2
		case c.method == "put" || c.method == "post" && strings.HasSuffix(c.path, "/messages"):
			return 0
		}
		return 1
	}
	var calls []call
	for path, operations := range s.api.Paths {
		for method := range operations {
			calls = append(calls, call{path, method})
		}
	}
	slices.SortFunc(calls, func(a, b call) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	for _, c := range calls {
		op := s.api.Paths[c.path][c.method]
		target := strings.NewReplacer("{id}", url.PathEscape(id), "{thread_id}",
			url.PathEscape(sent), "{session_id}", url.PathEscape(sent), "{agent}", "planner").Replace(c.path)
		names := []string{"memory_search", "memory_save", "memory_update", "memory_delete"}
		query := url.Values{}
		for _, p := range op.Parameters {
			value := map[string]string{"cursor": cursor, "entity": id, "tag": sent, "history": "true", "all": "true", "path": filePath(sent)}[p.Name]
			if p.In == "query" && value != "" {
				query.Set(p.Name, value)
			}
		}
		if !strings.Contains(target, "{name}") {
			names = []string{""}
		}
		bodies := []string{""}
		if content := op.RequestBody.Content["application/json"]; content.Schema != nil {
			bodies = nil
			for _, value := range s.fill(content.Schema, "", sent, id, cursor) {
				data, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				bodies = append(bodies, string(data))
			}
		}
		for _, name := range names {
			for _, body := range bodies {
				at := strings.ReplaceAll(target, "{name}", name)
				do(op.OperationID+name, strings.ToUpper(c.method), at, body)
				if len(query) > 0 {
					do(op.OperationID+name, strings.ToUpper(c.method), at+"?"+query.Encode(), body)
				}
			}
		}
	}
}

// ofOneMemory are the routes whose address has the id of a memory: the victim's here, so
// that none of them ever works for another.
var ofOneMemory = []string{
	"get_note", "change_note", "delete_note", "get_memory", "delete_memory", "confirm_memory", "forget_memory",
	"restore_memory", "supersede_memory", "mark_helpful", "mark_harmful", "memory_history", "memory_provenance",
	"list_links", "add_link",
}

// ofOperators are the routes for those who operate the server.
var ofOperators = []string{
	"list_tenants", "create_tenant", "show_tenant", "suspend_tenant", "resume_tenant", "limit_tenant", "rate_limit_tenant", "erase_tenant", "export_tenant",
	"list_keys", "create_key", "show_key", "rotate_key", "limit_key", "revoke_key",
}

// TestNoRouteCrosses lets another user, and the same user of another tenant, use every route
// with every payload, the victim's ids and cursors, and headers that name the victim.
func TestNoRouteCrosses(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		before := export(t, sc.victim)
		attackers := []*surface{serve(t, sc, callerOf(t, "home", "attacker", "x").Principal), serve(t, sc, callerOf(t, "away", "victim", "x").Principal)}
		tried := map[string]bool{}
		// What the attacker stored comes back: the payloads with the canary come last.
		ordered := slices.Clone(payloads)
		slices.SortStableFunc(ordered, func(a, b string) int {
			return strings.Count(a, canary)*1000 - strings.Count(b, canary)*1000
		})
		for n, sent := range ordered {
			if !meets(t, n) {
				continue
			}
			id, cursor := sc.ids[n%len(sc.ids)].String(), sc.cursor[n%len(sc.cursor)]
			for i, a := range attackers {
				if i != n%2 {
					continue
				}
				a.each(t, sent, id, cursor, func(name, method, target, body string) {
					var headers []string
					if n%6 == 0 {
						headers = append(headers, []string{"Loci-User: victim", "Loci-Tenant: home", "Loci-Usr: victim"}[n/6%3])
					}
					w := a.send(method, target, body, headers...)
					tried[name] = tried[name] || w.Code < 300
					shown := strings.ToLower(w.Body.String() + fmt.Sprint(w.Header()))
					if len(headers) > 0 && w.Code < 300 { // a path with dots is redirected, to be asked again
						t.Errorf("%s with %v: %d", name, headers, w.Code)
					}
					// What the attacker sent may come back; what the victim made may not.
					if strings.Contains(shown, canary) && !strings.Contains(sent, canary) ||
						strings.Contains(shown, "note 0 "+canary) || strings.Contains(shown, "episode "+canary) || w.Code >= 500 {
						t.Errorf("%s %s %.200s: %d %.600s", method, target, body, w.Code, shown)
					}
				})
			}
		}
		for name, worked := range tried {
			if worked && slices.Contains(ofOperators, name) {
				t.Errorf("%s works for one who is no operator", name)
			}
			if !worked && !slices.Contains(ofOneMemory, name) && !slices.Contains(ofOperators, name) {
				t.Errorf("%s never worked: it was not tried", name)
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

// TestEveryRouteFindsTheCanary is the control: the same requests of the victim find it.
func TestEveryRouteFindsTheCanary(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		victim := serve(t, sc, callerOf(t, "home", "victim", canary).Principal)
		found := map[string]bool{}
		for _, id := range sc.ids {
			victim.each(t, canary, id.String(), "", func(name, method, target, body string) {
				if method == "DELETE" || strings.Contains(target, "delete") || strings.Contains(target, "batch") {
					return
				}
				w := victim.send(method, target, body)
				// What the caller sent does not count as a find.
				shown := strings.NewReplacer(cmp.Or(body, canary+canary), "", `"session_id":"`+canary+`"`, "").Replace(w.Body.String())
				found[name] = found[name] ||
					w.Code < 300 && (strings.Contains(shown, canary) || strings.Contains(w.Body.String(), id.String()))
			})
		}
		for name, ok := range found {
			quiet := []string{"info", "erase_memories", "list_tools", "list_agents", "list_agent_tools", "put_item", "put_checkpoint", "put_checkpoint_writes", "copy_thread", "prune_threads", "append_messages", "import_session", "import_memories", "summarise_session", "trim_session", "pop_message", "update_file", "move_file", "list_file_versions", "save_note", "stats", "mark_helpful", "mark_harmful", "supersede_memory", "add_link", "call_toolmemory_save", "call_toolmemory_update", "call_toolmemory_delete"}
			if !ok && !slices.Contains(ofOperators, name) && !slices.Contains(quiet, name) {
				t.Errorf("%s finds no canary", name)
			}
		}
	})
}
