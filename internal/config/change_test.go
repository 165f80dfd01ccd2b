package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestChanged: a difference between two configurations is named, wherever and in whatever form
// it is written. The same value in another spelling is no difference.
func TestChanged(t *testing.T) {
	load := func(content string, env ...string) *Config {
		t.Helper()
		path := t.TempDir() + "/loci.yaml"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(append(env, "HOME="+t.TempDir()), &path, map[string]string{"store": "memory:"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := load("limits: {requests_per_second: 9, burst: 5}\ntools: [notes]\n")
	for content, want := range map[string][2]string{
		"limits: {requests_per_second: 9, burst: 5}\ntools: [notes]\n":    {"", ""},
		"tools: [notes]\nlimits:\n  burst: 5\n  requests_per_second: 9\n": {"", ""},
		"limits: {requests_per_second: 9, burst: 6}\ntools: [notes]\n":    {"limits.burst", ""},
		"tools: [notes]\n": {"limits.requests_per_second limits.burst", ""},
		"limits: {requests_per_second: 9, burst: 5}\ntools: [notes, facts]\n":                         {"", "tools"},
		"limits: {requests_per_second: 9, burst: 5}\ntools: [{tool: memory_search}]\n":                {"", "tools"},
		"limits: {requests_per_second: 9, burst: 5}\ntools: [notes]\nlog: {level: info}\nuser: bob\n": {"log.level", "user"},
	} {
		taken, fixed := before.Changed(load(content))
		if got := [2]string{strings.Join(taken, " "), strings.Join(fixed, " ")}; got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	taken, _ := before.Changed(load("limits: {requests_per_second: 9, burst: 5}\ntools: [notes]\n", "LOCI_HTTP_MAX_QUEUE=7"))
	if !slices.Equal(taken, []string{"http.max_queue"}) {
		t.Errorf("%q", taken)
	}
	for key := range live {
		if findSetting(key) == nil {
			t.Errorf("there is no setting %s", key)
		}
	}
}
