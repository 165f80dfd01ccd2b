package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/token"
	"github.com/loci-memory/loci/llm"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/tool"
)

// A form is how the value of a setting is written.
type form string

const (
	textForm     form = "text"
	integerForm  form = "integer"
	numberForm   form = "number"
	booleanForm  form = "true or false"
	durationForm form = "duration"
	listForm     form = "list"
)

// A setting is one thing that can be configured. The table below is the only
// place that knows them all: the file, the environment, the flags, their help and
// the generated reference follow from it.
type setting struct {
	key    string // in the file, with periods
	flag   string // without dashes; empty: there is no flag
	form   form
	def    string   // the default, as the reference shows it
	values []string // what it can be, if that is a short list
	help   string
	set    func(c *config, text string) error // of a list: elements joined by commas
}

// envPrefix begins the names of our environment variables.
const envPrefix = "LOCI_"

// env is the environment variable of a setting.
func (s *setting) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// emptyCounts says that an empty environment variable counts: as a fault for the
// identity, where it must not end in another memory, and as no prefix for prefixes. That
// of any other setting counts as not set.
func (s *setting) emptyCounts() bool {
	return slices.Contains([]string{"tenant", "user", "org", "agent", "thread", "session", "embedding.query_prefix", "embedding.document_prefix"}, s.key)
}

