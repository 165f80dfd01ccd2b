package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/remote"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/internal/token"
	"github.com/loci-memory/loci/llm"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
)

// A Form is how the value of a setting is written.
type Form string

// The forms.
const (
	Text     Form = "text"
	Integer  Form = "integer"
	Number   Form = "number"
	Boolean  Form = "true or false"
	Duration Form = "duration"
	List     Form = "list"
)

// A Setting is one thing that can be configured. The table below is the only
// place that knows them all: the file, the environment, the flags, their help and
// the generated reference follow from it.
type Setting struct {
	Key     string // in the file, with periods
	Flag    string // without dashes; empty: there is no flag
	Form    Form
	Default string   // as the reference shows it
	Values  []string // what it can be, if that is a short list
	Help    string
	set     func(c *Config, text string) error // of a list: elements joined by commas
}

// EnvPrefix begins the names of our environment variables.
const EnvPrefix = "LOCI_"

// Env is the environment variable of a setting.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// emptyCounts says that an empty environment variable counts: as a fault for the
// identity, where it must not end in another memory, and as no prefix for prefixes. That
// of any other setting counts as not set.
func (s *Setting) emptyCounts() bool {
	return slices.Contains([]string{"tenant", "user", "org", "agent", "thread", "session",
		"embedding.query_prefix", "embedding.document_prefix"}, s.Key)
}

// Settings returns all settings, in the order of the reference.
func Settings() []Setting { return slices.Clone(settings) }

