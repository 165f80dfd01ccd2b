package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/config"
)

// keyOf makes a key with the command, and returns its token.
func keyOf(t *testing.T, store string, args ...string) string {
	t.Helper()
	out := operate(t, append([]string{store, "key", "create"}, args...)...)
	return strings.TrimSpace(out)
}

// operate runs a command as an operator and returns its output.
func operate(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := config.Environ{"HOME=" + t.TempDir(), "LOCI_SCOPES=read,write,delete,admin"}
	if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

func mcpCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

const mcpList = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestServeAsksForKeys: each key acts as it says, over both surfaces: in its tenant, for its
// user, with its scopes and tools. No caller gets the identity that the operator configured.
func TestServeAsksForKeys(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	url, stop := serveHere(t, store, "--auth=keys", "--tools=notes,facts", "--user=operator")
	for _, name := range []string{"acme", "other"} {
		operate(t, store, "tenant", "create", name)
	}
	alice := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice")
	bob := "Authorization: Bearer " + keyOf(t, store, "--tenant=other", "--user=bob")
	reader := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--scope=read")
	caller := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--tool-family=notes")
	planner := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--agent=planner")
	service := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--scope=read", "--scope=write", "--scope=delegate")
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		want, not          string
	}{
		{"GET", "/healthz", "", nil, 200, "ok", ""},
		{"GET", "/v1/info", "", nil, 401, "unauthenticated", "notes"},
		{"GET", "/v1/openapi.json", "", nil, 401, "unauthenticated", "paths"},
		{"POST", "/mcp", mcpList, nil, 401, "unauthenticated", "memory_search"},
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, []string{alice}, 201, "note-", ""},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"Likes oranges."}`), []string{alice}, 200, "note-", "isError"},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"oranges"}`), []string{alice}, 200, "Likes oranges.", ""},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{bob}, 200, `"matches":[]`, "Likes"},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"tea"}`), []string{bob}, 200, `"results":[]`, "Likes"},
		// What headers choose is within what the key may.
		{"POST", "/v1/search", `{"query":"tea"}`, []string{bob, "Loci-Tenant: acme"}, 403, "forbidden", "Likes"},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{bob, "Loci-User: alice"}, 403, "forbidden", "Likes"},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"tea"}`), []string{bob, "Loci-User: alice"}, 200, "forbidden", "Likes"},
		{"POST", "/mcp", mcpList, []string{bob, "Loci-User: alice"}, 200, `"tools":[]`, "memory_search"},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{service, "Loci-User: alice"}, 200, "Likes tea.", ""},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{service}, 400, "user_id", "Likes"},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{service, "Loci-Tenant: other"}, 403, "forbidden", ""},
		// Scopes and tools.
		{"POST", "/v1/search", `{"query":"tea"}`, []string{reader}, 200, "Likes tea.", ""},
		{"POST", "/v1/notes", `{"content":"x"}`, []string{reader}, 403, "write", ""},
		{"POST", "/mcp", mcpList, []string{reader}, 200, "memory_search", "memory_save"},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"x"}`), []string{reader}, 200, "forbidden", ""},
		{"POST", "/mcp", mcpList, []string{caller}, 200, "memory_save", "manage_memory"},
		{"POST", "/mcp", mcpCall("search_memory", `{"query":"tea"}`), []string{caller}, 200, "forbidden", "Likes"},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"tea"}`), []string{caller}, 200, "Likes tea.", ""},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{caller}, 403, "families of tools", "Likes"},
		// The addresses of agents.
		{"POST", "/mcp/planner", mcpList, []string{planner}, 404, "no such agent", ""},
	} {
		status, reply := request(t, c.method, url+c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(reply, c.want) || c.not != "" && strings.Contains(reply, c.not) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, reply)
		}
	}
	_, stderr := stop()
	for _, header := range []string{alice, bob, reader, caller, service} {
		if token := strings.TrimPrefix(header, "Authorization: Bearer "); strings.Contains(stderr, token[40:]) {
			t.Error("a key is in the log")
		}
	}
	if !strings.Contains(stderr, "caller=key:") {
		t.Errorf("the log names no caller: %s", stderr)
	}
	// The log of the tenant says which credential did it.
	if events := operate(t, store, "--tenant=acme", "--json", "events", "--namespace="); !strings.Contains(events, `"actor": "key:`) && !strings.Contains(events, `"actor":"key:`) {
		t.Errorf("the events name no key: %s", events)
	}
}

