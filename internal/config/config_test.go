package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/tool"
)

// load reads one file as the program would, for somebody with a home.
func load(t testing.TB, text string, env config.Environ, flags map[string]string) (*config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loci.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(append(config.Environ{"HOME=/home/me", `USERPROFILE=C:\me`}, env...), &path, flags)
}

// TestConfigValues: what flags, environment and file say becomes the value of the setting, by
// the documented order.
func TestConfigValues(t *testing.T) {
	tests := []struct {
		name, file string
		env        config.Environ
		flags      map[string]string
		get        func(*config.Config) any
		want       any
	}{
		{name: "default user", get: func(c *config.Config) any { return c.Vars[loci.VarUser] }, want: "default"},
		{name: "an organisation has no default user", file: "org: acme", get: func(c *config.Config) any { return c.Vars[loci.VarUser] }, want: ""},
		{name: "no default user", file: "default_user: false", get: identityOf, want: ""},
		{name: "a user and no default", file: "default_user: false\nuser: a", get: identityOf, want: "user_id=a"},
		{
			name: "a user of an organisation",
			file: "user: a\norg: acme\nagent: b",
			get:  identityOf,
			want: "agent_id=b org_id=acme user_id=a",
		},
		{
			name:  "an organisation nearer than the user",
			file:  "user: a\nagent: b\nthread: t\nsession: s",
			flags: map[string]string{"org": "acme"},
			get:   identityOf,
			want:  "org_id=acme",
		},
		{
			name:  "an organisation between",
			file:  "user: a\nthread: t",
			env:   config.Environ{"LOCI_ORG=acme"},
			flags: map[string]string{"agent": "b"},
			get:   identityOf,
			want:  "agent_id=b org_id=acme",
		},
		{
			name:  "an organisation and a user nearer",
			file:  "user: a\nagent: b",
			env:   config.Environ{"LOCI_ORG=acme"},
			flags: map[string]string{"user": "c"},
			get:   identityOf,
			want:  "org_id=acme user_id=c",
		},
		{
			name:  "a user nearer",
			file:  "org: acme\nagent: b\nthread: t\nuser: a",
			flags: map[string]string{"user": "c"},
			get:   identityOf,
			want:  "agent_id=b org_id=acme user_id=c",
		},
		{
			name:  "an agent acts for the user",
			file:  "user: a",
			flags: map[string]string{"agent": "b"},
			get:   identityOf,
			want:  "agent_id=b user_id=a",
		},
		{
			name:  "an agent acts for the default user",
			flags: map[string]string{"agent": "b"},
			get:   identityOf,
			want:  "agent_id=b user_id=default",
		},
		{
			name: "an empty variable is no store",
			file: "store: 'memory:'",
			env:  config.Environ{"LOCI_STORE="},
			get:  func(c *config.Config) any { return c.Store },
			want: "memory:",
		},
		{
			name: "the last of two variables",
			env:  config.Environ{"LOCI_USER=a", "LOCI_USER=b"},
			get:  func(c *config.Config) any { return c.Vars[loci.VarUser] },
			want: "b",
		},
		{
			name:  "flags win",
			file:  "user: a",
			env:   config.Environ{"LOCI_USER=b"},
			flags: map[string]string{"user": "c"},
			get:   func(c *config.Config) any { return c.Vars[loci.VarUser] },
			want:  "c",
		},
		{
			name: "names are kept byte for byte",
			file: `user: " Ünïcode:/% "`,
			get:  func(c *config.Config) any { return c.Vars[loci.VarUser] },
			want: " Ünïcode:/% ",
		},
		{
			name: "weights of recalling",
			file: "recall: {relevance: 0.7, importance: 0, recency: 0.2}\ncontext: {tokenizer: cl100k_base}",
			get:  func(c *config.Config) any { return c.Engine(nil).Recall.Weights },
			want: loci.RecallWeights{Relevance: 0.7, Recency: 0.2, Confidence: 0.1},
		},
		{
			name: "weights of a tool",
			file: "tools: [{tool: memory_recall, weights: {relevance: 0.5, recency: 0.5}}]",
			get:  func(c *config.Config) any { return *c.Tools(nil).Entries[0].Weights },
			want: loci.RecallWeights{Relevance: 0.5, Recency: 0.5},
		},
		{
			name: "keyword weight follows",
			file: "retrieval: {vector_weight: 1}",
			get:  func(c *config.Config) any { return c.Engine(nil).Search.VectorWeight },
			want: 1.0,
		},
		{
			name: "vector weight follows",
			file: "retrieval: {keyword_weight: 0.25}",
			get:  func(c *config.Config) any { return c.Engine(nil).Search.VectorWeight },
			want: 0.75,
		},
		{
			name: "overlap follows a small size",
			file: "retrieval: {chunk_size: 64}",
			get:  func(c *config.Config) any { return c.Engine(nil).Passages.Overlap },
			want: 16,
		},
		{
			name: "a zero is a zero and no default",
			file: "retrieval: {vector_weight: 0, neighbour_share: 0, chunk_overlap: 0}\nrecall: {min_confidence: 0}\nlimits: {revisions: 0}",
			get: func(c *config.Config) any {
				o := c.Engine(nil)
				return []float64{o.Search.VectorWeight, o.Search.NeighbourShare, float64(o.Passages.Overlap),
					o.Recall.MinConfidence, float64(o.Retention.Revisions)}
			},
			want: []float64{loci.None, loci.None, loci.None, loci.None, loci.None},
		},
		{
			name: "an empty prefix is none",
			file: "embedding: {document_prefix: ''}",
			env:  config.Environ{"LOCI_EMBEDDING_QUERY_PREFIX="},
			get:  func(c *config.Config) any { return c.Embedding.QueryPrefix + c.Embedding.DocumentPrefix },
			want: embedding.NoPrefix + embedding.NoPrefix,
		},
		{
			name: "durations",
			env:  config.Environ{"LOCI_TIMEOUTS_READ=1m"},
			get:  func(c *config.Config) any { return c.ReadTimeout },
			want: time.Minute,
		},
		{
			name: "lists in the environment",
			env:  config.Environ{"LOCI_SCOPES= read , admin,"},
			get:  func(c *config.Config) any { return c.Scopes },
			want: []loci.Scope{loci.ScopeRead, loci.ScopeAdmin},
		},
		{name: "an empty list", file: "scopes: []", get: func(c *config.Config) any { return c.Scopes }, want: []loci.Scope{}},
		{name: "tools as a flag", flags: map[string]string{"tools": "notes,facts"}, get: func(c *config.Config) any {
			return c.Tools(nil).Entries[1].Family
		}, want: "facts"},
		{name: "an empty file", file: "", get: func(c *config.Config) any {
			return !c.Engine(nil).Content.KeepDuplicates
		}, want: true},
		{name: "nothing but a null", file: "~", get: func(c *config.Config) any { return !c.Engine(nil).Content.KeepSecrets }, want: true},
		{name: "booleans", file: "redact: false", env: config.Environ{"LOCI_DEDUPE=0"}, get: func(c *config.Config) any {
			return !c.Engine(nil).Content.KeepSecrets || !c.Engine(nil).Content.KeepDuplicates
		}, want: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load(t, tt.file, tt.env, tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.get(c); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
		})
	}
}

