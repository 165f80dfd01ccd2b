package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/cores"
)

// talkingModel is a service with a language model: each answer takes so many tokens.
func talkingModel(t *testing.T, tokens int) (settings string, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"content":"They talked of tea."}}],`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":0}}`, tokens)
	}))
	t.Cleanup(s.Close)
	return fmt.Sprintf("llm: {provider: openai, model: m, base_url: %q, max_tokens_per_day: 1000000000}\n", s.URL), calls
}

// talk fills a session so far that a summary of it is due, and asks for that.
func talk(t *testing.T, url, session string, headers ...string) *http.Response {
	t.Helper()
	messages := strings.Repeat(`{"role":"user","content":"`+strings.Repeat("We talked of tea. ", 10)+`"},`, 10)
	body := `{"messages":[` + strings.TrimSuffix(messages, ",") + `]}`
	if status, reply := request(t, "POST", url+"/v1/sessions/"+session+"/messages", body, headers...); status != 200 {
		t.Fatalf("%d %s", status, reply)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/sessions/"+session+"/summarise",
		strings.NewReader(`{"context_tokens":500}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reply.Body.Close() })
	return reply
}

// TestTokensOfATenantOverTwoServers: what one server has used of a tenant's tokens the other
// one knows, to the token, and answers 429 with limit, use and remedy until the next day; a limit
// of a tenant that one server changes holds on the other within 5 seconds.
func TestTokensOfATenantOverTwoServers(t *testing.T) {
	store, path := "--store=sqlite:"+t.TempDir(), t.TempDir()+"/loci.yaml"
	settings, calls := talkingModel(t, 6000)
	if err := os.WriteFile(path, []byte(settings+"auth: {mode: keys}\nlimits: {model_tokens_per_day: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	one, _ := serveHere(t, store, "--config="+path)
	two, _ := serveHere(t, store, "--config="+path)
	operate(t, store, "tenant", "create", "acme")
	alice := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice")
	operator := "Authorization: Bearer " + keyOf(t, store, "--user=root", "--scope=operate")
	if r := talk(t, one, "a", alice); r.StatusCode != http.StatusTooManyRequests || calls.Load() != 0 {
		t.Errorf("beyond the limit of all: %d after %d calls", r.StatusCode, calls.Load())
	}
	set := func(url string, limit int) {
		t.Helper()
		body := fmt.Sprintf(`{"model_tokens_per_day":%d}`, limit)
		if status, reply := request(t, "PUT", url+"/v1/admin/tenants/acme/limits", body, operator); status != 200 {
			t.Fatalf("%d %s", status, reply)
		}
	}
	set(one, 1_000_000_000)
	if r := talk(t, one, "a", alice); r.StatusCode != http.StatusOK || calls.Load() == 0 {
		t.Fatalf("%d after %d calls", r.StatusCode, calls.Load())
	}
	shown := operate(t, store, "tenant", "show", "acme")
	if !strings.Contains(shown, fmt.Sprintf("model tokens today\t%d of 1000000000\n", 6000*calls.Load())) {
		t.Errorf("use after %d calls: %s", calls.Load(), shown)
	}
	if r := talk(t, two, "a", alice); r.StatusCode != http.StatusOK {
		t.Fatalf("%d after %d calls", r.StatusCode, calls.Load())
	}
	set(one, 6001)
	await(t, "the limit on the other server", func() bool { return talk(t, two, "b", alice).StatusCode == http.StatusTooManyRequests })
	r := talk(t, one, "b", alice)
	var reply strings.Builder
	if err := r.Write(&reply); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now).Seconds()
	var wait float64
	if _, err := fmt.Sscan(r.Header.Get("Retry-After"), &wait); err != nil || wait < midnight-1 || wait > midnight+120 {
		t.Errorf("Retry-After %s; the day has %.0f s", r.Header.Get("Retry-After"), midnight)
	}
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("RateLimit-Policy") != `"model-tokens";q=6001;w=86400` ||
		!strings.HasPrefix(r.Header.Get("RateLimit"), `"model-tokens";r=0;t=`) ||
		!strings.Contains(reply.String(), "of its 6001 tokens of language models today (UTC)") ||
		!strings.Contains(reply.String(), "loci tenant rate-limit") {
		t.Errorf("%s", &reply)
	}
}

// TestReloadOfTokens: a signal makes a server read again how many tokens a tenant may use.
func TestReloadOfTokens(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no signals to send
	}
	path := t.TempDir() + "/loci.yaml"
	settings, _ := talkingModel(t, 10)
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(settings+content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("limits: {model_tokens_per_day: 1}\n")
	n := startNode(t, nil, "--store=memory:", "--user=alice", "--config="+path)
	if r := talk(t, n.url, "a"); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("before: %d", r.StatusCode)
	}
	write("limits: {model_tokens_per_day: 100000}\nlog: {level: info}\n")
	n.signal(t, syscall.SIGHUP)
	await(t, "the configuration", func() bool { return strings.Contains(n.errors.String(), "read again") })
	if r := talk(t, n.url, "a"); r.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
	if said := n.errors.String(); strings.Contains(said, "start again") || strings.Contains(said, "starts again") {
		t.Errorf("it says %s", said)
	}
}

// A server has processors to spare for what gives way, unless somebody has limited them, and gives them back. It
// leaves room for garbage.
func TestServeSparesProcessors(t *testing.T) {
	_, stop := serveHere(t, "--store=memory:", "--auth=none")
	if n := runtime.GOMAXPROCS(0); n > cores.Usable() == cores.Limited() {
		t.Errorf("%d processors of %d; limited: %t", n, cores.Usable(), cores.Limited())
	}
	if !cores.Roomy() && os.Getenv("GOGC") == "" {
		t.Error("garbage is collected as often as in a program that is used now and then")
	}
	stop()
	if n := runtime.GOMAXPROCS(0); n != cores.Usable() {
		t.Errorf("%d processors of %d afterwards", n, cores.Usable())
	}
}
