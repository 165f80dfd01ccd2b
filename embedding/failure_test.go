package embedding_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// wantError checks an error's code and words, and that no form of it has the key.
func wantError(t *testing.T, err error, code loci.Code, words ...string) {
	t.Helper()
	var e *loci.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error %v does not have the code %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if shown := fmt.Sprintf("%v %+v", cause, cause); strings.Contains(shown, secretKey) {
			t.Errorf("the key is in %q", shown)
		}
	}
}

// status answers every request with a status and a body.
func status(code int, body string) func(http.ResponseWriter, request, int) {
	return func(w http.ResponseWriter, _ request, _ int) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

// A refusal that a second try would not change is not tried again, and its error says what to
// do. A service may repeat the key or the text in its answer: neither gets into an error.
func TestRefusals(t *testing.T) {
	echo := `"message":"bad key ` + secretKey + ` for the text PRIVATE"`
	for _, c := range []struct {
		name, spec string
		status     int
		body       string
		code       loci.Code
		want       []string
	}{
		{"no valid key", "openai:m", 401, `{"error":{` + echo + `,"code":"invalid_api_key"}}`, loci.Invalid, []string{"$THE_VARIABLE", "HTTP 401, invalid_api_key"}},
		{"the key as code", "openai:m", 403, `{"error":{"code":"` + secretKey + `","type":"secretsecretsecret"}}`, loci.Invalid, []string{"(HTTP 403)"}},
		{"no such model", "openai:m", 404, `{"error":{` + echo + `,"code":"model_not_found"}}`, loci.Invalid, []string{"no such model", "embedder"}},
		{"no such path", "openai:m", 404, `not found`, loci.Invalid, []string{"openai.base_url"}},
		{"no quota", "openai:m", 429, `{"error":{` + echo + `,"code":"insufficient_quota"}}`, loci.Invalid, []string{"quota"}},
		{"too long", "openai:m", 400, `{"error":{"message":"maximum context length is 8192 tokens"}}`, loci.TooLarge, []string{"text 1 of 1, with 7 characters", "chunk_size"}},
		{"too long for a proxy", "openai:m", 413, ``, loci.TooLarge, []string{"text 1 of 1"}},
		{"redirect", "openai:m", 307, ``, loci.Invalid, []string{"redirects", "openai.base_url"}},
		{"anything else", "openai:m", 418, `{"error":"PRIVATE"}`, loci.Invalid, []string{"HTTP 418"}},
		{"no such model in Ollama", "ollama:m", 404, `{"error":"model \"m\" not found, try pulling it first"}`, loci.Invalid, []string{"ollama pull m"}},
		{"old Ollama", "ollama:m", 404, `404 page not found`, loci.Invalid, []string{"update Ollama", "ollama.base_url"}},
		{"no embedding model", "ollama:m", 400, `{"error":"this model does not support embeddings"}`, loci.Invalid, []string{"not an embedding model"}},
		{"Ollama's own limit", "ollama:m", 500, `{"error":"the input length exceeds the context length"}`, loci.TooLarge, []string{"text 1 of 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, q request, n int) {
				w.Header().Set("Location", "/elsewhere")
				status(c.status, c.body)(w, q, n)
			})
			_, err := openAI(t, s, func(conf *embedding.Config) { conf.Spec = c.spec }).Embed(t.Context(), []string{"PRIVATE"})
			wantError(t, err, c.code, c.want...)
			if strings.Contains(err.Error(), "PRIVATE") || len(s.requests()) != 1 {
				t.Errorf("%q after %d requests", err, len(s.requests()))
			}
		})
	}
}

