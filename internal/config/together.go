package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/server"
)

// sound reports whether nothing is wrong with some settings by themselves. Else that was told, and what
// does not hold between them follows from it.
func (c *Config) sound(keys ...string) bool {
	for _, key := range keys {
		if c.faulty[key] {
			return false
		}
	}
	return true
}

// needs are settings without effect while another is not set.
var needs = []struct{ of, key string }{
	{"limits.requests_per_second", "limits.burst"},
	{"store.consistency", "store.max_staleness"},
	{"retrieval.alike", "retrieval.unrelated"},
	{"rerank.model", "rerank.candidates"},
	{"rerank.model", "rerank.timeout"},
	{"traces.endpoint", "traces.headers_file"},
	{"traces.endpoint", "traces.sample"},
	{"metrics.endpoint", "metrics.headers_file"},
	{"metrics.endpoint", "metrics.every"},
	{"llm.provider", "llm.model"},
	{"llm.provider", "llm.base_url"},
	{"llm.provider", "llm.key_env"},
	{"llm.provider", "llm.key_file"},
	{"llm.provider", "llm.timeout"},
	{"llm.provider", "llm.max_tokens_per_run"},
	{"llm.provider", "llm.max_tokens_per_day"},
	{"llm.provider", "llm.prompt_tokens"},
	{"llm.provider", "llm.completion_tokens"},
	{"llm.provider", "llm.consolidate_every"},
}

// checkNeeds refuses settings that do nothing. One that is said to be off, in whatever layer, or by an
// empty variable, is set: who turns a model off for a day keeps the rest of its settings.
func (c *Config) checkNeeds(env Environ, bad *faults) {
	for _, n := range needs {
		_, said := env.Lookup(findSetting(n.of).Env())
		if where := c.origin[n.key]; where != "" && c.origin[n.of] == "" && !said && c.sound(n.of) {
			bad.add(where, fmt.Errorf("%s has no effect without %s: set that, too, or leave it out", n.key, n.of))
		}
	}
}

// checkRetrieval checks what holds between the numbers of search, recall and contexts.
func (c *Config) checkRetrieval(bad *faults) {
	vector, keyword := c.origin["retrieval.vector_weight"], c.origin["retrieval.keyword_weight"]
	switch {
	case vector != "" && keyword == "":
		c.keywordWeight = 1 - c.engine.Search.VectorWeight
	case vector == "" && keyword != "":
		c.engine.Search.VectorWeight = 1 - c.keywordWeight
	case math.Abs(c.engine.Search.VectorWeight+c.keywordWeight-1) > 1e-9 && c.sound("retrieval.vector_weight", "retrieval.keyword_weight"):
		bad.add(keyword, fmt.Errorf(
			"retrieval.vector_weight %v and retrieval.keyword_weight %v must sum to 1: leave one of them out",
			c.engine.Search.VectorWeight, c.keywordWeight))
	}
	alike := c.origin["retrieval.alike"]
	if s := c.engine.Search.Scale; alike != "" && s != (loci.Scale{}) && s.Unrelated >= s.Alike && c.sound("retrieval.unrelated") {
		bad.add(alike, fmt.Errorf("retrieval.unrelated %v must be less than retrieval.alike %v: set both", s.Unrelated, s.Alike))
	}
	switch overlap := c.origin["retrieval.chunk_overlap"]; {
	case overlap == "":
		c.engine.Passages.Overlap = min(c.engine.Passages.Overlap, c.engine.Passages.Size/4)
	case c.engine.Passages.Overlap >= c.engine.Passages.Size/2 && c.sound("retrieval.chunk_size"):
		bad.add(overlap, fmt.Errorf("retrieval.chunk_overlap %d must be less than half of retrieval.chunk_size %d",
			c.engine.Passages.Overlap, c.engine.Passages.Size))
	}
	w, q := c.engine.Recall.Weights, c.engine.ContextQuotas
	c.checkShares(bad, []string{"recall.relevance", "recall.importance", "recall.recency", "recall.confidence"},
		w.Relevance+w.Importance+w.Recency+w.Confidence)
	c.checkShares(bad, []string{"context.facts", "context.rules", "context.episodes"}, q.Facts+q.Rules+q.Episodes)
}

// checkShares refuses settings that do not sum to 1, at the place of the last one.
func (c *Config) checkShares(bad *faults, keys []string, sum float64) {
	if math.Abs(sum-1) <= 1e-9 || !c.sound(keys...) {
		return
	}
	where := ""
	for _, key := range keys {
		where = cmp.Or(c.origin[key], where)
	}
	bad.add(where, fmt.Errorf("%s sum to %.6g; they must sum to 1: set all of them", strings.Join(keys, ", "), sum))
}

// checkBinding checks where the server listens, and what makes that safe.
func (c *Config) checkBinding(bad *faults) {
	if !c.sound("auth.mode", "listen", "http.admin", "http.tls", "http.tls_cert", "http.tls_key", "http.tls_client_ca", "http.proxies") {
		return
	}
	if err := c.HTTP.Binding.Check(); err != nil {
		where := "listen"
		if at := (*server.SettingError)(nil); errors.As(err, &at) {
			where = at.Key
		}
		bad.add(cmp.Or(c.origin[where], where), err)
		return
	}
	operators := c.HTTP.Operators()
	if len(operators.Addresses) == 0 {
		return
	}
	err := c.HTTP.apart()
	if err == nil {
		err = operators.Check()
	}
	if err != nil {
		bad.add(c.origin["http.admin"], err)
	}
}
