package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// readPlugin reads a JSON file of the plugin or of a list of plugins.
func readPlugin(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

// TestPluginSaysTheSameToAll: three agents read three manifests of one folder, and each of them
// names what is there.
func TestPluginSaysTheSameToAll(t *testing.T) {
	type manifest struct{ Name, Version, Description, License, Skills, MCPServers, Hooks string }
	var first manifest
	for _, agent := range []string{"claude", "codex", "cursor"} {
		var m manifest
		readPlugin(t, "plugins/loci/."+agent+"-plugin/plugin.json", &m)
		for _, path := range []string{m.Skills, m.MCPServers, m.Hooks} {
			if _, err := os.Stat(filepath.Join("../../plugins/loci", path)); err != nil {
				t.Errorf("%s: %v", agent, err)
			}
		}
		m.Skills, m.MCPServers, m.Hooks = "", "", ""
		if first.Name == "" {
			first = m
		}
		if m != first || m.Name == "" || m.Version == "" {
			t.Errorf("%s says %+v; the first says %+v", agent, m, first)
		}
	}
	for _, list := range []string{".claude-plugin", ".cursor-plugin", ".agents/plugins"} {
		var l struct {
			Plugins []struct {
				Name   string
				Source any
			}
		}
		readPlugin(t, list+"/marketplace.json", &l)
		if len(l.Plugins) != 1 || l.Plugins[0].Name != first.Name {
			t.Fatalf("%s lists %+v", list, l.Plugins)
		}
		source, _ := l.Plugins[0].Source.(string)
		if object, ok := l.Plugins[0].Source.(map[string]any); ok {
			source, _ = object["path"].(string)
		}
		if source != "./plugins/loci" {
			t.Errorf("%s: the source is %q", list, source)
		}
	}
}

// TestPluginCallsWhatThereIs: the commands of the plugin run, and its skills name tools that
// its server has.
func TestPluginCallsWhatThereIs(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "LOCI_STORE=sqlite:" + t.TempDir()}
	loci := func(in string, args ...string) (out string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(in), &stdout, &stderr, env); code != 0 || stderr.Len() > 0 {
			t.Errorf("loci %v: exit code %d, %s", args, code, &stderr)
		}
		return stdout.String()
	}
	loci("", "save", "The staging database listens on port 5433.")

	var hooks struct {
		Hooks map[string][]struct {
			Hooks []struct{ Type, Command string }
		}
	}
	readPlugin(t, "plugins/loci/hooks/hooks.json", &hooks)
	command := strings.Fields(hooks.Hooks["UserPromptSubmit"][0].Hooks[0].Command)
	if out := loci(`{"prompt":"Which port has the staging database?"}`, command[1:]...); command[0] != "loci" || !strings.Contains(out, "5433") {
		t.Errorf("%v prints %q", command, out)
	}

	var servers struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	readPlugin(t, "plugins/loci/.mcp.json", &servers)
	server := servers.MCPServers["loci"]
	replies := loci(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`, server.Args...)
	var tools []string
	for _, name := range regexp.MustCompile(`"name":"(memory_\w+)"`).FindAllStringSubmatch(replies, -1) {
		tools = append(tools, name[1])
	}
	if server.Command != "loci" || len(tools) == 0 {
		t.Fatalf("%+v has no tools: %s", server, replies)
	}
	skills, err := filepath.Glob("../../plugins/loci/skills/*/SKILL.md")
	if err != nil || len(skills) != 2 {
		t.Fatalf("skills: %v, %v", skills, err)
	}
	for _, path := range skills {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`(memory_\\w+)`").FindAllStringSubmatch(string(text), -1)
		if len(named) == 0 {
			t.Errorf("%s names no tool", path)
		}
		for _, name := range named {
			if !slices.Contains(tools, name[1]) {
				t.Errorf("%s names %s; the server has %v", path, name[1], tools)
			}
		}
	}
}
