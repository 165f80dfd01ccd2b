package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/graph"
	"github.com/loci-memory/loci/llm"
	"github.com/loci-memory/loci/tree"
)

// maxConfigBytes bounds a configuration file; real ones have a few lines.
const maxConfigBytes = 1 << 20

// A config is everything that can be configured, after flags, environment and
// file have been laid over the defaults.
type config struct {
	store  string
	tenant loci.Tenant
	vars   loci.Vars
	named  loci.Vars // by the layer that is read; choose makes vars of them
	scopes []loci.Scope

	defaultUser bool
	tools       []toolEntry

	embedding       embedding.Config
	keyEnv, keyFile string // where the key of the service is: the file counts if both are set

	vectorWeight, keywordWeight       float64
	neighbourShare                    float64
	chunkSize, chunkOverlap           int
	recallWeights                     loci.RecallWeights
	maturityWeights                   loci.MaturityWeights
	minConfidence                     float64
	contextQuotas                     loci.ContextQuotas
	tokenizer                         string
	maxContent, replyBytes, revisions int
	trees                             tree.Feature
	readTimeout, writeTimeout         time.Duration
	dedupe, redact                    bool
	idempotencyTTL, episodeTTL        time.Duration
	episodeCap                        int
	sessionMax                        int
	sessionTimeout                    time.Duration
	logLevel                          slog.Level

	graphFile string       // empty: the graph is in the configuration file, or there is none
	graph     *graph.Graph // nil: none

	llm                                                        llm.Config
	llmKeyEnv, llmKeyFile                                      string
	tokensPerRun, tokensPerDay, promptTokens, completionTokens int
	consolidateEvery                                           time.Duration
	listen                                                     string
	agents, hosts, origins                                     []string
	maxBody, maxValueBody, maxBlobBody, maxRequests            int
	httpTimeout, httpShutdown                                  time.Duration

	file   string            // that was read; empty: none
	origin map[string]string // by key of a setting: where its value was written; no entry: the default
}

// faults collects what is wrong with a configuration, so that all of it is told at once.
type faults []string

func (f *faults) add(where string, err error) {
	*f = append(*f, where+": "+strings.ReplaceAll(err.Error(), "\n", " "))
}

// err is nil when nothing is wrong.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &loci.Error{Code: loci.Invalid, Msg: "the configuration is not valid:\n  " + strings.Join(f, "\n  "),
		Recovery: "Correct what is named and run the command again."}
}

// An environ is the environment in the form of os.Environ.
type environ []string

// lookup returns a variable; of two with one name the last, as shells do.
func (e environ) lookup(name string) (value string, ok bool) {
	for _, line := range e {
		if rest, found := strings.CutPrefix(line, name+"="); found {
			value, ok = rest, true
		}
	}
	return value, ok
}

func (e environ) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

// loadConfig lays the file, the environment and the flags over the defaults, in
// this order. flags holds the flags that were given, by key of their setting.
// Every fault of every layer is reported, also of values that another layer overrides.
func loadConfig(env environ, file *string, flags map[string]string) (*config, error) {
	c := defaults()
	var bad faults
	c.readFile(env, file, &bad)
	c.choose()
	c.readEnv(env, &bad)
	c.choose()
	for i := range settings {
		s := &settings[i]
		if value, ok := flags[s.key]; ok {
			c.put(s, value, "--"+s.flag, &bad)
		}
	}
	c.choose()
	c.complete(env, &bad)
	if err := bad.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// defaults is the configuration without any file, variable or flag. The values
// come from the table, so that the reference cannot say anything else; settings
// whose default depends on the machine or on others are completed later.
func defaults() *config {
	c := &config{vars: loci.Vars{}, named: loci.Vars{}, origin: map[string]string{}}
	for i := range settings {
		s := &settings[i]
		if s.def == "" || slices.Contains([]string{"store", "user", "llm.base_url", "llm.key_env"}, s.key) {
			continue
		}
		if err := s.set(c, s.def); err != nil {
			panic(fmt.Sprintf("default of %s: %v", s.key, err))
		}
	}
	return c
}

// choose lays the identity that a layer names over that of the layers before. As with a
// request ([loci.Principal.With]) who is named takes nobody along whom another layer
// added: an organisation no user and agent, neither of them a conversation. An agent
// takes the user along here, though: whoever configures both says who acts for whom.
func (c *config) choose() {
	narrower := []string{}
	switch {
	case c.named[loci.VarOrg] != "":
		narrower = []string{loci.VarUser, loci.VarAgent, loci.VarThread, loci.VarSession}
	case c.named[loci.VarUser] != "":
		narrower = []string{loci.VarThread, loci.VarSession}
	}
	for _, name := range narrower {
		delete(c.vars, name)
	}
	maps.Copy(c.vars, c.named)
	clear(c.named)
}

// put sets a value and remembers where it was written.
func (c *config) put(s *setting, value, where string, bad *faults) {
	if err := s.set(c, value); err != nil {
		bad.add(where, err)
		return
	}
	c.origin[s.key] = where
}

func (c *config) readEnv(env environ, bad *faults) {
	known := []string{"CONFIG"}
	for i := range settings {
		s := &settings[i]
		known = append(known, strings.TrimPrefix(s.env(), envPrefix))
		if value, ok := env.lookup(s.env()); ok && (value != "" || s.emptyCounts()) {
			c.put(s, value, "$"+s.env(), bad)
		}
	}
	// A misspelt variable must not go unnoticed: LOCI_TENNANT would mean another
	// tenant. Names that are far from every known one belong to somebody else.
	for _, line := range env {
		name, value, _ := strings.Cut(line, "=")
		rest, ours := strings.CutPrefix(name, envPrefix)
		if value == "" || !ours || slices.Contains(known, rest) {
			continue
		}
		if near := nearest(rest, known); near != "" {
			bad.add("$"+name, fmt.Errorf("is not a setting: did you mean %s?", envPrefix+near))
		}
	}
}

// readFile reads the one file: that of --config, else of $LOCI_CONFIG, else the
// user's own if there is one. The working directory is not looked at: it may be
// somebody else's project, which must not choose whose memory is used.
func (c *config) readFile(env environ, file *string, bad *faults) {
	path, where := "", "--config"
	switch value := env.get("LOCI_CONFIG"); {
	case file != nil:
		path = *file
	case value != "":
		path, where = value, "$LOCI_CONFIG"
	default:
		where = ""
		path = filepath.Join(configDir(env), "loci", "loci.yaml")
	}
	if path == "" {
		bad.add(where, errors.New("must not be empty"))
		return
	}
	data, err := readLimited(path, maxConfigBytes)
	switch {
	case err == nil:
		c.file = path
		c.parseFile(path, data, bad)
	case where == "" && errors.Is(err, fs.ErrNotExist):
	case where == "":
		bad.add(path, err)
	default:
		bad.add(where, err)
	}
}

func readLimited(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", path, info.Size(), limit)
	}
	return os.ReadFile(path)
}

