package remote

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
)

func TestNewChecksTheAddress(t *testing.T) {
	for base, ok := range map[string]bool{
		"http://host": true, "https://host:1/v1/": true, "": false, "host": false, "file:///etc/passwd": false, "http://": false,
		"http://me:secret@host": false, "http://host?key=secret": false, "http://host#secret": false, "http://%zz secret": false,
	} {
		_, err := New(base, "path", "x.base_url", Key{}, 1)
		if (err == nil) != ok || err != nil &&
			(!errors.Is(err, loci.ErrInvalid) || strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "x.base_url")) {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func client(t *testing.T, base string, key Key) *Client {
	t.Helper()
	c, err := New(base, "path", "x.base_url", key, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each way in which a request ends is told apart, and none follows a redirect.
func TestPost(t *testing.T) {
	followed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long/path":
			_, _ = io.WriteString(w, strings.Repeat("x", 101))
		case "/cut/path":
			w.Header().Set("Content-Length", "50")
		case "/moved/path":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/elsewhere":
			followed = true
		default:
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(server.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	key := Key{Source: "$KEY", Read: func() (string, error) { return " the-key\n", nil }}
	for name, c := range map[string]struct {
		base string
		key  Key
		want error
		says string
	}{
		"well":       {server.URL, key, nil, "Bearer the-key"},
		"no key":     {server.URL, Key{}, nil, ""},
		"too long":   {server.URL + "/long", key, ErrTooLong, ""},
		"cut":        {server.URL + "/cut", key, ErrCut, ""},
		"nobody":     {closed.URL, key, ErrUnsent, ""},
		"link-local": {"http://169.254.169.254", key, errLinkLocal, ""},
		"unreadable": {server.URL, Key{Source: "a file", Read: func() (string, error) { return "", io.ErrUnexpectedEOF }}, ErrKey, ""},
		"no header":  {server.URL, Key{Source: "a file", Read: func() (string, error) { return "the key\r\nHost: x", nil }}, ErrKey, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body, f, err := client(t, c.base, c.key).Post(t.Context(), nil, 100, Bearer)
			if !errors.Is(err, c.want) || f != nil || string(body) != c.says {
				t.Errorf("%q, %v, %v", body, f, err)
			}
			if err != nil && strings.Contains(err.Error(), "the key\r") {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
	if _, f, err := client(t, server.URL+"/moved", key).Post(t.Context(), nil, 100, Bearer); err != nil ||
		f.Status != http.StatusTemporaryRedirect || followed {
		t.Errorf("a redirect: %v, %v, followed: %v", f, err, followed)
	}
}

// A failure shows the code that the service gives, if it is a plain word, and never what was
// sent.
func TestFailure(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for said, want := range map[string]string{
		`{"error":{"message":"my words","code":"context_length_exceeded"}}`: "HTTP 400, context_length_exceeded",
		`{"error":{"code":17,"type":"invalid_request_error"}}`:              "HTTP 400, invalid_request_error",
		`{"message":"x","type":"overloaded"}`:                               "HTTP 400, overloaded",
		`{"error":"my words"}`:                                              "HTTP 400",
		`{"error":{"code":"My words, repeated"}}`:                           "HTTP 400",
		`{"error":{"code":"secretkey"}}`:                                    "HTTP 400",
		`<html>`:                                                            "HTTP 400",
	} {
		f := newFailure(&http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}}, []byte(said), "secretkey", now)
		if f.String() != want || f.Parsed != (said[0] == '{') {
			t.Errorf("%s: %s", said, f)
		}
	}
	for header, want := range map[string]time.Duration{
		"Retry-After: 2": 2 * time.Second, "Retry-After: 0.5": 500 * time.Millisecond, "Retry-After-Ms: 30": 30 * time.Millisecond,
		"Retry-After: Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Retry-After: Fri, 02 Jan 2026 03:04:00 GMT": 0,
		"Retry-After: -1": 0, "Retry-After: 1e99": 0, "Retry-After: soon": 0, "X: 1": 0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		res := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}}
		res.Header.Set(name, value)
		if got := newFailure(res, nil, "", now).After; got != want {
			t.Errorf("%s: %v", header, got)
		}
	}
}

func TestTransient(t *testing.T) {
	for status, want := range map[int]bool{
		429: true,
		408: true,
		425: true,
		500: true,
		503: true,
		501: false,
		400: false,
		401: false,
		307: false,
	} {
		if f := (&Failure{Status: status}); f.Transient() != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
	if f := (&Failure{Status: 429, said: "insufficient_quota"}); f.Transient() {
		t.Error("a used-up quota passes")
	}
}

// A refusal that a second try would not change says what to correct.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		status int
		source string
		says   string
	}{{401, "", "set it"}, {403, "$KEY", "$KEY"}, {307, "", "x.base_url"}, {404, "", "the model"}, {405, "", "x.base_url"}, {400, "", ""}, {503, "", ""}} {
		err := (&Client{Setting: "x.base_url", Key: Key{Source: c.source}}).Refusal(&Failure{Status: c.status}, "set it", "the model")
		if (err == nil) != (c.says == "") ||
			err != nil && (err.Code != loci.Invalid || !strings.Contains(err.Msg, c.says)) {
			t.Errorf("%d: %v", c.status, err)
		}
	}
}

// TestPostGivesTheSlotToOthers: while a service is asked, another request may run.
func TestPostGivesTheSlotToOthers(t *testing.T) {
	gate := admission.New(admission.Options{Slots: 1, Queue: 1, Wait: time.Minute, Aside: 1})
	running := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		running <- gate.Load().Running
	}))
	t.Cleanup(server.Close)
	pass, refused := gate.Enter(t.Context(), "", 0)
	if refused != nil {
		t.Fatalf("%+v", refused)
	}
	visit := &admission.Visit{}
	visit.Let(pass)
	c := client(t, server.URL, Key{})
	if _, _, err := c.Post(admission.With(t.Context(), visit), nil, 100, Bearer); err != nil {
		t.Fatal(err)
	}
	if during, after := <-running, gate.Load().Running; during != 0 || after != 1 {
		t.Errorf("%d ran during the call, %d after it", during, after)
	}
}