// A failure that may pass is tried again; one that stays is reported.
func TestRepetitions(t *testing.T) {
	hangUp := func(w http.ResponseWriter, _ request, _ int) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"data":[`)
		panic(http.ErrAbortHandler)
	}
	for name, fail := range map[string]func(http.ResponseWriter, request, int){
		"too many requests": status(429, `{"error":{"code":"rate_limit_exceeded"}}`),
		"internal error":    status(500, "<html>"),
		"bad gateway":       status(502, ""),
		"hangs up mid-body": hangUp,
		"hangs up at once":  func(http.ResponseWriter, request, int) { panic(http.ErrAbortHandler) },
		"mid-body after 500": func(w http.ResponseWriter, q request, n int) {
			w.WriteHeader(http.StatusInternalServerError)
			hangUp(w, q, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, q request, n int) {
				if n < 3 {
					fail(w, q, n)
					return
				}
				floats(w, q)
			})
			rows, err := openAI(t, s, func(c *embedding.Config) {
				c.Timeout = time.Minute
			}).Embed(t.Context(), []string{"text"})
			if err != nil || len(s.requests()) != 3 {
				t.Fatalf("%v after %d requests", err, len(s.requests()))
			}
			wantRows(t, rows, []string{"text"})
			always := serve(t, fail)
			_, err = openAI(
				t,
				always,
				func(c *embedding.Config) { c.Timeout = 5 * time.Second },
			).Embed(t.Context(), []string{"text"})
			wantError(t, err, loci.Unavailable)
			if n := len(always.requests()); n < 2 || n > 8 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for header, least := range map[string]time.Duration{
		"Retry-After-Ms: 300": 300 * time.Millisecond,
		"Retry-After: 0.5":    500 * time.Millisecond,
		"Retry-After: ":       0, // a date, which is made when it is sent
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			name, value, _ := strings.Cut(header, ": ")
			var date time.Time // before which nobody may ask again
			s := serve(t, func(w http.ResponseWriter, q request, n int) {
				if n == 1 {
					if value == "" {
						date = time.Now().Add(3 * time.Second).Truncate(time.Second)
						w.Header().Set(name, date.UTC().Format(http.TimeFormat))
					} else {
						w.Header().Set(name, value)
					}
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				floats(w, q)
			})
			_, err := openAI(t, s, func(c *embedding.Config) { c.Timeout = time.Minute }).Embed(t.Context(), []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			if q := s.requests(); len(q) != 2 || q[1].at.Sub(q[0].at) < least || q[1].at.Before(date) {
				t.Errorf("%d requests, the second %v after the first", len(q), q[1].at.Sub(q[0].at))
			}
		})
	}
	// A pause that would end after the time that is left is not begun.
	s := serve(t, func(w http.ResponseWriter, _ request, _ int) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	start := time.Now()
	_, err := openAI(t, s, func(c *embedding.Config) { c.Timeout = time.Minute }).Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.Unavailable, "a pause of 1h0m0s")
	if time.Since(start) > 30*time.Second || len(s.requests()) != 1 {
		t.Errorf("waited %v, %d requests", time.Since(start), len(s.requests()))
	}
}

// A bad answer is never taken for vectors.
func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		rows [][]float32
		want string
	}{
		"garbage":         {body: "<html>hello</html>", want: "openai.base_url"},
		"null":            {body: "null", want: "no list of vectors"},
		"too few":         {body: `{"data":[{"index":0,"embedding":[1]}]}`, want: "1 vectors for 2 texts"},
		"none":            {body: `{"data":[]}`, want: "0 vectors for 2 texts"},
		"one place twice": {body: `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, want: "no list of vectors"},
		"place outside":   {body: `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`, want: "no list of vectors"},
		"no numbers":      {body: `{"data":[{"embedding":["a"]},{"embedding":[1]}]}`, want: "no list of vectors"},
		"bad base64":      {body: `{"data":[{"embedding":"AAA"},{"embedding":"AAAA"}]}`, want: "no list of vectors"},
		"empty":           {body: `{"data":[{"embedding":[]},{"embedding":[]}]}`, want: "a vector of 0 dimensions"},
		"two lengths":     {body: `{"data":[{"embedding":[1,2]},{"embedding":[1]}]}`, want: "1 dimensions in place of 2"},
		"zeros":           {body: `{"data":[{"embedding":[0,0]},{"embedding":[1,0]}]}`, want: "without a direction"},
		"NaN":             {rows: [][]float32{{1, 2}, {1, float32(math.NaN())}}, want: "without a direction"},
		"infinite":        {rows: [][]float32{{1, 2}, {1, float32(math.Inf(1))}}, want: "without a direction"},
		"too long":        {rows: [][]float32{make([]float32, 5000), make([]float32, 5000)}, want: "5000 dimensions"},
		"huge":            {body: "endless", want: "sent more than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ request, _ int) {
				if c.rows != nil {
					encoded(w, c.rows...)
					return
				}
				for c.body == "endless" {
					if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<16)); err != nil {
						return
					}
				}
				fmt.Fprint(w, c.body)
			})
			_, err := openAI(t, s, nil).Embed(t.Context(), []string{"a", "b"})
			wantError(t, err, loci.Unavailable, c.want)
			if len(s.requests()) != 1 {
				t.Errorf("%d requests", len(s.requests()))
			}
		})
	}
}