// TestConfigFaults: every fault of a file is reported at once, each with its line and column.
func TestConfigFaults(t *testing.T) {
	tests := []struct{ file, want string }{
		{"user: [a]", `1:7: user must be a text, not a list`},
		{"user: 2026-01-01", `1:7: user must be a text, not the date 2026-01-01: put it in quotes`},
		{"user: yes", ""},
		{"user: true", `1:7: user must be a text, not the truth value true: put it in quotes, as in "true"`},
		{"user: !!binary aGk=", `1:7: user must be a text, not a value with the tag !!binary`},
		{"? [a]\n: b", `1:3: a name must be a text, not a list`},
		{"<<: {user: a}", `1:1: << is not a setting`},
		{`store: ""`, `1:8: store must not be empty`},
		{"store: ' '", `1:8: store: must not be empty`},
		{"embedder: openai", `1:11: embedder: embedder "openai" is not known; it is one of builtin, lexical, openai:MODEL`},
		{"retrieval:", `1:11: retrieval must be a mapping of names to values, not nothing`},
		{"retrieval: {vector_weight: .nan}", `1:28: retrieval.vector_weight: ".nan" must be a number from 0 to 1`},
		{"recall: {relevance: 0.5}", `1:21: recall.relevance, recall.importance, recall.recency, recall.confidence sum to 1.1; they must sum to 1`},
		{"context: {facts: 0.6, rules: 0.6}", `1:30: context.facts, context.rules, context.episodes sum to 1.4; they must sum to 1`},
		{"context: {tokenizer: o200k}", `1:22: context.tokenizer: "o200k" is not known: must be one of o200k_base, cl100k_base`},
		{"retrieval: {vector_weight: 2}", `must be a number from 0 to 1`},
		{"scopes: read", `1:9: scopes must be a list, not the text "read": write it as [one, two]`},
		{"scopes: [1]", `1:10: each element of scopes must be a text, not the number 1`},
		{"scopes: ['read,write']", `1:10: scopes: "read,write" is not known`},
		{"idempotency_ttl: 90000h", `must be from 1ms to`},
		{"log: {levle: info}", `1:7: log.levle is not a setting: did you mean level?`},
		{"levle: info", `1:1: levle is not a setting`},
		{"read: 5s", `1:1: read is not a setting: did you mean timeouts.read?`},
		{"tools: notes", `1:8: tools must be a list`},
		{"tools: [{tool: search_memry}]", `1:16: tools.tool: "search_memry" is not known: did you mean search_memory?`},
		{"tools: [{tool: search_memory, namespace: []}]", `1:9: tools: namespace must not be empty`},
		{"tools: [{tool: search_memory, namespace: user}]", `1:42: tools.namespace must be a list`},
		{"tools: [{tool: search_memory, name: a b}]", `1:9: tools: name "a b" must be`},
		{"tools: [{family: notes, family: facts}]", `1:25: family is set twice`},
		{strings.Repeat("a: {", 2000), `1:1: a is not a setting`},
		{"user: \"\x00\"", "not YAML"},
		{"\xff", "not YAML"},
	}
	for _, tt := range tests {
		t.Run(tt.file[:min(len(tt.file), 30)], func(t *testing.T) {
			_, err := load(t, tt.file, nil, nil)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "not YAML") {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if loci.AsError(err).Code != loci.Invalid {
				t.Errorf("code is %s", loci.AsError(err).Code)
			}
		})
	}
}