var settings = []setting{
	{key: "store", flag: "store", form: textForm, def: "sqlite:<data directory>/loci/loci.db",
		help: "Where memories are kept, such as sqlite:/path/to/loci.db, or memory: (in YAML with quotes) to forget everything at exit.",
		set:  func(c *config, v string) error { c.store = v; return notEmpty(v) }},
	{key: "tenant", flag: "tenant", form: textForm, def: "default",
		help: "The tenant: the hard wall between memories.",
		set:  func(c *config, v string) (err error) { c.tenant, err = loci.NewTenant(v); return err }},
	{key: "user", flag: "user", form: textForm, def: "default, unless org is set",
		help: "The user whose memory it is.",
		set:  setVar(loci.VarUser)},
	{key: "default_user", form: booleanForm, def: "true",
		help: "Whether it is the user default where neither user nor org is set; false: nobody, so that each request must say whose memory it means.",
		set:  func(c *config, v string) error { return setBool(&c.defaultUser, v) }},
	{key: "org", flag: "org", form: textForm,
		help: "The organisation, for memory that belongs to no single user. Where it is named, a user that is configured farther off counts no more.",
		set:  setVar(loci.VarOrg)},
	{key: "agent", flag: "agent", form: textForm,
		help: "The agent that acts.",
		set:  setVar(loci.VarAgent)},
	{key: "thread", flag: "thread", form: textForm,
		help: "The thread of conversation.",
		set:  setVar(loci.VarThread)},
	{key: "session", flag: "session", form: textForm,
		help: "The session of conversation.",
		set:  setVar(loci.VarSession)},
	{key: "scopes", form: listForm, def: "read, write, delete", values: scopeNames(),
		help: "What may be done: read, write, delete; admin to operate on a whole tenant.",
		set:  setScopes},
	{key: "embedder", flag: "embedder", form: textForm, def: "builtin", values: embedding.Specs,
		help: "What turns texts into vectors: builtin knows meaning and needs nothing, lexical knows spelling only; local is a sentence transformer in a directory; openai and ollama are services; none searches by keyword only.",
		set:  setEmbedder},
	{key: "embedding.dimensions", form: integerForm, def: "0",
		help: "Dimensions to ask a service for, up to 4096, if its model has a choice; 0: the model's own.",
		set:  func(c *config, v string) error { return setInt(&c.embedding.Dimensions, v, 0, loci.MaxDims) }},
	{key: "embedding.query_prefix", form: textForm, def: "",
		help: "What is put in front of a query before it is embedded. Not set: what the model is known to want.",
		set:  func(c *config, v string) error { c.embedding.QueryPrefix = &v; return nil }},
	{key: "embedding.document_prefix", form: textForm, def: "",
		help: "What is put in front of a memory before it is embedded. Not set: what the model is known to want. Another prefix is another space.",
		set:  func(c *config, v string) error { c.embedding.DocumentPrefix = &v; return nil }},
	{key: "embedding.timeout", form: durationForm, def: "1m",
		help: "How long a call of a service may take with all its repetitions. A write or a search waits 5 seconds at most.",
		set:  func(c *config, v string) error { return setDuration(&c.embedding.Timeout, v, time.Hour) }},
	{key: "embedding.requests_per_minute", form: integerForm, def: "0",
		help: "Requests a minute that a service gets from one process at most; 0: no limit.",
		set:  func(c *config, v string) error { return setInt(&c.embedding.RequestsPerMinute, v, 0, 1_000_000) }},
	{key: "openai.base_url", form: textForm, def: embedding.DefaultOpenAIURL,
		help: "Where a service with OpenAI's interface is; requests go to /embeddings below it.",
		set:  func(c *config, v string) error { c.embedding.OpenAIURL = v; return notEmpty(v) }},
	{key: "openai.key_env", form: textForm, def: "OPENAI_API_KEY",
		help: "The name of the environment variable that holds the key.",
		set:  func(c *config, v string) error { return setVariableName(&c.keyEnv, v) }},
	{key: "openai.key_file", form: textForm,
		help: "A file that holds the key, in place of the variable.",
		set:  func(c *config, v string) error { c.keyFile = v; return notEmpty(v) }},
	{key: "ollama.base_url", form: textForm, def: embedding.DefaultOllamaURL,
		help: "Where Ollama is.",
		set:  func(c *config, v string) error { c.embedding.OllamaURL = v; return notEmpty(v) }},
	{key: "tools", flag: "tools", form: listForm, def: tool.FamilyNotes, values: familyNames(),
		help: "The families of tools that agents get.",
		set:  setTools},
	{key: "graph", flag: "graph", form: textForm,
		help: "A file with a node graph, as JSON or YAML, that says which agent has which memory; in the configuration file also the graph itself.",
		set:  setGraph},
	{key: "listen", flag: "listen", form: textForm, def: "127.0.0.1:7437",
		help: "The address of loci serve: one of this machine alone, with a port; 0 for any port that is free.",
		set:  func(c *config, v string) error { c.listen = v; return server.CheckAddress(v) }},
	{key: "agents", form: listForm,
		help: "The agents that loci serve has an address for, at /mcp/{agent}. None: the one of agent.",
		set:  setAgents},
	{key: "http.allowed_hosts", form: listForm,
		help: "Names besides localhost by which clients may call loci serve, such as behind a proxy, without a port.",
		set:  func(c *config, v string) error { return setEach(&c.hosts, v, checkHost) }},
	{key: "http.allowed_origins", form: listForm,
		help: "Web pages of other origins that browsers may call loci serve from, such as https://app.example.com.",
		set:  func(c *config, v string) error { return setEach(&c.origins, v, server.CheckOrigin) }},
	{key: "http.max_body", form: integerForm, def: "1048576",
		help: "Bytes of a request to loci serve, 1 KiB to 64 MiB.",
		set:  func(c *config, v string) error { return setInt(&c.maxBody, v, 1<<10, 64<<20) }},
	{key: "http.max_value_body", form: integerForm, def: "4194304",
		help: "Bytes of a request that brings a value to store, such as an item or messages, and of a message of MCP; 1 KiB to 64 MiB.",
		set:  func(c *config, v string) error { return setInt(&c.maxValueBody, v, 1<<10, 64<<20) }},
	{key: "http.max_blob_body", form: integerForm, def: "33554432",
		help: "Bytes of a request that brings a checkpoint to store, whose values are in base64, or the document of a session; 1 KiB to 256 MiB.",
		set:  func(c *config, v string) error { return setInt(&c.maxBlobBody, v, 1<<10, 256<<20) }},
	{key: "http.max_requests", form: integerForm, def: "256",
		help: "Requests to loci serve that run at once; one more is told to come back later.",
		set:  func(c *config, v string) error { return setInt(&c.maxRequests, v, 1, 100_000) }},
	{key: "http.timeout", form: durationForm, def: "1m",
		help: "How long a request to loci serve may take. That of a tool has its own limit too.",
		set:  func(c *config, v string) error { return setDuration(&c.httpTimeout, v, time.Hour) }},
	{key: "http.shutdown", form: durationForm, def: "15s",
		help: "How long loci serve waits for running requests when it is to end.",
		set:  func(c *config, v string) error { return setDuration(&c.httpShutdown, v, time.Hour) }},
	{key: "retrieval.vector_weight", form: numberForm, def: "0.5",
		help: "The weight of similarity in a score, 0 to 1.",
		set:  func(c *config, v string) error { return setNumber(&c.vectorWeight, v, 0, 1) }},
	{key: "retrieval.keyword_weight", form: numberForm, def: "0.5",
		help: "The weight of words in a score. Both weights sum to 1; one follows from the other.",
		set:  func(c *config, v string) error { return setNumber(&c.keywordWeight, v, 0, 1) }},
	{key: "retrieval.neighbour_share", form: numberForm, def: "0.2",
		help: "The share of the score of what comes before a match in its conversation that a hybrid search adds, 0 to 1.",
		set:  func(c *config, v string) error { return setNumber(&c.neighbourShare, v, 0, 1) }},
	{key: "retrieval.chunk_size", form: integerForm, def: "640",
		help: "Characters in a passage, 64 to 8192.",
		set:  func(c *config, v string) error { return setInt(&c.chunkSize, v, 64, 8192) }},
	{key: "retrieval.chunk_overlap", form: integerForm, def: "96",
		help: "Characters that neighbouring passages share; less than half of chunk_size.",
		set:  func(c *config, v string) error { return setInt(&c.chunkOverlap, v, 0, 4095) }},
	{key: "recall.relevance", form: numberForm, def: "0.4",
		help: "The weight of relevance in the score of a recalled memory. The four weights sum to 1.",
		set:  func(c *config, v string) error { return setNumber(&c.recallWeights.Relevance, v, 0, 1) }},
	{key: "recall.importance", form: numberForm, def: "0.3",
		help: "The weight of importance.",
		set:  func(c *config, v string) error { return setNumber(&c.recallWeights.Importance, v, 0, 1) }},
	{key: "recall.recency", form: numberForm, def: "0.2",
		help: "The weight of how recently it was used.",
		set:  func(c *config, v string) error { return setNumber(&c.recallWeights.Recency, v, 0, 1) }},
	{key: "recall.confidence", form: numberForm, def: "0.1",
		help: "The weight of effective confidence.",
		set:  func(c *config, v string) error { return setNumber(&c.recallWeights.Confidence, v, 0, 1) }},
	{key: "recall.min_confidence", form: numberForm, def: "0.2",
		help: "The least effective confidence of what is recalled, 0 to 1.",
		set:  func(c *config, v string) error { return setNumber(&c.minConfidence, v, 0, 1) }},
	{key: "recall.proven", form: numberForm, def: "1",
		help: "What the relevance of a proven rule is multiplied by, 0 to 1.",
		set:  func(c *config, v string) error { return setNumber(&c.maturityWeights.Proven, v, 0, 1) }},
	{key: "recall.established", form: numberForm, def: "0.9",
		help: "The same of an established rule.",
		set:  func(c *config, v string) error { return setNumber(&c.maturityWeights.Established, v, 0, 1) }},
	{key: "recall.candidate", form: numberForm, def: "0.8",
		help: "The same of a candidate.",
		set:  func(c *config, v string) error { return setNumber(&c.maturityWeights.Candidate, v, 0, 1) }},
	{key: "context.facts", form: numberForm, def: "0.5",
		help: "The share of facts in the tokens of a context. The three shares sum to 1.",
		set:  func(c *config, v string) error { return setNumber(&c.contextQuotas.Facts, v, 0, 1) }},
	{key: "context.rules", form: numberForm, def: "0.3",
		help: "The share of rules.",
		set:  func(c *config, v string) error { return setNumber(&c.contextQuotas.Rules, v, 0, 1) }},
	{key: "context.episodes", form: numberForm, def: "0.2",
		help: "The share of episodes.",
		set:  func(c *config, v string) error { return setNumber(&c.contextQuotas.Episodes, v, 0, 1) }},
	{key: "context.tokenizer", form: textForm, def: token.Names[0], values: token.Names,
		help: "What counts the tokens of a context: the vocabulary of the model that reads it.",
		set:  func(c *config, v string) (err error) { c.tokenizer, err = oneOf(v, token.Names...); return err }},
	{key: "sessions.max_messages", form: integerForm, def: "0",
		help: "Messages a conversation keeps unless it says otherwise: the newest, and all system messages; 0: all.",
		set:  func(c *config, v string) error { return setInt(&c.sessionMax, v, 0, 1_000_000) }},
	{key: "sessions.timeout", form: durationForm, def: "0s",
		help: "After how much inactivity a conversation is expired, which takes it out of the list until its next message; 0s: never.",
		set:  func(c *config, v string) error { return setSessionTimeout(&c.sessionTimeout, v) }},
	{key: "limits.max_content", form: integerForm, def: "262144",
		help: "Bytes of one memory's text.",
		set:  func(c *config, v string) error { return setInt(&c.maxContent, v, 1, 8<<20) }},
	{key: "limits.reply_bytes", form: integerForm, def: "16384",
		help: "Bytes of a tool's reply; results that do not fit are left out whole.",
		set:  func(c *config, v string) error { return setInt(&c.replyBytes, v, 256, 1<<20) }},
	{key: "limits.revisions", form: integerForm, def: "10",
		help: "Earlier states kept of each memory, 0 to 1000.",
		set:  func(c *config, v string) error { return setInt(&c.revisions, v, 0, 1000) }},
	{key: "limits.episode_ttl", form: durationForm, def: "168h",
		help: "How long an episode lives.",
		set:  func(c *config, v string) error { return setDuration(&c.episodeTTL, v, 10*366*24*time.Hour) }},
	{key: "limits.episode_cap", form: integerForm, def: "10000",
		help: "Episodes of one agent, beyond which upkeep erases the oldest consolidated ones.",
		set:  func(c *config, v string) error { return setInt(&c.episodeCap, v, 1, 10_000_000) }},
	{key: "files.max_bytes", form: integerForm, def: "1048576",
		help: "Bytes of one file in a tree.",
		set:  func(c *config, v string) error { return setInt(&c.trees.MaxFileBytes, v, 1, 64<<20) }},
	{key: "files.max_tree_bytes", form: integerForm, def: "1073741824",
		help: "Bytes of all files of a tree, without their earlier versions.",
		set:  func(c *config, v string) error { return setInt64(&c.trees.MaxTreeBytes, v, 1, 1<<50) }},
	{key: "files.max_entries", form: integerForm, def: "250000",
		help: "Files and directories of a tree.",
		set:  func(c *config, v string) error { return setInt64(&c.trees.MaxEntries, v, 1, 1<<40) }},
	{key: "files.max_dir_entries", form: integerForm, def: "100000",
		help: "Files and directories that are immediately in one directory.",
		set:  func(c *config, v string) error { return setInt64(&c.trees.MaxDirEntries, v, 1, 1<<40) }},
	{key: "timeouts.read", form: durationForm, def: "15s",
		help: "How long a tool that reads may take.",
		set:  func(c *config, v string) error { return setDuration(&c.readTimeout, v, 10*time.Minute) }},
	{key: "timeouts.write", form: durationForm, def: "10s",
		help: "How long a tool that writes may take.",
		set:  func(c *config, v string) error { return setDuration(&c.writeTimeout, v, 10*time.Minute) }},
	{key: "llm.provider", form: textForm, def: noLLM, values: []string{noLLM, llm.OpenAI, llm.Anthropic},
		help: "The language model that consolidates episodes: openai is any service with chat completions, none does without.",
		set: func(c *config, v string) (err error) {
			c.llm.Provider, err = oneOf(v, noLLM, llm.OpenAI, llm.Anthropic)
			return err
		}},
	{key: "llm.model", form: textForm,
		help: "The name of the model; required with a provider.",
		set:  func(c *config, v string) error { c.llm.Model = v; return notEmpty(v) }},
	{key: "llm.base_url", form: textForm, def: "that of the provider",
		help: "Where the service is; requests go to /chat/completions or /messages below it.",
		set:  func(c *config, v string) error { c.llm.BaseURL = v; return notEmpty(v) }},
	{key: "llm.key_env", form: textForm, def: "OPENAI_API_KEY or ANTHROPIC_API_KEY",
		help: "The name of the environment variable that holds the key.",
		set:  func(c *config, v string) error { c.llmKeyEnv = v; return notEmpty(v) }},
	{key: "llm.key_file", form: textForm,
		help: "A file that holds the key, in place of the variable.",
		set:  func(c *config, v string) error { c.llmKeyFile = v; return notEmpty(v) }},
	{key: "llm.timeout", form: durationForm, def: "2m",
		help: "How long one call may take, with its repetitions.",
		set:  func(c *config, v string) error { return setDuration(&c.llm.Timeout, v, 4*time.Minute) }},
	{key: "llm.max_tokens_per_run", form: integerForm, def: "100000",
		help: "Tokens that one consolidation may take, prompts and answers together.",
		set:  func(c *config, v string) error { return setInt(&c.tokensPerRun, v, 5000, 1_000_000_000) }},
	{key: "llm.max_tokens_per_day", form: integerForm, def: "400000",
		help: "Tokens that all consolidations and summaries of a tenant may take on a day (UTC).",
		set:  func(c *config, v string) error { return setInt(&c.tokensPerDay, v, 5000, 1_000_000_000) }},
	{key: "llm.prompt_tokens", form: integerForm, def: "24000",
		help: "Tokens of one prompt, as estimated.",
		set:  func(c *config, v string) error { return setInt(&c.promptTokens, v, 4000, 1_000_000) }},
	{key: "llm.completion_tokens", form: integerForm, def: "4096",
		help: "Tokens of one answer.",
		set:  func(c *config, v string) error { return setInt(&c.completionTokens, v, 256, 100_000) }},
	{key: "llm.consolidate_every", form: durationForm, def: "6h",
		help: "How often a running server consolidates, if there is a provider.",
		set:  func(c *config, v string) error { return setDuration(&c.consolidateEvery, v, 31*24*time.Hour) }},
	{key: "dedupe", form: booleanForm, def: "true",
		help: "Answer a note that is there already with the old one instead of storing it again.",
		set:  func(c *config, v string) error { return setBool(&c.dedupe, v) }},
	{key: "redact", form: booleanForm, def: "true",
		help: "Store [REDACTED] in place of known formats of credentials.",
		set:  func(c *config, v string) error { return setBool(&c.redact, v) }},
	{key: "idempotency_ttl", form: durationForm, def: "24h",
		help: "How long the reply to a write with an idempotency key is remembered.",
		set:  func(c *config, v string) error { return setDuration(&c.idempotencyTTL, v, 366*24*time.Hour) }},
	{key: "log.level", flag: "log-level", form: textForm, def: "warn", values: []string{"debug", "info", "warn", "error"},
		help: "The least important messages that are logged, to standard error.",
		set:  setLogLevel},
}

