package config_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// TestFaultsBetweenSettings: each is told once, at the line of the setting that is at fault.
func TestFaultsBetweenSettings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listen: 127.0.0.1:7437\nhttp:\n  tls_cert: /c\n  tls_key: /k\n", "loci.yaml:3:13: http.tls_cert needs http.tls: files"},
		{"listen: 127.0.0.1:7437\nhttp:\n  tls_key: /k\n", "loci.yaml:3:12: http.tls_key needs http.tls: files"},
		{"listen: 127.0.0.1:7437\nhttp:\n  tls: files\n  tls_cert: /c\n", "loci.yaml:3:8: http.tls: files needs both"},
		{"listen: 127.0.0.1:7437\nhttp:\n  tls: off\n  proxies: [10.0.0.1]\n", "loci.yaml:4:12: http.proxies needs http.tls: proxy"},
		{"listen: 0.0.0.0:7437\nhttp:\n  tls: proxy\n  proxies: [10.0.0.1]\n", "loci.yaml:1:9: 0.0.0.0:7437 can be reached"},
		{"http:\n  tls: proxy\n  proxies: [0.0.0.0/0]\n", `loci.yaml:3:13: http.proxies: "0.0.0.0/0" is everybody`},
		{"http:\n  tls: proxxy\n  proxies: [10.0.0.1]\n", `loci.yaml:2:8: http.tls: "proxxy" is not known: did you mean proxy?`},
		{"listen: nowhere\nhttp: {admin: '127.0.0.1:1'}\n", `loci.yaml:1:9: listen: the address "nowhere" must be`},
		{"recall: {relevance: 2, importance: 0.5}\n", `loci.yaml:1:21: recall.relevance: "2" must be a number`},
		{"retrieval: {unrelated: 7, alike: 0.1}\n", `loci.yaml:1:24: retrieval.unrelated: "7" must be a number`},
		{"retrieval: {vector_weight: 7, keyword_weight: 0.1}\n", `loci.yaml:1:28: retrieval.vector_weight: "7" must be a number`},
		{"retrieval: {chunk_size: 7, chunk_overlap: 400}\n", `loci.yaml:1:25: retrieval.chunk_size: "7" must be a whole number`},
		{"llm: {provider: opnai, model: m}\n", `loci.yaml:1:17: llm.provider: "opnai" is not known`},
		{"limits: {requests_per_second: -1, burst: 5}\n", `loci.yaml:1:31: limits.requests_per_second: "-1" must be`},
	} {
		_, err := load(t, c.text, nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n  ") != 1 {
			t.Errorf("%s\n%v\nwant %s alone", c.text, err, c.want)
		}
	}
	env := config.Environ{"LOCI_HTTP_TLS_KEY=/k"}
	if _, err := load(t, "", env, nil); err == nil || !strings.Contains(err.Error(), "$LOCI_HTTP_TLS_KEY: http.tls_key needs http.tls: files") {
		t.Errorf("%v", err)
	}
}

// TestListsNameEachThingOnce: what comes twice is a mistake, in one spelling or in two.
func TestListsNameEachThingOnce(t *testing.T) {
	for text, want := range map[string]string{
		"agents: [a, b, a]":                                               `1:16: agents: "a" comes twice: name it once`,
		"scopes: [read, read]":                                            `1:16: scopes: "read" comes twice`,
		"http: {allowed_hosts: [a.example, A.example]}":                   `allowed_hosts: "A.example" comes twice`,
		"http: {allowed_origins: [https://a.example, https://a.example]}": `"https://a.example" comes twice`,
		"http: {tls: proxy, proxies: [10.0.0.1, 10.0.0.1/32]}":            `"10.0.0.1/32" comes twice`,
		"http: {admin: '127.0.0.1:1,127.0.0.1:1'}":                        "127.0.0.1:1 comes twice",
		"{auth: {mode: jwt, issuers: [{name: a, issuer: 'https://a.example', audience: [x, x], tenant: t}]}}":                        `audience has "x" twice: name it once`,
		"{auth: {mode: jwt, issuers: [{name: a, issuer: 'https://a.example', audience: x, algorithms: [ES256, ES256], tenant: t}]}}": `algorithms has "ES256" twice`,
	} {
		if _, err := load(t, text, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for env, want := range map[string]string{"LOCI_AGENTS=a,b,a": `"a" comes twice`, "LOCI_SCOPES=read,read": `"read" comes twice`} {
		if _, err := load(t, "", config.Environ{env}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", env, err)
		}
	}
	if _, err := load(t, "http: {tls: proxy, proxies: [10.0.0.1, 10.0.0.2, 'fd00::1']}\nagents: [a, A]", nil, nil); err != nil {
		t.Error(err)
	}
}

// TestSettingsThatNeedAnother: one that does nothing while nobody says another is a mistake. Who says
// that it is off, as a layer above a file does, means it.
func TestSettingsThatNeedAnother(t *testing.T) {
	for text, want := range map[string]string{
		"limits: {burst: 5}":           "1:17: limits.burst has no effect without limits.requests_per_second: set that, too, or leave it out",
		"store.max_staleness: 3s":      "store.max_staleness has no effect without store.consistency",
		"rerank: {candidates: 5}":      "rerank.candidates has no effect without rerank.model",
		"rerank: {timeout: 5s}":        "rerank.timeout has no effect without rerank.model",
		"traces: {sample: 0.5}":        "traces.sample has no effect without traces.endpoint",
		"traces: {headers_file: /x}":   "traces.headers_file has no effect without traces.endpoint",
		"metrics: {every: 5s}":         "metrics.every has no effect without metrics.endpoint",
		"metrics: {headers_file: /x}":  "metrics.headers_file has no effect without metrics.endpoint",
		"llm: {model: m}":              "llm.model has no effect without llm.provider",
		"llm: {prompt_tokens: 5000}":   "llm.prompt_tokens has no effect without llm.provider",
		"retrieval: {unrelated: -0.5}": "retrieval.unrelated has no effect without retrieval.alike",
	} {
		if _, err := load(t, text, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := load(t, "", config.Environ{"LOCI_LIMITS_BURST=5"}, nil); err == nil || !strings.Contains(err.Error(), "$LOCI_LIMITS_BURST: limits.burst has no effect") {
		t.Errorf("%v", err)
	}
	for _, text := range []string{
		"limits: {burst: 5, requests_per_second: 2}", "limits: {burst: 5, requests_per_second: 0}", "rerank: {candidates: 5, model: none}",
		"llm: {model: m, provider: none}", "openai: {base_url: 'https://a.example'}",
	} {
		if _, err := load(t, text, nil, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, env := range []string{"LOCI_LIMITS_REQUESTS_PER_SECOND=2", "LOCI_LIMITS_REQUESTS_PER_SECOND="} {
		if _, err := load(t, "limits: {burst: 5}", config.Environ{env}, nil); err != nil {
			t.Errorf("%s: %v", env, err)
		}
	}
}