var settings = []Setting{
	{Key: "store", Flag: "store", Form: Text, Default: "sqlite:<data directory>/loci/loci.db",
		Help: "Where memories are kept, such as sqlite:/path/to/loci.db, a PostgreSQL database as postgres://user:password@host/database, a MongoDB database as mongodb://user:password@host/database, or memory: (in YAML with quotes) to forget everything at exit.",
		set:  func(c *Config, v string) error { c.Store = v; return notEmpty(v) }},
	{Key: "store.max_open", Form: Integer, Default: strconv.Itoa(store.DefaultMaxOpen),
		Help: "Files of tenants that are open at once, 1 to 100,000; each takes a few file descriptors. In the file as one word: store.max_open.",
		set:  func(c *Config, v string) error { return setInt(&c.StoreOptions.MaxOpen, v, 1, 100_000) }},
	{Key: "index.memory", Form: Integer, Default: strconv.Itoa(store.DefaultIndexMemory),
		Help: "Bytes that the search indexes of all tenants may take together, from 1 MiB; about 1,400 a memory, 2,600 with a vector of 256 dimensions. What was not searched for longest makes room; a search that needs more is refused.",
		set:  func(c *Config, v string) error { return setInt64(&c.StoreOptions.IndexMemory, v, 1<<20, 1<<50) }},
	{Key: "index.cache", Form: Text, Default: "<cache directory>/loci/index",
		Help: "A directory for copies of the parts of search indexes that a database (PostgreSQL, MongoDB) keeps, where they are mapped; each process has a folder of its own there, which goes with it. It may be emptied at any time. off: they are held in memory. Files have theirs beside them.",
		set:  func(c *Config, v string) error { c.StoreOptions.IndexCache = v; return notEmpty(v) }},
	{Key: "index.cache_size", Form: Integer, Default: strconv.Itoa(store.DefaultIndexCacheSize),
		Help: "Bytes that index.cache may hold, from 1 MiB. What is not searched makes room; what does not fit is held in memory.",
		set:  func(c *Config, v string) error { return setInt64(&c.StoreOptions.IndexCacheSize, v, 1<<20, 1<<50) }},
	{Key: "store.consistency", Form: Text, Default: "strong", Values: []string{"strong", "eventual"},
		Help: "Of a database that servers share: strong, so that each search looks for what other servers wrote, or eventual, so that it may find it store.max_staleness later. A server finds its own writes at once. In the file as one word: store.consistency.",
		set:  func(c *Config, v string) error { c.eventual = v == "eventual"; return nil }},
	{Key: "store.max_staleness", Form: Duration, Default: "2s",
		Help: "For how long a search may go without a look at what other servers wrote, if store.consistency is eventual; 1ms to 1h. In the file as one word: store.max_staleness.",
		set:  func(c *Config, v string) error { return setDuration(&c.staleness, v, time.Hour) }},
	{Key: "store.nodes", Form: Text, Values: store.Nodes,
		Help: "What the hosts of a PostgreSQL URL are to one another. failover: one database and its standbys; the first that will do is used. any: nodes of a cluster, each of which answers any tenant; connections go to all that answer. home: likewise, and a tenant's connections go to the node that holds it, where tables are distributed by Citus. Not set: what the URL says as nodes=…, or failover. In the file as one word: store.nodes.",
		set:  func(c *Config, v string) error { c.StoreOptions.Nodes = v; return nil }},
	{Key: "tenant", Flag: "tenant", Form: Text, Default: "default",
		Help: "The tenant: the hard wall between memories.",
		set:  func(c *Config, v string) (err error) { c.Tenant, err = loci.NewTenant(v); return err }},
	{Key: "user", Flag: "user", Form: Text, Default: "default, unless org is set",
		Help: "The user whose memory it is.",
		set:  setVar(loci.VarUser)},
	{Key: "default_user", Form: Boolean, Default: "true",
		Help: "Whether the user is default when neither user nor org is set; false: there is no user, and each request must say whose memory it means.",
		set:  func(c *Config, v string) error { return setBool(&c.defaultUser, v) }},
	{Key: "org", Flag: "org", Form: Text,
		Help: "The organisation, for memory that belongs to no single user. If it is set, a user that was set before it (in the file, for example, when this is a flag) no longer counts.",
		set:  setVar(loci.VarOrg)},
	{Key: "agent", Flag: "agent", Form: Text,
		Help: "The agent that acts.",
		set:  setVar(loci.VarAgent)},
	{Key: "thread", Flag: "thread", Form: Text,
		Help: "The thread of conversation.",
		set:  setVar(loci.VarThread)},
	{Key: "session", Flag: "session", Form: Text,
		Help: "The session of conversation.",
		set:  setVar(loci.VarSession)},
	{Key: "scopes", Form: List, Default: "read, write, delete", Values: scopeNames(),
		Help: "What may be done: read, write, delete; admin to operate on a whole tenant, operate to make and end tenants and keys, metrics to read /metrics.",
		set:  setScopes},
	{Key: "embedder", Flag: "embedder", Form: Text, Default: "builtin", Values: embedding.Specs,
		Help: "What turns texts into vectors: builtin knows meaning and needs nothing, lexical knows spelling only; local is a sentence transformer in a directory; openai and ollama are services; none searches by keyword only.",
		set:  setEmbedder},
	{Key: "embedding.dimensions", Form: Integer, Default: "0",
		Help: "Dimensions to ask a service for, up to 4096, if its model has a choice; 0: the model's own.",
		set:  func(c *Config, v string) error { return setInt(&c.Embedding.Dimensions, v, 0, loci.MaxDims) }},
	{Key: "embedding.query_prefix", Form: Text, Default: "",
		Help: "What is put in front of a query before it is embedded. Not set: what the model is known to want.",
		set:  func(c *Config, v string) error { c.Embedding.QueryPrefix = cmp.Or(v, embedding.NoPrefix); return nil }},
	{Key: "embedding.document_prefix", Form: Text, Default: "",
		Help: "What is put in front of a memory before it is embedded. Not set: what the model is known to want. Another prefix is another space.",
		set: func(c *Config, v string) error {
			c.Embedding.DocumentPrefix = cmp.Or(v, embedding.NoPrefix)
			return nil
		}},
	{Key: "embedding.timeout", Form: Duration, Default: "1m",
		Help: "How long a call of a service may take with all its repetitions. A write or a search waits 5 seconds at most.",
		set:  func(c *Config, v string) error { return setDuration(&c.Embedding.Timeout, v, time.Hour) }},
	{Key: "embedding.requests_per_minute", Form: Integer, Default: "0",
		Help: "The most requests a minute that one process sends to a service; 0: no limit.",
		set:  func(c *Config, v string) error { return setInt(&c.Embedding.RequestsPerMinute, v, 0, 1_000_000) }},
	{Key: "openai.base_url", Form: Text, Default: embedding.DefaultOpenAIURL,
		Help: "Where a service with OpenAI's interface is; requests go to /embeddings below it.",
		set:  func(c *Config, v string) error { c.Embedding.OpenAIURL = v; return remote.Check(v) }},
	{Key: "openai.key_env", Form: Text, Default: "OPENAI_API_KEY",
		Help: "The name of the environment variable that holds the key.",
		set:  func(c *Config, v string) error { return setVariableName(&c.embeddingKey.env, v) }},
	{Key: "openai.key_file", Form: Text,
		Help: "A file that holds the key, in place of the variable.",
		set:  func(c *Config, v string) error { c.embeddingKey.file = v; return notEmpty(v) }},
	{Key: "ollama.base_url", Form: Text, Default: embedding.DefaultOllamaURL,
		Help: "Where Ollama is.",
		set:  func(c *Config, v string) error { c.Embedding.OllamaURL = v; return remote.Check(v) }},
	{Key: "tools", Flag: "tools", Form: List, Default: tool.FamilyNotes, Values: familyNames(),
		Help: "The families of tools that agents get.",
		set:  setTools},
	{Key: "graph", Flag: "graph", Form: Text,
		Help: "A file with a node graph, as JSON or YAML, that says which agent has which memory; in the configuration file also the graph itself.",
		set:  setGraph},
	{Key: "listen", Flag: "listen", Form: Text, Default: "127.0.0.1:7437",
		Help: "The addresses of loci serve, with commas between them: a host and a port, 0 for any that is free; unix:/path for a socket; systemd for those it hands over. One that other machines can reach needs auth.mode and http.tls.",
		set:  setListen},
	{Key: "http.admin", Form: Text,
		Help: "Addresses of their own for what is below /v1/admin, in the form of listen but for systemd; then it is nowhere else. They need the same authentication and TLS.",
		set:  setAdmin},
	{Key: "http.tls", Form: Text, Default: server.TLSOff, Values: []string{server.TLSOff, server.TLSFiles, server.TLSProxy},
		Help: "Where TLS ends: files, here, with the certificate of http.tls_cert; proxy, at one of http.proxies, which alone may connect from elsewhere; off, nowhere.",
		set:  setTLS},
	{Key: "http.tls_cert", Form: Text,
		Help: "The file of the certificate, in PEM, with those that lead to its authority. It is read again when it changes.",
		set:  func(c *Config, v string) error { c.HTTP.Binding.Certificate = v; return notEmpty(v) }},
	{Key: "http.tls_key", Form: Text,
		Help: "The file of its private key, in PEM.",
		set:  func(c *Config, v string) error { c.HTTP.Binding.Key = v; return notEmpty(v) }},
	{Key: "http.tls_client_ca", Form: Text,
		Help: "A file of authorities, in PEM. With it a client needs a certificate of one of them, besides its key.",
		set:  func(c *Config, v string) error { c.HTTP.Binding.ClientCA = v; return notEmpty(v) }},
	{Key: "http.proxies", Form: List,
		Help: "With http.tls: proxy, the addresses or networks that may connect from elsewhere, such as 10.0.0.7 or 10.0.0.0/24.",
		set:  func(c *Config, v string) error { return setEach(&c.HTTP.Binding.Proxies, v, formOfProxy) }},
	{Key: "auth.mode", Flag: "auth", Form: Text, Default: AuthToken, Values: []string{AuthToken, AuthNone, AuthKeys, AuthJWT, AuthBoth},
		Help: "Who may ask loci serve: token asks for the token in auth.token_file, for programs of one person on this machine; keys asks for an API key, as loci key create makes them; jwt asks for an access token of one of auth.issuers; keys+jwt takes either; none asks nobody, and every program of this machine acts as the configured user.",
		set: func(c *Config, v string) (err error) {
			c.Auth.Mode, err = spelling.OneOf(v, AuthToken, AuthNone, AuthKeys, AuthJWT, AuthBoth)
			return err
		}},
	{Key: "auth.token_file", Form: Text, Default: "<data directory>/loci/token",
		Help: "With auth.mode: token, the file of the token. The first start makes it, readable by its owner alone; clients of Loci on this machine find it there.",
		set:  func(c *Config, v string) error { c.Auth.TokenFile = v; return notEmpty(v) }},
	{Key: issuersKey, Form: List,
		Help: "The authorization servers whose tokens are good: a list of mappings, described [below](#issuers). In the environment as JSON.",
		set:  setIssuers},
	{Key: "auth.tenants_on_first_sight", Form: Boolean, Default: "false",
		Help: "Whether a tenant is made by whoever names it first, in a new key or in a request with one. Otherwise it must be there: loci tenant create makes it.",
		set:  func(c *Config, v string) error { return setBool(&c.Auth.TenantsOnFirstSight, v) }},
	{Key: "auth.elevation", Form: Duration, Default: "1h",
		Help: "How long a credential with the scopes admin and elevate may act in other tenants after it was made, up to 168h. Then such requests get 403.",
		set:  func(c *Config, v string) error { return setDuration(&c.Auth.Elevation, v, auth.MaxElevated) }},
	{Key: "agents", Form: List,
		Help: "The agents that loci serve has an address for, at /mcp/{agent}. None: the one of agent.",
		set:  setAgents},
	{Key: "mcp.confirm", Form: Text, Default: tool.ConfirmAuto, Values: tool.Confirms,
		Help: "Whether a person is asked before one call of a tool over MCP erases several memories, such as a directory or a conversation: auto asks where the client can, and refuses where it can but not over HTTP, as in older revisions of MCP; required refuses wherever nobody can be asked; off asks nobody.",
		set: func(c *Config, v string) (err error) {
			c.Confirm, err = spelling.OneOf(v, tool.Confirms...)
			return err
		}},
	{Key: "http.public_url", Form: Text,
		Help: "By which address clients call loci serve, such as https://memory.example.com. With auth.issuers it tells MCP clients where to get tokens; its host is an allowed one.",
		set:  setPublicURL},
	{Key: "http.allowed_hosts", Form: List,
		Help: "Names besides localhost by which clients may call loci serve, such as behind a proxy, without a port.",
		set:  func(c *Config, v string) error { return setEach(&c.HTTP.Hosts, v, server.CheckHost) }},
	{Key: "http.allowed_origins", Form: List,
		Help: "Web pages of other origins that browsers may call loci serve from, such as https://app.example.com.",
		set:  func(c *Config, v string) error { return setEach(&c.HTTP.Origins, v, itself(server.CheckOrigin)) }},
	{Key: "http.max_body", Form: Integer, Default: "1048576",
		Help: "Bytes of a request to loci serve, 1 KiB to 64 MiB.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.MaxBody, v, 1<<10, 64<<20) }},
	{Key: "http.max_value_body", Form: Integer, Default: "4194304",
		Help: "Bytes of a request that brings a value to store, such as an item or messages, and of a message of MCP; 1 KiB to 64 MiB.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.MaxValueBody, v, 1<<10, 64<<20) }},
	{Key: "http.max_blob_body", Form: Integer, Default: "33554432",
		Help: "Bytes of a request that imports memories, or stores a checkpoint, whose values are in base64; 1 KiB to 256 MiB.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.MaxBlobBody, v, 1<<10, 256<<20) }},
	{Key: "http.max_requests", Form: Integer, Default: "0",
		Help: "Requests to loci serve that run at once, shared out among the tenants that ask; the others wait. 0: four for each processor.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.Limits.InFlight, v, 0, 100_000) }},
	{Key: "http.max_queue", Form: Integer, Default: "256",
		Help: "Requests to loci serve that wait for one to end; one more is told to come back later. While more comes than is answered, as many of a tenant wait as run: see operations.md.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.Limits.Queue, v, 1, 1_000_000) }},
	{Key: "http.max_wait", Form: Duration, Default: "2s",
		Help: "How long a request to loci serve may wait; a quarter of it while the queue does not empty. Beyond, it is told to come back later.",
		set:  func(c *Config, v string) error { return setDuration(&c.HTTP.Limits.Wait, v, time.Minute) }},
	{Key: "http.max_connections", Form: Integer, Default: "0",
		Help: "Connections to loci serve that are open at once. For one more another gives way: one without a good credential, or an idle one of the tenant with the most. 0: 4096, or half of the files that the process may open if that is less.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.Limits.Connections, v, 0, 1_000_000) }},
	{Key: "limits.concurrent_requests", Form: Integer, Default: "0",
		Help: "Requests of one tenant to one loci serve that are under way at once; 0: no limit but its share.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.Limits.Concurrent, v, 0, 1_000_000) }},
	{Key: "limits.requests_per_second", Form: Number, Default: "0",
		Help: "Requests a second of one tenant that one loci serve takes; 0: no limit.",
		set:  func(c *Config, v string) error { return setRate(&c.HTTP.Limits.PerSecond, v) }},
	{Key: "limits.burst", Form: Integer, Default: "0",
		Help: "Requests of one tenant at once that limits.requests_per_second lets through; 0: twice as many as it says.",
		set:  func(c *Config, v string) error { return setInt(&c.HTTP.Limits.Burst, v, 0, 1_000_000) }},
	{Key: "limits.model_tokens_per_day", Form: Integer, Default: "0",
		Help: "Tokens of language models that a tenant may use on a day (UTC), on all servers of the store together; 0: no limit but llm.max_tokens_per_day.",
		set:  func(c *Config, v string) error { return setInt64(&c.HTTP.Tokens, v, 0, auth.MaxModelTokens) }},
	{Key: "http.timeout", Form: Duration, Default: "1m",
		Help: "How long a request to loci serve may take. That of a tool has its own limit too.",
		set:  func(c *Config, v string) error { return setDuration(&c.HTTP.Timeout, v, time.Hour) }},
	{Key: "http.shutdown", Form: Duration, Default: "15s",
		Help: "How long loci serve waits for running requests when it is to end.",
		set:  func(c *Config, v string) error { return setDuration(&c.HTTP.Shutdown, v, time.Hour) }},
	{Key: "http.shutdown_delay", Form: Duration, Default: "1ms",
		Help: "How long loci serve goes on when it is to end: /readyz says that it is not ready, so that whoever sends requests to several servers sends no more here. Behind a load balancer: longer than between its probes.",
		set:  func(c *Config, v string) error { return setDuration(&c.HTTP.Delay, v, time.Hour) }},
	{Key: "retrieval.vector_weight", Form: Number, Default: "0.5",
		Help: "The weight of similarity in a score, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Search.VectorWeight, v) }},
	{Key: "retrieval.keyword_weight", Form: Number, Default: "0.5",
		Help: "The weight of words in a score. Both weights sum to 1; one follows from the other.",
		set:  func(c *Config, v string) error { return setShare(&c.keywordWeight, v) }},
	{Key: "retrieval.neighbour_share", Form: Number, Default: "0.3",
		Help: "The share of the score of what stands beside a match in its conversation that a hybrid search adds, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Search.NeighbourShare, v) }},
	{Key: "retrieval.context_share", Form: Number, Default: "0.25",
		Help: "The share that a hybrid search adds of how well the conversation of a match fits as a whole, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Search.ContextShare, v) }},
	{Key: "retrieval.unrelated", Form: Number, Default: "",
		Help: "The cosine up to which texts have nothing in common, -1 to 1, in place of what is known of the embedder. Needs retrieval.alike.",
		set:  func(c *Config, v string) error { return setCosine(&c.engine.Search.Scale.Unrelated, v) }},
	{Key: "retrieval.alike", Form: Number, Default: "",
		Help: "The cosine from which texts say the same, greater than retrieval.unrelated.",
		set:  func(c *Config, v string) error { return setCosine(&c.engine.Search.Scale.Alike, v) }},
	{Key: "retrieval.chunk_size", Form: Integer, Default: "640",
		Help: "Characters in a passage, 64 to 8192.",
		set:  func(c *Config, v string) error { return setInt(&c.engine.Passages.Size, v, 64, 8192) }},
	{Key: "retrieval.chunk_overlap", Form: Integer, Default: "96",
		Help: "Characters that neighbouring passages share; less than half of chunk_size.",
		set:  func(c *Config, v string) error { return setInt(&c.engine.Passages.Overlap, v, 0, 4095) }},
	{Key: "rerank.model", Form: Text, Default: "none", Values: embedding.RerankerSpecs,
		Help: "What reads the best results of a search again, together with the query: a cross-encoder in a directory, or none. It takes milliseconds a result.",
		set:  func(c *Config, v string) error { c.RerankModel = v; return embedding.CheckRerankerSpec(v) }},
	{Key: "rerank.candidates", Form: Integer, Default: "30",
		Help: "Results that it reads, the best first, 1 to 200.",
		set: func(c *Config, v string) error {
			return setInt(&c.engine.Rerank.Candidates, v, 1, loci.MaxRerankCandidates)
		}},
	{Key: "rerank.timeout", Form: Duration, Default: "2s",
		Help: "How long it may take for all of them. After that the results stay in the order they had, and the reply says so.",
		set:  func(c *Config, v string) error { return setDuration(&c.engine.Rerank.Timeout, v, time.Minute) }},
	{Key: "recall.relevance", Form: Number, Default: "0.4",
		Help: "The weight of relevance in the score of a recalled memory. The four weights sum to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Weights.Relevance, v) }},
	{Key: "recall.importance", Form: Number, Default: "0.3",
		Help: "The weight of importance.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Weights.Importance, v) }},
	{Key: "recall.recency", Form: Number, Default: "0.2",
		Help: "The weight of how recently it was used.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Weights.Recency, v) }},
	{Key: "recall.confidence", Form: Number, Default: "0.1",
		Help: "The weight of effective confidence.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Weights.Confidence, v) }},
	{Key: "recall.min_confidence", Form: Number, Default: "0.2",
		Help: "The least effective confidence of what is recalled, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.MinConfidence, v) }},
	{Key: "recall.proven", Form: Number, Default: "1",
		Help: "What the relevance of a proven rule is multiplied by, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Maturity.Proven, v) }},
	{Key: "recall.established", Form: Number, Default: "0.9",
		Help: "What the relevance of an established rule is multiplied by, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Maturity.Established, v) }},
	{Key: "recall.candidate", Form: Number, Default: "0.8",
		Help: "What the relevance of a candidate is multiplied by, 0 to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.Recall.Maturity.Candidate, v) }},
	{Key: "context.facts", Form: Number, Default: "0.5",
		Help: "The share of facts in the tokens of a context. The three shares sum to 1.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.ContextQuotas.Facts, v) }},
	{Key: "context.rules", Form: Number, Default: "0.3",
		Help: "The share of rules.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.ContextQuotas.Rules, v) }},
	{Key: "context.episodes", Form: Number, Default: "0.2",
		Help: "The share of episodes.",
		set:  func(c *Config, v string) error { return setShare(&c.engine.ContextQuotas.Episodes, v) }},
	{Key: "context.tokenizer", Form: Text, Default: token.Names[0], Values: token.Names,
		Help: "What counts the tokens of a context: the vocabulary of the model that reads it.",
		set:  setTokenizer},
	{Key: "sessions.max_messages", Form: Integer, Default: "0",
		Help: "Messages a conversation keeps unless it says otherwise: the newest, and all system messages; 0: all.",
		set:  func(c *Config, v string) error { return setInt(&c.sessions.MaxMessages, v, 0, 1_000_000) }},
	{Key: "sessions.timeout", Form: Duration, Default: "0s",
		Help: "After how much inactivity a conversation is expired, which takes it out of the list until its next message; 0s: never.",
		set:  func(c *Config, v string) error { return setSessionTimeout(&c.sessions.Timeout, v) }},
	{Key: "limits.max_content", Form: Integer, Default: "262144",
		Help: "Bytes of one memory's text.",
		set:  func(c *Config, v string) error { return setInt(&c.MaxContent, v, 1, 8<<20) }},
	{Key: "limits.reply_bytes", Form: Integer, Default: "16384",
		Help: "Bytes of a tool's reply; results that do not fit are left out whole.",
		set:  func(c *Config, v string) error { return setInt(&c.replyBytes, v, 256, 1<<20) }},
	{Key: "limits.revisions", Form: Integer, Default: "10",
		Help: "Earlier states kept of each memory, 0 to 1000.",
		set:  func(c *Config, v string) error { return setInt(&c.engine.Retention.Revisions, v, 0, 1000) }},
	{Key: "limits.episode_ttl", Form: Duration, Default: "168h",
		Help: "How long an episode lives.",
		set: func(c *Config, v string) error {
			return setDuration(&c.engine.Retention.EpisodeTTL, v, 10*366*24*time.Hour)
		}},
	{Key: "limits.episode_cap", Form: Integer, Default: "10000",
		Help: "Episodes of one agent, beyond which upkeep erases the oldest consolidated ones.",
		set:  func(c *Config, v string) error { return setInt(&c.engine.Retention.EpisodeCap, v, 1, 10_000_000) }},
	{Key: "files.max_bytes", Form: Integer, Default: "1048576",
		Help: "Bytes of one file in a tree.",
		set:  func(c *Config, v string) error { return setInt(&c.Files.MaxFileBytes, v, 1, 64<<20) }},
	{Key: "files.max_tree_bytes", Form: Integer, Default: "1073741824",
		Help: "Bytes of all files of a tree, without their earlier versions.",
		set:  func(c *Config, v string) error { return setInt64(&c.Files.MaxTreeBytes, v, 1, 1<<50) }},
	{Key: "files.max_entries", Form: Integer, Default: "250000",
		Help: "Files and directories of a tree.",
		set:  func(c *Config, v string) error { return setInt64(&c.Files.MaxEntries, v, 1, 1<<40) }},
	{Key: "files.max_dir_entries", Form: Integer, Default: "100000",
		Help: "Files and directories that are immediately in one directory.",
		set:  func(c *Config, v string) error { return setInt64(&c.Files.MaxDirEntries, v, 1, 1<<40) }},
	{Key: "timeouts.read", Form: Duration, Default: "15s",
		Help: "How long a tool that reads may take.",
		set:  func(c *Config, v string) error { return setDuration(&c.ReadTimeout, v, 10*time.Minute) }},
	{Key: "timeouts.write", Form: Duration, Default: "10s",
		Help: "How long a tool that writes may take.",
		set:  func(c *Config, v string) error { return setDuration(&c.WriteTimeout, v, 10*time.Minute) }},
	{Key: "llm.provider", Form: Text, Default: noLLM, Values: []string{noLLM, llm.OpenAI, llm.Anthropic},
		Help: "The language model that consolidates episodes: openai is any service with chat completions, none does without.",
		set: func(c *Config, v string) (err error) {
			c.llm.Provider, err = spelling.OneOf(v, noLLM, llm.OpenAI, llm.Anthropic)
			return err
		}},
	{Key: "llm.model", Form: Text,
		Help: "The name of the model; required with a provider.",
		set:  func(c *Config, v string) error { c.llm.Model = v; return notEmpty(v) }},
	{Key: "llm.base_url", Form: Text, Default: "that of the provider",
		Help: "Where the service is; requests go to /chat/completions or /messages below it.",
		set:  func(c *Config, v string) error { c.llm.BaseURL = v; return remote.Check(v) }},
	{Key: "llm.key_env", Form: Text, Default: "OPENAI_API_KEY or ANTHROPIC_API_KEY",
		Help: "The name of the environment variable that holds the key.",
		set:  func(c *Config, v string) error { c.llmKey.env = v; return notEmpty(v) }},
	{Key: "llm.key_file", Form: Text,
		Help: "A file that holds the key, in place of the variable.",
		set:  func(c *Config, v string) error { c.llmKey.file = v; return notEmpty(v) }},
	{Key: "llm.timeout", Form: Duration, Default: "2m",
		Help: "How long one call may take, with its repetitions.",
		set:  func(c *Config, v string) error { return setDuration(&c.llm.Timeout, v, 4*time.Minute) }},
	{Key: "llm.max_tokens_per_run", Form: Integer, Default: "100000",
		Help: "Tokens that one consolidation may take, prompts and answers together.",
		set: func(c *Config, v string) error {
			return setInt64(&c.Consolidation.TokensPerRun, v, 5000, 1_000_000_000)
		}},
	{Key: "llm.max_tokens_per_day", Form: Integer, Default: "400000",
		Help: "Tokens that all consolidations and summaries of a tenant may take on a day (UTC).",
		set: func(c *Config, v string) error {
			return setInt64(&c.Consolidation.TokensPerDay, v, 5000, 1_000_000_000)
		}},
	{Key: "llm.prompt_tokens", Form: Integer, Default: "24000",
		Help: "Tokens of one prompt, as estimated.",
		set:  func(c *Config, v string) error { return setInt64(&c.Consolidation.PromptTokens, v, 4000, 1_000_000) }},
	{Key: "llm.completion_tokens", Form: Integer, Default: "4096",
		Help: "Tokens of one answer.",
		set:  func(c *Config, v string) error { return setInt64(&c.Consolidation.CompletionTokens, v, 256, 100_000) }},
	{Key: "llm.consolidate_every", Form: Duration, Default: "6h",
		Help: "How often a running server consolidates, if there is a provider.",
		set:  func(c *Config, v string) error { return setDuration(&c.ConsolidateEvery, v, 31*24*time.Hour) }},
	{Key: "dedupe", Form: Boolean, Default: "true",
		Help: "Whether saving a note that already exists returns the existing one instead of storing it again.",
		set:  func(c *Config, v string) error { return setBool(&c.dedupe, v) }},
	{Key: "redact", Form: Boolean, Default: "true",
		Help: "Store [REDACTED] in place of known formats of credentials.",
		set:  func(c *Config, v string) error { return setBool(&c.redact, v) }},
	{Key: "idempotency_ttl", Form: Duration, Default: "24h",
		Help: "How long the reply to a write with an idempotency key is remembered.",
		set: func(c *Config, v string) error {
			return setDuration(&c.engine.Retention.IdempotencyTTL, v, 366*24*time.Hour)
		}},
	{Key: "backup.recipients", Form: List,
		Help: "Public keys of age (age1…) that backups are encrypted to: any one of their identities opens them. None: they are not encrypted.",
		set: func(c *Config, v string) error {
			return setEach(&c.Backup.Recipients, v, itself(backup.CheckRecipient))
		}},
	{Key: "backup.passphrase_file", Form: Text,
		Help: "A file with a passphrase that encrypts and opens backups, in place of backup.recipients.",
		set:  func(c *Config, v string) error { c.Backup.PassphraseFile = v; return notEmpty(v) }},
	{Key: "backup.identity_file", Form: Text,
		Help: "A file with an identity of age (AGE-SECRET-KEY-…) that opens backups. It is best kept away from the machine that makes them.",
		set:  func(c *Config, v string) error { c.Backup.IdentityFile = v; return notEmpty(v) }},
	{Key: "traces.endpoint", Form: Text,
		Help: "Where a collector of OpenTelemetry takes spans by OTLP over HTTP, such as http://127.0.0.1:4318; they go to /v1/traces below it, unless it names a path. Not set: there are no traces, and nothing is sent.",
		set:  setTraces},
	{Key: "traces.headers_file", Form: Text,
		Help: "A file with headers for the collector, one a line, such as Authorization: Bearer and a token. It is read for each batch.",
		set:  func(c *Config, v string) error { c.traceHeaders = v; return notEmpty(v) }},
	{Key: "traces.sample", Form: Number, Default: "1",
		Help: "The share of traces that are sent, 0 to 1, of those that no caller began. A caller says itself whether its trace is.",
		set:  func(c *Config, v string) error { return setShare(&c.Traces.Sample, v) }},
	{Key: "metrics.endpoint", Form: Text,
		Help: "Where a collector of OpenTelemetry takes the metrics of loci serve by OTLP over HTTP, such as http://127.0.0.1:4318; they go to /v1/metrics below it, unless it names a path. Not set: nothing is sent. /metrics has them in any case.",
		set:  setMetrics},
	{Key: "metrics.headers_file", Form: Text,
		Help: "A file with headers for that collector, as traces.headers_file.",
		set:  func(c *Config, v string) error { c.metricsHeaders = v; return notEmpty(v) }},
	{Key: "metrics.every", Form: Duration, Default: "30s",
		Help: "How often metrics are sent, 1s to 1h.",
		set:  setMetricsEvery},
	{Key: "log.level", Flag: "log-level", Form: Text, Default: "warn", Values: []string{"debug", "info", "warn", "error"},
		Help: "The least important messages that are logged, to standard error.",
		set:  setLogLevel},
}

// findSetting returns the setting of a key, or nil.
func findSetting(key string) *Setting {
	for i := range settings {
		if settings[i].Key == key {
			return &settings[i]
		}
	}
	return nil
}