// findSetting returns the setting of a key, or nil.
func findSetting(key string) *setting {
	for i := range settings {
		if settings[i].key == key {
			return &settings[i]
		}
	}
	return nil
}

func notEmpty(v string) error {
	if strings.TrimSpace(v) == "" {
		return fmt.Errorf("must not be empty")
	}
	return nil
}

func setEmbedder(c *config, v string) error {
	c.embedding.Spec = v
	err := embedding.CheckSpec(v)
	if err == nil {
		return nil
	}
	kind, _, _ := strings.Cut(v, ":")
	kinds := make([]string, len(embedding.Specs))
	for i, spec := range embedding.Specs {
		kinds[i], _, _ = strings.Cut(spec, ":")
	}
	if near := slices.Index(kinds, nearest(kind, kinds)); near >= 0 && kinds[near] != kind {
		return fmt.Errorf("%q is not known: did you mean %s?", v, embedding.Specs[near])
	}
	return err
}

// setVariableName takes the name of an environment variable. What looks like a key
// itself is refused without being shown.
func setVariableName(field *string, v string) error {
	for i, r := range v {
		if r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9' || i == 0) {
			return errors.New("must be the name of a variable, of capital letters, digits and _; the key itself does not belong here")
		}
	}
	*field = v
	return notEmpty(v)
}