// A request that is too large for a server is cut in two; a text that is too large is named.
func TestLargeRequestsAreCut(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, q request, _ int) {
		for _, text := range q.Input {
			if len(text) > 50 {
				status(400, `{"error":{"message":"input is too long"}}`)(w, q, 0)
				return
			}
		}
		if len(q.Input) > 32 {
			status(422, `{"error":"batch size 64 > maximum allowed batch size 32","error_type":"Validation"}`)(w, q, 0)
			return
		}
		floats(w, q)
	})
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = strings.Repeat("x", 1+i%40)
	}
	rows, err := openAI(t, s, nil).Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, rows, texts)
	texts[70] = strings.Repeat("é", 60)
	_, err = openAI(t, s, nil).Embed(t.Context(), texts)
	wantError(t, err, loci.TooLarge, "text 71 of 100, with 60 characters")
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, request, int) { <-release })
	defer close(release)
	start := time.Now()
	_, err := openAI(t, s, func(c *embedding.Config) {
		c.Timeout = 100 * time.Millisecond
	}).Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.Unavailable, "did not answer in time")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = openAI(t, s, func(c *embedding.Config) { c.Timeout = time.Hour }).Embed(ctx, []string{"a"})
	wantError(t, err, loci.Unavailable, "did not answer in time")
	if time.Since(start) > 20*time.Second {
		t.Errorf("waited %v", time.Since(start))
	}
}

// Nobody starts a program that is not running within seconds: the third attempt
// would come after 500 ms or so, the sixth after 2.6 s.
func TestRefusedConnectionsAreTriedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a refusal takes no time, so what passes is pauses
		e, err := embedding.Open(embedding.Config{Spec: "ollama:m", OllamaURL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = e.Embed(t.Context(), []string{"a"})
		wantError(t, err, loci.Unavailable, "is not running")
		if took := time.Since(start); took == 0 || took > 900*time.Millisecond {
			t.Errorf("waited %v", took)
		}
	})
}

// A caller that goes, even after a while, begins no rest.
func TestNoRestAfterACallerWent(t *testing.T) {
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(w http.ResponseWriter, q request, n int) {
		if n == 1 {
			time.AfterFunc(1200*time.Millisecond, cancel)
			<-release
		}
		floats(w, q)
	})
	defer close(release)
	e := openAI(t, s, nil)
	_, err := e.Embed(ctx, []string{"a"})
	wantError(t, err, loci.Unavailable)
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Error(err)
	}
}

// A service that is down is left alone for a while, so that not every write waits.
func TestRest(t *testing.T) {
	for !restsFor(t) { // somebody else took the port meanwhile
		t.Log("the port was taken, so another one is tried")
	}
	// Neither a text that is at fault nor a caller that left begins a rest.
	s := serve(t, func(w http.ResponseWriter, q request, n int) {
		if n == 1 {
			status(400, "too long")(w, q, n)
			return
		}
		floats(w, q)
	})
	e := openAI(t, s, nil)
	_, err := e.Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.TooLarge)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Embed(gone, []string{"a"})
	wantError(t, err, loci.Unavailable)
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Error(err)
	}
}

