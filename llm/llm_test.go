package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/llm"
)

var prompt = loci.Prompt{System: "be brief", User: "private words", MaxTokens: 77}

// serve starts a service and makes a client of it.
func serve(t *testing.T, provider string, change func(*llm.Config), handle http.HandlerFunc) loci.Completer {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config := llm.Config{Provider: provider, Model: "m", BaseURL: server.URL + "/base", MaxReply: 4096, Timeout: 30 * time.Second,
		Key: llm.Key{Source: "$KEY", Read: func() (string, error) { return "the-key\n", nil }}}
	if change != nil {
		change(&config)
	}
	c, err := llm.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	openAIAnswer    = `{"choices":[{"finish_reason":"%","message":{"content":"hello"}}],"usage":{"prompt_tokens":12,"completion_tokens":3}}`
	anthropicAnswer = `{"content":[{"type":"thinking"},{"type":"text","text":"hel"},{"type":"text","text":"lo"}],"stop_reason":"%","usage":{"input_tokens":10,"cache_read_input_tokens":2,"output_tokens":3}}`
)

func TestProtocols(t *testing.T) {
	for name, c := range map[string]struct{ provider, path, header, key, answer, cut string }{
		"openai":    {llm.OpenAI, "/base/chat/completions", "Authorization", "Bearer the-key", openAIAnswer, "length"},
		"anthropic": {llm.Anthropic, "/base/messages", "X-Api-Key", "the-key", anthropicAnswer, "max_tokens"},
	} {
		for _, reason := range []string{"stop", c.cut} {
			t.Run(name+" "+reason, func(t *testing.T) {
				completer := serve(t, c.provider, nil, func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					var in map[string]any
					if err != nil || json.Unmarshal(body, &in) != nil || in["model"] != "m" || in["max_tokens"] != 77.0 {
						t.Errorf("body %s, %v", body, err)
					}
					if r.URL.Path != c.path || r.Header.Get(c.header) != c.key {
						t.Errorf("%s %v", r.URL.Path, r.Header)
					}
					io.WriteString(w, strings.Replace(c.answer, "%", reason, 1))
				})
				got, err := completer.Complete(t.Context(), prompt)
				want := loci.Completion{
					Text:      "hello",
					Truncated: reason == c.cut,
					Usage:     loci.Usage{PromptTokens: 12, CompletionTokens: 3},
				}
				if err != nil || got != want {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}

// A failure has a code, never repeats what was sent, and counts the tokens that may have been
// used.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		handle  http.HandlerFunc
		code    loci.Code
		counted bool
		calls   int64
	}{
		"key":       {status(401, ""), loci.Invalid, false, 1},
		"model":     {status(404, ""), loci.Invalid, false, 1},
		"quota":     {status(429, `{"error":{"code":"insufficient_quota"}}`), loci.Invalid, false, 1},
		"redirect":  {status(307, ""), loci.Invalid, false, 1},
		"too long":  {status(400, `{"error":{"code":"context_length_exceeded"}}`), loci.TooLarge, false, 1},
		"bad":       {status(400, ""), loci.Unavailable, false, 1},
		"busy":      {status(429, ""), loci.Unavailable, false, 1}, // it asks for longer than there is
		"garbage":   {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>private words") }, loci.Unavailable, true, 1},
		"no choice": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }, loci.Unavailable, true, 1},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat(" ", 5000))
		}, loci.Unavailable, true, 1},
		"hung": {func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // only then does the server notice who leaves
			<-r.Context().Done()
		}, loci.Unavailable, true, 1},
		"ended early": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		}, loci.Unavailable, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			completer := serve(t, llm.OpenAI, func(config *llm.Config) {
				config.Timeout = 30 * time.Second
				if name == "hung" {
					config.Timeout = 300 * time.Millisecond
				}
			}, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				c.handle(w, r)
			})
			got, err := completer.Complete(t.Context(), prompt)
			var e *loci.Error
			if !errors.As(err, &e) || e.Code != c.code ||
				strings.Contains(err.Error(), "private") || strings.Contains(err.Error(), "the-key") {
				t.Errorf("error %v", err)
			}
			if (got.Usage.CompletionTokens == 77) != c.counted || calls.Load() != c.calls {
				t.Errorf("%+v after %d calls", got.Usage, calls.Load())
			}
		})
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// A service that fails for a moment is asked again, and a model that wants another
// name for the limit gets it.
func TestRepeats(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"busy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"limit": func(w http.ResponseWriter, _ *http.Request) {
			status(400, "use 'max_completion_tokens' instead")(w, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			completer := serve(t, llm.OpenAI, nil, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if calls.Add(1) == 1 {
					first(w, r)
					return
				}
				if err != nil || name == "limit" != strings.Contains(string(body), `"max_completion_tokens":77`) {
					t.Errorf("body %s, %v", body, err)
				}
				io.WriteString(w, openAIAnswer)
			})
			if got, err := completer.Complete(t.Context(), prompt); err != nil || got.Text != "hello" || calls.Load() != 2 {
				t.Errorf("%+v, %v after %d calls", got, err, calls.Load())
			}
		})
	}
}

func TestOpen(t *testing.T) {
	for _, bad := range []llm.Config{
		{Provider: "x", Model: "m"},
		{Provider: llm.OpenAI},
		{Provider: llm.OpenAI, Model: "m", BaseURL: "file:///etc"},
		{Provider: llm.OpenAI, Model: "m", BaseURL: "http://user:secret@host"},
		{Provider: llm.OpenAI, Model: "m", BaseURL: "http://host?key=secret"},
		{Provider: llm.OpenAI, Model: "m", BaseURL: "http://%zz secret"},
	} {
		if _, err := llm.Open(bad); !errors.Is(err, loci.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	c, err := llm.Open(llm.Config{Provider: llm.OpenAI, Model: "m", BaseURL: "http://169.254.169.254"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.Complete(ctx, prompt); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("link-local: %v", err)
	}
}