func setVar(name string) func(*config, string) error {
	return func(c *config, v string) error {
		if v == "" {
			return errors.New("must not be empty: leave it out, or say who is meant")
		}
		// A label of a namespace; its limits are those of every variable.
		if err := (loci.Namespace{v}).Validate(); err != nil {
			return err
		}
		c.named[name] = v
		return nil
	}
}

// setAgents takes the names of agents, which become a part of a path.
func setAgents(c *config, v string) error {
	return setEach(&c.agents, v, func(name string) error {
		if strings.Trim(name, ".") == "" {
			return fmt.Errorf("%q cannot stand in an address", name)
		}
		return (loci.Namespace{name}).Validate()
	})
}

func checkHost(name string) error {
	_, err := server.CheckHost(name)
	return err
}

// setEach takes a list whose elements check accepts.
func setEach(field *[]string, v string, check func(string) error) error {
	list := []string{}
	for _, e := range splitList(v) {
		if err := check(e); err != nil {
			return err
		}
		list = append(list, e)
	}
	*field = list
	return nil
}

func scopeNames() (names []string) {
	for _, s := range loci.Scopes {
		names = append(names, string(s))
	}
	return names
}

func setScopes(c *config, v string) error {
	scopes := []loci.Scope{}
	for _, name := range splitList(v) {
		s, err := loci.ParseScope(name)
		if err != nil {
			return badValue(name, scopeNames()...)
		}
		scopes = append(scopes, s)
	}
	c.scopes = scopes
	return nil
}

