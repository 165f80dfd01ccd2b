package tool

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

func TestConnector(t *testing.T) {
	engine := newEngine(t, loci.Options{})
	set := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyFiles, Memory: "m"}}})
	u := user(t, "u-1")
	ok(t, set, "memory", u, `{"command":"append","path":"/a","content":"of all threads"}`)
	for _, c := range []struct {
		cfg    ConnectorConfig
		caller Caller
		want   string
		code   loci.Code
	}{
		{ConnectorConfig{Memory: "m", Content: tree.ContentFull}, u, "Memory\n/a: \"of all threads\"", ""},
		{ConnectorConfig{Memory: "m", Scope: ScopePerThread}, u, "Memory\n/\n[F] a", ""},
		{ConnectorConfig{Memory: "other"}, u, "", ""},
		{ConnectorConfig{Memory: "m"}, user(t, "u-2"), "", ""},
		{ConnectorConfig{Memory: "m"}, user(t, "u-1", loci.ScopeWrite), "", loci.Forbidden},
		{ConnectorConfig{Unwired: true}, u, "", loci.NotFound},
	} {
		k, err := NewConnector(engine, c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		text, err := k.Text(t.Context(), c.caller)
		messages, injectErr := k.Inject(t.Context(), c.caller, nil)
		for _, err := range []error{err, injectErr} {
			if c.code == "" && err != nil || c.code != "" && (err == nil || loci.AsError(err).Code != c.code) {
				t.Errorf("%+v: %v, want %q", c.cfg, err, c.code)
			}
		}
		if text != c.want || (len(messages) == 1) != (c.want != "") {
			t.Errorf("%+v: %q and %d messages, want %q", c.cfg, text, len(messages), c.want)
		}
	}
	for _, cfg := range []ConnectorConfig{{Scope: "thread"}, {Placement: "first"}, {Content: "all"}, {MaxChars: 20_001}} {
		if _, err := NewConnector(engine, cfg); err == nil || loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