// complete fills in what depends on other settings, and checks what only holds
// between them.
func (c *config) complete(env environ, bad *faults) {
	if c.origin["store"] == "" {
		c.store = "sqlite:" + filepath.Join(dataDir(env), "loci", "loci.db")
	}
	if c.defaultUser && c.vars[loci.VarUser] == "" && c.vars[loci.VarOrg] == "" {
		c.vars[loci.VarUser] = "default"
	}
	vector, keyword := c.origin["retrieval.vector_weight"], c.origin["retrieval.keyword_weight"]
	switch {
	case vector != "" && keyword == "":
		c.keywordWeight = 1 - c.vectorWeight
	case vector == "" && keyword != "":
		c.vectorWeight = 1 - c.keywordWeight
	case math.Abs(c.vectorWeight+c.keywordWeight-1) > 1e-9:
		bad.add(keyword, fmt.Errorf("retrieval.vector_weight %v and retrieval.keyword_weight %v must sum to 1: leave one of them out",
			c.vectorWeight, c.keywordWeight))
	}
	switch overlap := c.origin["retrieval.chunk_overlap"]; {
	case overlap == "":
		c.chunkOverlap = min(c.chunkOverlap, c.chunkSize/4)
	case c.chunkOverlap >= c.chunkSize/2:
		bad.add(overlap, fmt.Errorf("retrieval.chunk_overlap %d must be less than half of retrieval.chunk_size %d", c.chunkOverlap, c.chunkSize))
	}
	w, q := c.recallWeights, c.contextQuotas
	c.checkShares(bad, []string{"recall.relevance", "recall.importance", "recall.recency", "recall.confidence"},
		w.Relevance+w.Importance+w.Recency+w.Confidence)
	c.checkShares(bad, []string{"context.facts", "context.rules", "context.episodes"}, q.Facts+q.Rules+q.Episodes)
	c.checkTools(bad)
	c.checkGraph(bad)
	c.checkLLM(bad)
}

// checkShares refuses settings that do not sum to 1, at the place of the last one.
func (c *config) checkShares(bad *faults, keys []string, sum float64) {
	if math.Abs(sum-1) <= 1e-9 {
		return
	}
	where := ""
	for _, key := range keys {
		where = cmp.Or(c.origin[key], where)
	}
	bad.add(where, fmt.Errorf("%s sum to %.6g; they must sum to 1: set all of them", strings.Join(keys, ", "), sum))
}

// dataDir is where a user's data lives; configDir, a user's configuration. Both
// follow the XDG variables where they are set to an absolute path, and what the
// platform does elsewhere.
func dataDir(env environ) string {
	home := homeDir(env)
	switch runtime.GOOS {
	case "windows":
		return userDir(env, "XDG_DATA_HOME", env.get("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local"))
	case "darwin", "ios":
		return userDir(env, "XDG_DATA_HOME", filepath.Join(home, "Library", "Application Support"))
	}
	return userDir(env, "XDG_DATA_HOME", filepath.Join(home, ".local", "share"))
}

func configDir(env environ) string {
	home := homeDir(env)
	switch runtime.GOOS {
	case "windows":
		return userDir(env, "XDG_CONFIG_HOME", env.get("APPDATA"), filepath.Join(home, "AppData", "Roaming"))
	case "darwin", "ios":
		return userDir(env, "XDG_CONFIG_HOME", filepath.Join(home, "Library", "Application Support"))
	}
	return userDir(env, "XDG_CONFIG_HOME", filepath.Join(home, ".config"))
}

func userDir(env environ, variable string, others ...string) string {
	for _, dir := range append([]string{env.get(variable)}, others...) {
		if filepath.IsAbs(dir) {
			return dir
		}
	}
	return others[len(others)-1]
}

func homeDir(env environ) string {
	if runtime.GOOS == "windows" {
		return env.get("USERPROFILE")
	}
	return env.get("HOME")
}

// setSessionTimeout takes a duration, or 0 for none.
func setSessionTimeout(field *time.Duration, v string) error {
	if d, err := time.ParseDuration(v); err == nil && d == 0 {
		*field = 0
		return nil
	}
	return setDuration(field, v, 10*366*24*time.Hour)
}

func setDuration(field *time.Duration, v string, most time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("%q must be a duration such as 15s, 10m or 24h", v)
	}
	if d < time.Millisecond || d > most {
		return fmt.Errorf("%q must be from 1ms to %s", v, most)
	}
	*field = d
	return nil
}