func TestConfigSizeIsLimited(t *testing.T) {
	_, err := load(t, strings.Repeat("#", config.MaxBytes+1), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Fatal(err)
	}
}

// TestLimitsOfDurations: a fault says the whole range of its own setting, as people write it.
func TestLimitsOfDurations(t *testing.T) {
	for text, want := range map[string]string{
		"idempotency_ttl: 90000h": `"90000h" must be from 1ms to 8784h`, "timeouts: {read: 0s}": `"0s" must be from 1ms to 10m`,
		"metrics: {every: 0s}": `"0s" must be from 1s to 1h`, "metrics: {every: 1ms}": `"1ms" must be from 1s to 1h`,
	} {
		if _, err := load(t, text, nil, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNestedListsTakeLittle: a value that is compared when the file is read again was quoted once for each list
// around it, and doubled each time.
func TestNestedListsTakeLittle(t *testing.T) {
	lists := strings.Repeat("[", 22) + strings.Repeat("]", 22)
	for _, text := range []string{"tools: " + lists, "graph: {x: " + lists + "}", "auth: {issuers: " + lists + "}"} {
		before, after := runtime.MemStats{}, runtime.MemStats{}
		runtime.ReadMemStats(&before)
		_, err := load(t, text, nil, nil)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 4<<20 {
			t.Errorf("%s: %d bytes, %v", text, took, err)
		}
	}
}

// TestWithoutAHome: the working directory is no place for a memory. It would be another one in
// each directory, and it may be somebody else's project, whose file must not be read.
func TestWithoutAHome(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, home := range []string{"", "HOME=", "HOME=.", "USERPROFILE=."} {
		for _, theirs := range []string{".config/loci", "AppData/Roaming/loci", "Library/Application Support/loci"} {
			if err := os.MkdirAll(theirs, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(theirs, "loci.yaml"), []byte("user: mallory\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env := config.Environ{"USERPROFILE=", home}
		_, err := config.Load(env, nil, nil)
		if e, ok := errors.AsType[*loci.Error](err); !ok || !strings.Contains(e.Msg, "no home directory is set") || !strings.Contains(e.Msg, "--store") {
			t.Errorf("%q: %v", home, err)
		}
		c, err := config.Load(env, nil, map[string]string{"store": "memory:"})
		if err != nil {
			t.Fatalf("%q, with a store: %v", home, err)
		}
		if c.File != "" || c.Vars[loci.VarUser] != "default" || c.Auth.TokenFile != "" {
			t.Errorf("%q: the file %q, the user %q, the token in %q", home, c.File, c.Vars[loci.VarUser], c.Auth.TokenFile)
		}
		if c, err = config.Load(append(env, "XDG_DATA_HOME="+dir), nil, nil); err != nil || !strings.HasPrefix(c.Store, "sqlite:"+dir) {
			t.Errorf("%q, with XDG_DATA_HOME: %v", home, err)
		}
		if state := config.StateDir(env); state != "" {
			t.Errorf("%q: what may be forgotten lies in %q", home, state)
		}
	}
}

// TestDefaultsAreDocumented: what the table says is what an empty configuration gives.
func TestDefaultsAreDocumented(t *testing.T) {
	c, err := config.Load(config.Environ{"HOME=/home/me"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Engine(nil)
	if c.StoreOptions.IndexCache != "" { // the store knows where the user's cache is
		t.Errorf("copies of the index lie in %q", c.StoreOptions.IndexCache)
	}
	if c.Tenant.String() != "default" || c.Embedding.Spec != "builtin" || o.Search.VectorWeight != loci.DefaultVectorWeight ||
		o.Passages.Size != loci.DefaultChunkSize || o.Passages.Overlap != loci.DefaultChunkOverlap ||
		o.Content.MaxBytes != loci.DefaultMaxContent ||
		o.Retention.Revisions != loci.DefaultRevisions || o.Retention.IdempotencyTTL != loci.DefaultIdempotencyTTL ||
		o.Retention.EpisodeTTL != loci.DefaultEpisodeTTL || o.Retention.EpisodeCap != loci.DefaultEpisodeCap {
		t.Errorf("defaults differ from those of the library: %+v", o)
	}
	if !filepath.IsAbs(strings.TrimPrefix(c.Store, "sqlite:")) {
		t.Errorf("store is %s", c.Store)
	}
}

// TestReference: the reference names every setting, and its example is valid.
func TestReference(t *testing.T) {
	var b strings.Builder
	if err := config.WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings() {
		if !strings.Contains(b.String(), "| `"+s.Key+"` | `"+s.Env()+"` |") {
			t.Errorf("%s is missing", s.Key)
		}
	}
	written, err := os.ReadFile("../../docs/configuration.md")
	if err != nil || string(written) != b.String() {
		t.Errorf("docs/configuration.md is out of date: run go generate ./cmd/loci (%v)", err)
	}
	_, rest, _ := strings.Cut(b.String(), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if _, err := load(t, example, nil, nil); !ok || err != nil {
		t.Errorf("the example: %v", err)
	}
}

// identityOf shows whose memory a configuration means.
func identityOf(c *config.Config) any {
	shown := []string{}
	for _, name := range c.Vars.Names() {
		shown = append(shown, name+"="+c.Vars[name])
	}
	return strings.Join(shown, " ")
}

// TestEmptyIdentityIsRefused in every layer, for each part of it: it must not end in
// the memory of somebody else.
func TestEmptyIdentityIsRefused(t *testing.T) {
	for _, key := range []string{"tenant", "user", "org", "agent", "thread", "session"} {
		file := filepath.Join(t.TempDir(), "loci.yaml")
		if err := os.WriteFile(file, []byte(key+`: ""`), 0o600); err != nil {
			t.Fatal(err)
		}
		variable := "LOCI_" + strings.ToUpper(key)
		for where, load := range map[string]func() (*config.Config, error){
			file + ":1": func() (*config.Config, error) { return config.Load(config.Environ{"HOME=" + t.TempDir()}, &file, nil) },
			"$" + variable: func() (*config.Config, error) {
				return config.Load(config.Environ{variable + "=", "HOME=" + t.TempDir()}, nil, nil)
			},
			"--" + key: func() (*config.Config, error) {
				return config.Load(config.Environ{"HOME=" + t.TempDir()}, nil, map[string]string{key: ""})
			},
		} {
			if c, err := load(); err == nil || !strings.Contains(err.Error(), where) ||
				!strings.Contains(err.Error(), "must not be empty") {
				t.Errorf("%s empty: %v, %v", where, c, err)
			}
		}
	}
}

// More tools than anybody has a use for are refused before the first of them is made.
func TestToolsAreBounded(t *testing.T) {
	for n, want := range map[int]string{
		tool.MaxEntries:     "two tools are named",
		tool.MaxEntries + 1: "loci.yaml:1:8: tools has 257 entries; the limit is 256: leave some out",
	} {
		text := "tools: [" + strings.Repeat("notes, ", n-1) + "notes]"
		_, err := load(t, text, nil, nil)
		looked := n > tool.MaxEntries && strings.Contains(fmt.Sprint(err), "named")
		if err == nil || !strings.Contains(err.Error(), want) || looked {
			t.Errorf("%d: %.300v", n, err)
		}
	}
}

// A file may hold a hundred thousand faults: some of them are told, and how many more there are.
func TestFaultsAreFew(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "k%d: 1\n", i)
	}
	_, err := load(t, text.String(), nil, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "\n  and 4950 more") || strings.Count(err.Error(), "\n") != 51 {
		t.Errorf("%d bytes are told: %.200v", len(fmt.Sprint(err)), err)
	}
}

// The names of tools are found once: 256 entries took a second of processor time.
func TestNamesOfToolsAreFoundOnce(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { config.ToolNames() }); n > 5 {
		t.Errorf("%.0f allocations", n)
	}
}