// TestAddressesOfAgents: a key reaches the address of its own agent, and with the scope
// delegate that of any agent. No key reaches another agent's memory.
func TestAddressesOfAgents(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	path := t.TempDir() + "/loci.yaml"
	const settings = "auth: {mode: keys}\nagents: [planner, writer]\ntools: [{family: notes, namespace: [agent, \"{agent_id}\"]}]\n"
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := serveHere(t, store, "--config="+path)
	planner := "Authorization: Bearer " + keyOf(t, store, "--user=alice", "--agent=planner")
	plain := "Authorization: Bearer " + keyOf(t, store, "--user=alice")
	service := "Authorization: Bearer " + keyOf(t, store, "--scope=read", "--scope=delegate", "--user=bob")
	search := mcpCall("memory_search", `{"query":"tea"}`)
	for _, c := range []struct {
		path, body, header, want, not string
	}{
		{"/mcp/planner", mcpCall("memory_save", `{"content":"Plans tea."}`), planner, "note-", "forbidden"},
		{"/mcp/planner", search, planner, "Plans tea.", ""},
		{"/mcp/writer", search, planner, "forbidden", "Plans"},
		{"/mcp/planner", search, plain, "forbidden", "Plans"},
		{"/mcp/planner", mcpList, plain, `"tools":[]`, "memory_search"},
		{"/mcp/planner", search, service, "Plans tea.", ""},
		{"/mcp/writer", search, service, `"results":[]`, "Plans"},
	} {
		status, reply := request(t, "POST", url+c.path, c.body, c.header)
		if status != 200 || !strings.Contains(reply, c.want) || c.not != "" && strings.Contains(reply, c.not) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, reply)
		}
	}
}

// TestRevokedKeyEndsOnEveryServer: of two servers over one file, within 5 seconds.
func TestRevokedKeyEndsOnEveryServer(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir() + "/loci.db" // a store that is one file has keys as well
	one, _ := serveHere(t, store, "--auth=keys")
	two, _ := serveHere(t, store, "--auth=keys")
	token := keyOf(t, store, "--user=alice")
	id := ""
	for line := range strings.Lines(operate(t, store, "key", "list")) {
		id, _, _ = strings.Cut(line, "\t")
	}
	for _, url := range []string{one, two} {
		if status, reply := request(t, "POST", url+"/v1/notes", `{"content":"Likes tea."}`, "Authorization: Bearer "+token); status >= 300 {
			t.Fatalf("%d %s", status, reply)
		}
	}
	operate(t, store, "key", "revoke", id)
	end := time.Now().Add(5 * time.Second)
	for _, url := range []string{one, two} {
		status := 200
		for status == 200 && time.Now().Before(end) {
			time.Sleep(20 * time.Millisecond)
			status, _ = request(t, "GET", url+"/v1/info", "", "Authorization: Bearer "+token)
		}
		if status != 401 {
			t.Errorf("%s still answers with %d", url, status)
		}
	}
}