func TestRequestsPerMinute(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, q request, _ int) { floats(w, q) })
	e := openAI(t, s, func(c *embedding.Config) { c.RequestsPerMinute = 300 })
	start := time.Now() // not when the first request comes, which a busy machine may hold up
	for range 7 {       // 5 at once, then one each 200 ms
		if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
	}
	if took := s.requests()[6].at.Sub(start); took < 400*time.Millisecond {
		t.Errorf("7 requests in %v", took)
	}
	e = openAI(t, s, func(c *embedding.Config) { c.RequestsPerMinute, c.Timeout = 1, 30*time.Second })
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	_, err := e.Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.Unavailable, "requests a minute")
}

// A service that is down costs memories their vectors for now, and nothing else;
// the log has neither key nor text.
func TestEngineOverAService(t *testing.T) {
	down := true
	s := serve(t, func(w http.ResponseWriter, q request, _ int) {
		if down {
			status(401, `{"error":{"message":"bad key `+secretKey+` for PRIVATE"}}`)(w, q, 0)
			return
		}
		floats(w, q)
	})
	var log bytes.Buffer
	engine, err := loci.New(memory.Open(), &loci.Options{
		Features: locitest.Features(),
		Embedder: openAI(t, s, nil),
		Logger:   slog.New(slog.NewJSONHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("t")
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"u"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: "PRIVATE zebra"}); err != nil {
		t.Fatal(err)
	}
	r, err := m.Search(t.Context(), loci.Query{Text: "zebra"})
	if err != nil || len(r.Matches) != 1 || !r.KeywordOnly {
		t.Fatalf("%d matches, keyword only %v: %v", len(r.Matches), r.KeywordOnly, err)
	}
	if l := log.String(); strings.Contains(l, secretKey) || strings.Contains(l, "PRIVATE") || !strings.Contains(l, "$THE_VARIABLE") {
		t.Errorf("logged %s", l)
	}
	down = false
	if n, err := engine.Backfill(t.Context(), tenant, nil); n != 1 || err != nil {
		t.Fatalf("backfill: %d, %v", n, err)
	}
	if r, err = m.Search(t.Context(), loci.Query{Text: "horse", Mode: loci.Semantic}); err != nil || len(r.Matches) != 1 {
		t.Errorf("%d matches: %v", len(r.Matches), err)
	}
}

// restsFor lets a service be down and come back. It returns false if another program has taken
// its port.
func restsFor(t *testing.T) (own bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	begin, begun, accepted := make(chan bool, 1), make(chan bool), make(chan bool, 100)
	defer close(begin)
	go func() { // out of the bubble: in it nobody may wait for the network while time passes
		defer close(begun)
		if !<-begin {
			return
		}
		l, err := net.Listen("tcp", address)
		if begun <- err == nil; err != nil {
			return
		}
		t.Cleanup(func() { l.Close() })
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- true
			c.Close()
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		e, err := embedding.Open(embedding.Config{Spec: "ollama:m", OllamaURL: "http://" + address})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(t.Context(), []string{"a"})
		wantError(t, err, loci.Unavailable, "is not running", address)
		begin <- true
		if own = <-begun; !own {
			return
		}
		_, err = e.Embed(t.Context(), []string{"a"})
		wantError(t, err, loci.Unavailable, "is not running")
		if len(accepted) > 0 {
			t.Error("the service was called during its rest")
		}
		time.Sleep(1200 * time.Millisecond)
		_, err = e.Embed(t.Context(), []string{"a"})
		wantError(t, err, loci.Unavailable)
		if len(accepted) == 0 {
			t.Error("the service was not called after its rest")
		}
	})
	return own
}