func setTools(c *config, v string) error {
	tools := []toolEntry{}
	for _, name := range splitList(v) {
		family, err := oneOf(name, familyNames()...)
		if err != nil {
			return err
		}
		tools = append(tools, toolEntry{Instance: tool.Instance{Family: family}})
	}
	c.tools = tools
	return nil
}

func setLogLevel(c *config, v string) error {
	name, err := oneOf(v, "debug", "info", "warn", "error")
	if err != nil {
		return err
	}
	return c.logLevel.UnmarshalText([]byte(name))
}

// splitList takes a comma-separated list apart; empty elements are passed over.
func splitList(v string) (elements []string) {
	for e := range strings.SplitSeq(v, ",") {
		if e = strings.TrimSpace(e); e != "" {
			elements = append(elements, e)
		}
	}
	return elements
}

func oneOf(v string, allowed ...string) (string, error) {
	if slices.Contains(allowed, v) {
		return v, nil
	}
	return "", badValue(v, allowed...)
}

// badValue says what a value can be, and what was probably meant.
func badValue(v string, allowed ...string) error {
	if near := nearest(v, allowed); near != "" {
		return fmt.Errorf("%q is not known: did you mean %s?", v, near)
	}
	return fmt.Errorf("%q is not known: must be one of %s", v, strings.Join(allowed, ", "))
}

func setNumber(field *float64, v string, least, most float64) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || n < least || n > most {
		return fmt.Errorf("%q must be a number from %v to %v", v, least, most)
	}
	*field = n
	return nil
}

func setInt(field *int, v string, least, most int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%q must be a whole number from %d to %d", v, least, most)
	}
	*field = n
	return nil
}

func setInt64(field *int64, v string, least, most int64) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%q must be a whole number from %d to %d", v, least, most)
	}
	*field = n
	return nil
}

func setBool(field *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "1":
		*field = true
	case "false", "0":
		*field = false
	default:
		return fmt.Errorf("%q must be true or false", v)
	}
	return nil
}