// TestElevationIsForATime: a key acts in another tenant over both surfaces, both logs say until
// when, and where its time is over it hears 403 and keeps its own tenant. The name of the person
// it acts for is in no log.
func TestElevationIsForATime(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	path := t.TempDir() + "/loci.yaml"
	if err := os.WriteFile(path, []byte("auth: {mode: keys, elevation: 1ms}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := serveHere(t, store, "--auth=keys")
	brief, _ := serveHere(t, store, "--config="+path)
	operate(t, store, "tenant", "create", "acme")
	root := "Authorization: Bearer " + keyOf(t, store, "--user=root", "--scope=read", "--scope=write", "--scope=admin",
		"--scope=delegate", "--scope=elevate", "--expires=1d")
	elsewhere := []string{root, "Loci-Tenant: acme", "Loci-User: canary"}
	const note = `{"content":"Likes tea."}`
	const over = "may act in other tenants ended at"
	for _, c := range []struct {
		path, body string
		headers    []string
		status     int
		want       string
	}{
		{url + "/v1/notes", note, elsewhere, 201, "note-"},
		{url + "/mcp", mcpCall("memory_search", `{"query":"tea"}`), elsewhere, 200, "Likes tea."},
		{brief + "/v1/notes", note, elsewhere, 403, over},
		{brief + "/mcp", mcpCall("memory_search", `{"query":"tea"}`), elsewhere, 200, over},
		{brief + "/v1/notes", note, []string{root}, 201, "note-"},
	} {
		status, reply := request(t, "POST", c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(reply, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, reply)
		}
	}
	for _, tenant := range []string{"acme", "default"} {
		events := operate(t, store, "--tenant="+tenant, "--json", "events", "--namespace=", "--type=elevated")
		if strings.Count(events, "until") != 2 || strings.Contains(events, "canary") {
			t.Errorf("%s: %s", tenant, events)
		}
	}
	if list := operate(t, store, "--json", "key", "list"); !strings.Contains(list, "elevated_until") {
		t.Errorf("no end: %s", list)
	}
}

// TestOperatorsOverHTTP: a key with the scope operate makes a tenant and a key of it, which
// works at once; suspends it, and erases it, and nobody else may. Where operators have an
// address of their own, that is the only one.
func TestOperatorsOverHTTP(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	path := t.TempDir() + "/loci.yaml"
	const settings = "auth: {mode: keys}\nhttp: {admin: \"unix:%s/operators\"}\n"
	place := t.TempDir()
	if err := os.WriteFile(path, fmt.Appendf(nil, settings, place), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, _ := serveHere(t, store, "--auth=keys")
	apart, _ := serveHere(t, store, "--config="+path)
	operator := "Authorization: Bearer " + keyOf(t, store, "--user=root", "--scope=operate")
	admin := "Authorization: Bearer " + keyOf(t, store, "--user=root", "--scope=read", "--scope=admin", "--scope=elevate", "--expires=1d")
	made := func(method, target, body string, status int, want string, headers ...string) string {
		t.Helper()
		got, reply := request(t, method, plain+target, body, headers...)
		if got != status || !strings.Contains(reply, want) {
			t.Errorf("%s %s: %d %s", method, target, got, reply)
		}
		return reply
	}
	made("GET", "/v1/admin/tenants", "", 401, "unauthenticated")
	made("GET", "/v1/admin/tenants", "", 403, "operate", admin)
	// Whoever comes from another tenant brings none along.
	made("GET", "/v1/memories", "", 404, `no tenant \"acme\"`, admin, "Loci-Tenant: acme")
	elevated := strings.Replace(mcpCall("memory_search", `{"query":"tea"}`), `"params":{`, `"params":{"_meta":{"loci/tenant":"acme"},`, 1)
	made("POST", "/mcp", elevated, 200, `no tenant \"acme\"`, admin)
	made("POST", "/v1/admin/keys", `{"tenant":"acme","scopes":["read","write"],"vars":{"user_id":"alice"}}`, 404, "no tenant", operator)
	made("POST", "/v1/admin/tenants", `{"tenant":"acme"}`, 201, `"state":"active"`, operator)
	var key struct {
		Token string
		Key   struct{ ID string }
	}
	reply := made("POST", "/v1/admin/keys", `{"tenant":"acme","scopes":["read","write"],"vars":{"user_id":"alice"}}`, 201, "token", operator)
	if err := json.Unmarshal([]byte(reply), &key); err != nil {
		t.Fatal(err)
	}
	alice := "Authorization: Bearer " + key.Token
	made("POST", "/v1/notes", `{"content":"Likes tea."}`, 201, "note-", alice)
	made("GET", "/v1/admin/tenants", "", 403, "operate", alice)
	// A quota holds at once on this server.
	made("PUT", "/v1/admin/tenants/acme/quota", `{"records":1}`, 200, `"records":1`, operator)
	made("POST", "/v1/notes", `{"content":"Likes milk."}`, 507, "the tenant holds 1 of its 1 records", alice)
	made("POST", "/mcp", mcpCall("memory_save", `{"content":"Likes milk."}`), 200, "holds 1 of its 1 records", alice)
	if shown := operate(t, store, "tenant", "show", "acme"); !strings.Contains(shown, "records\t1 of 1\n") {
		t.Errorf("use beside limit: %s", shown)
	}
	made("PUT", "/v1/admin/tenants/acme/quota", `{}`, 200, "acme", operator)
	made("POST", "/v1/notes", `{"content":"Likes milk."}`, 201, "note-", alice)
	// So do the limits of a tenant.
	bounds := "/v1/admin/tenants/acme/limits"
	made("PUT", bounds, `{"requests_per_second":0.001,"burst":1}`, 200, `"requests_per_second":0.001`, operator)
	made("GET", "/v1/notes", "", 200, "Likes milk.", alice)
	made("GET", "/v1/notes", "", 429, "the tenant has used all of its 1 requests at once; the limit is 0.001 a second", alice)
	made("POST", "/mcp", mcpList, 429, "loci tenant rate-limit", alice)
	made("PUT", bounds, `{}`, 200, "acme", operator)
	// So do the limits of a key.
	limits := "/v1/admin/keys/" + key.Key.ID + "/limits"
	made("PUT", limits, `{"requests_per_second":0.001,"burst":1}`, 200, `"requests_per_second":0.001`, operator)
	made("GET", "/v1/notes", "", 200, "Likes milk.", alice)
	made("GET", "/v1/notes", "", 429, "the key has used all of its 1 requests at once", alice)
	made("POST", "/mcp", mcpList, 429, "the key has used all", alice)
	made("PUT", limits, `{}`, 200, key.Key.ID, operator)
	made("GET", "/v1/notes", "", 200, "Likes milk.", alice)
	operate(t, store, "key", "limit", key.Key.ID, "--requests-per-second=50", "--burst=9", "--concurrent-requests=7")
	if shown := operate(t, store, "key", "show", key.Key.ID); !strings.Contains(shown,
		"limits\t50 requests a second, 9 at once, 7 under way\n") {
		t.Errorf("limits of a key: %s", shown)
	}
	made("GET", "/v1/notes", "", 403, "read", operator) // operating is not reading
	made("POST", "/v1/admin/tenants/acme/suspend", `{"state":"closed"}`, 200, "closed", operator)
	made("GET", "/v1/notes", "", 403, "suspended", alice)
	made("POST", "/v1/admin/tenants/acme/erase", `{"expect":"acme"}`, 200, "erased_tenant", operator)
	made("GET", "/v1/notes", "", 401, "not valid", alice)
	made("GET", "/v1/admin/tenants/acme", "", 404, "no tenant", operator)

	if status, reply := request(t, "GET", apart+"/v1/admin/tenants", "", operator); status != 404 {
		t.Errorf("%d %s", status, reply)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", place+"/operators")
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	for target, want := range map[string]int{"/v1/admin/tenants": 200, "/v1/notes": 404, "/healthz": 200} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", strings.TrimPrefix(operator, "Authorization: "))
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != want {
			t.Errorf("%s at the operators' socket: %d, want %d", target, got.StatusCode, want)
		}
	}
}

// TestRefusalsAreInTheAuditLog: what a key was refused over REST and MCP, by its scopes, its
// tools and its headers, and what it tried after it was revoked, is in the log of its own tenant with the key,
// the operation and the address, and nowhere else; nothing of what it sent is.
func TestRefusalsAreInTheAuditLog(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	url, stop := serveHere(t, store, "--auth=keys", "--tools=notes,facts,claude")
	for _, name := range []string{"acme", "other"} {
		operate(t, store, "tenant", "create", name)
	}
	reader := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--scope=read")
	notes := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--tool-family=notes")
	gone := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--note=gone")
	other := "Authorization: Bearer " + keyOf(t, store, "--tenant=other", "--user=bob")
	for line := range strings.Lines(operate(t, store, "key", "list", "--tenant=acme")) {
		if id, rest, _ := strings.Cut(line, "\t"); strings.Contains(rest, "gone") {
			operate(t, store, "key", "revoke", id)
		}
	}
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"POST", "/v1/notes", `{"content":"canary"}`, []string{reader}, 403},
		{"POST", "/v1/notes", `{"content":"canary"}`, []string{reader}, 403},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"canary"}`), []string{reader}, 200},
		{"POST", "/mcp", mcpCall("memory", `{"command":"create","path":"/memories/canary","file_text":"canary"}`), []string{reader}, 200},
		{"POST", "/v1/tools/memory_delete", `{"memory_id":"canary"}`, []string{reader}, 200},
		{"POST", "/mcp", mcpCall("search_memory", `{"query":"canary"}`), []string{notes}, 200},
		{"POST", "/v1/search", `{"query":"canary"}`, []string{notes}, 403},
		{"GET", "/v1/memories", "", []string{reader, "Loci-Tenant: canary"}, 403},
		{"GET", "/v1/sessions", "", []string{reader, "Loci-User: canary"}, 403},
		{"GET", "/v1/info", "", []string{gone}, 401},
		{"POST", "/v1/search", `{"query":"canary"}`, []string{other}, 200},
		{"GET", "/v1/memories/fact-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77", "", []string{reader}, 404},
		{"GET", "/v1/info", "", nil, 401},
	} {
		if status, reply := request(t, c.method, url+c.path, c.body, c.headers...); status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, reply)
		}
	}
	_, stderr := stop()
	if !strings.Contains(stderr, "refused=save_note") {
		t.Errorf("the log of requests: %s", stderr)
	}
	events := operate(t, store, "--tenant=acme", "--json", "events", "--namespace=", "--type=refused", "--limit=100")
	var log struct {
		Events []struct {
			Actor   string
			Request string `json:"request_id"`
			Payload struct {
				Operation, From string
				Times           int
			}
		}
	}
	if err := json.Unmarshal([]byte(events), &log); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, e := range log.Events {
		if !strings.HasPrefix(e.Actor, "key:") || e.Request == "" || e.Payload.From != "127.0.0.1" {
			t.Errorf("%+v", e)
		}
		told[e.Payload.Operation] += e.Payload.Times
	}
	want := map[string]int{"save_note": 2, "memory_save": 1, "memory": 1, "memory_delete": 1, "search_memory": 1, "search": 1,
		"list_memories": 1, "list_sessions": 1, "authenticate": 1}
	if !maps.Equal(told, want) {
		t.Errorf("%v; want %v", told, want)
	}
	if strings.Contains(events, "canary") {
		t.Errorf("what a caller sent is in the log: %s", events)
	}
	for _, tenant := range []string{"other", "default"} {
		if events := operate(t, store, "--tenant="+tenant, "--json", "events", "--namespace=", "--type=refused"); strings.Contains(events, "key:") {
			t.Errorf("%s: %s", tenant, events)
		}
	}
}

// A server of one person asks for the token that its first start makes, over both surfaces, and only
// --insecure-loopback asks nobody. Probes need none.
func TestServeAsksForItsToken(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".local", "share", "loci", "token")
	start := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		out, feed := io.Pipe()
		var stderr bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			code := run(ctx, append([]string{"--store=memory:", "--listen=127.0.0.1:0", "serve"}, args...), strings.NewReader(""), feed, &stderr,
				config.Environ{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, ".local", "share")})
			feed.Close()
			ended <- code
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			cancel()
			t.Fatalf("exit code %d: %s", <-ended, &stderr)
		}
		t.Cleanup(func() { cancel(); <-ended })
		return strings.TrimSpace(line)
	}
	url := start()
	token := auth.Token(file)
	if token == "" {
		t.Fatal("there is no token")
	}
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, nil, 401},
		{"POST", "/mcp", mcpList, nil, 401},
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, []string{"Authorization: Bearer " + token + "a"}, 401},
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, []string{"Authorization: Bearer " + token}, 201},
		{"POST", "/mcp", mcpList, []string{"Authorization: Bearer " + token}, 200},
		{"GET", "/v1/notes?access_token=" + token, "", nil, 400},
		{"GET", "/healthz", "", nil, 200},
		{"GET", "/readyz", "", nil, 200},
	} {
		if status, reply := request(t, c.method, url+c.path, c.body, c.headers...); status != c.status {
			t.Errorf("%s %s %v: %d %s, want %d", c.method, c.path, c.headers, status, reply, c.status)
		}
	}
	if status, reply := request(t, "POST", start("--insecure-loopback")+"/v1/notes", `{"content":"Likes tea."}`); status != 201 {
		t.Errorf("%d %s", status, reply)
	}
	if status, _ := request(t, "POST", start()+"/v1/notes", `{"content":"Likes tea."}`, "Authorization: Bearer "+token); status != 201 {
		t.Errorf("the next start has another token: %d", status)
	}
	for want, args := range map[string][]string{
		"leave one of them out":      {"--auth=keys", "serve", "--insecure-loopback"},
		"there is no authentication": {"--listen=0.0.0.0:0", "serve"},
		"its mode is 0644":           {"--listen=127.0.0.1:0", "serve"},
	} {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		code := run(t.Context(), append([]string{"--store=memory:"}, args...), strings.NewReader(""), io.Discard, &stderr,
			config.Environ{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, ".local", "share")})
		if code != exitInvalid || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s; want %q", args, code, &stderr, want)
		}
	}
}
