package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/entry"
)

// entryName is what Loci is called in the configuration of a client.
const entryName = "loci"

// A target is how a client reaches Loci: it starts a command, or connects to an address.
type target struct {
	command string
	args    []string
	url     string // empty: the command
	chosen  bool   // the caller gave flags, or an address, for the entry
}

// A client is a program that talks to MCP servers: where it keeps which, and in what form.
type client struct {
	id, name string
	checked  string // the day on which its documentation was read

	file    func(system) string // of the user
	project string              // in the directory of a project; empty: it has none
	format  entry.Format
	path    []string // of the entries in the file

	entry func(target) entry.Fields // nil where it cannot connect to an address

	programs []string            // found on PATH: the client is installed
	traces   func(system) string // a directory that only the client makes

	// add and remove are the client's own commands for its user's file; nil where it has
	// none that does just this.
	add    func(target) []string
	remove []string
}

// A system is what the places of clients depend on.
type system struct {
	os  string // as in GOOS
	env config.Environ
}

func (s system) home(parts ...string) string {
	home := s.env.Get("HOME")
	if s.os == "windows" {
		home = s.env.Get("USERPROFILE")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// settings is where programs with windows keep their settings.
func (s system) settings(parts ...string) string {
	switch s.os {
	case "windows":
		return s.roaming(parts...)
	case "darwin":
		return s.home(append([]string{"Library", "Application Support"}, parts...)...)
	}
	return s.dot(parts...)
}

// dot is where programs of the command line keep theirs on Linux and macOS.
func (s system) dot(parts ...string) string {
	if dir := s.env.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(append([]string{dir}, parts...)...)
	}
	return s.home(append([]string{".config"}, parts...)...)
}

func (s system) roaming(parts ...string) string {
	if dir := s.env.Get("APPDATA"); dir != "" {
		return filepath.Join(append([]string{dir}, parts...)...)
	}
	return s.home(append([]string{"AppData", "Roaming"}, parts...)...)
}

// under returns a path below a directory that a variable names, else below the home.
func (s system) under(variable, fallback, name string) string {
	if dir := s.env.Get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	return s.home(fallback, name)
}

// clients is every client that setup knows. Each was checked against its documentation on
// the day that stands with it.
var clients = []client{
	{
		id: "claude-code", name: "Claude Code", checked: "2026-11-22",
		file:    func(s system) string { return s.under("CLAUDE_CONFIG_DIR", "", ".claude.json") },
		project: ".mcp.json", path: []string{"mcpServers"}, entry: typed("stdio", "http"),
		programs: []string{"claude"}, traces: func(s system) string { return s.home(".claude") },
		add: func(to target) []string {
			if to.url != "" {
				return []string{
					"claude",
					"mcp",
					"add",
					"--scope",
					"user",
					"--transport",
					"http",
					entryName,
					to.url,
				}
			}
			return append(
				[]string{"claude", "mcp", "add", "--scope", "user", entryName, "--", to.command},
				to.args...)
		},
		remove: []string{"claude", "mcp", "remove", "--scope", "user", entryName},
	},
	{
		id: "claude-desktop", name: "Claude Desktop", checked: "2026-11-22",
		file: func(s system) string { return s.settings("Claude", "claude_desktop_config.json") },
		path: []string{
			"mcpServers",
		}, entry: onlyCommand(command), traces: func(s system) string { return s.settings("Claude") },
	},
	{
		id: "codex", name: "Codex", checked: "2026-11-22",
		file: func(s system) string { return s.under("CODEX_HOME", ".codex", "config.toml") },
		project: filepath.Join(
			".codex",
			"config.toml",
		), format: entry.TOML, path: []string{"mcp_servers"}, entry: address("url"),
		programs: []string{
			"codex",
		}, traces: func(s system) string { return s.under("CODEX_HOME", ".codex", "") },
		add: func(to target) []string {
			if to.url != "" {
				return []string{"codex", "mcp", "add", entryName, "--url", to.url}
			}
			return append([]string{"codex", "mcp", "add", entryName, "--", to.command}, to.args...)
		},
		remove: []string{"codex", "mcp", "remove", entryName},
	},
	{
		id: "gemini", name: "Gemini CLI", checked: "2026-11-22",
		file: func(s system) string { return s.home(".gemini", "settings.json") },
		project: filepath.Join(
			".gemini",
			"settings.json",
		), path: []string{"mcpServers"}, entry: address("httpUrl"),
		programs: []string{"gemini"}, traces: func(s system) string { return s.home(".gemini") },
	},
	{
		id: "cursor", name: "Cursor", checked: "2026-11-22",
		file:    func(s system) string { return s.home(".cursor", "mcp.json") },
		project: filepath.Join(".cursor", "mcp.json"), path: []string{"mcpServers"}, entry: address("url"),
		programs: []string{
			"cursor",
			"cursor-agent",
		}, traces: func(s system) string { return s.home(".cursor") },
	},
	{
		id: "vscode", name: "VS Code", checked: "2026-11-22",
		file:    func(s system) string { return s.settings("Code", "User", "mcp.json") },
		project: filepath.Join(".vscode", "mcp.json"), path: []string{"servers"}, entry: typed("stdio", "http"),
		programs: []string{"code"}, traces: func(s system) string { return s.settings("Code", "User") },
		add: func(to target) []string {
			return []string{
				"code",
				"--add-mcp",
				oneLine(append(entry.Fields{{Name: "name", Value: entryName}}, typed("stdio", "http")(to)...)),
			}
		},
	},
	{
		id: "windsurf", name: "Windsurf", checked: "2026-11-22",
		file: func(s system) string { return s.home(".codeium", "windsurf", "mcp_config.json") },
		path: []string{"mcpServers"}, entry: address("serverUrl"),
		programs: []string{"windsurf"}, traces: func(s system) string { return s.home(".codeium", "windsurf") },
	},
	{
		id: "cline", name: "Cline", checked: "2026-11-22",
		file: func(s system) string {
			return s.settings(
				"Code",
				"User",
				"globalStorage",
				"saoudrizwan.claude-dev",
				"settings",
				"cline_mcp_settings.json",
			)
		},
		path: []string{"mcpServers"}, entry: clineEntry,
		traces: func(s system) string { return s.settings("Code", "User", "globalStorage", "saoudrizwan.claude-dev") },
	},
	{
		id: "zed", name: "Zed", checked: "2026-11-22", file: func(s system) string { return s.zed("settings.json") },
		project: filepath.Join(
			".zed",
			"settings.json",
		), path: []string{"context_servers"}, entry: address("url"),
		programs: []string{"zed", "zeditor"}, traces: func(s system) string { return s.zed() },
	},
	{
		id: "opencode", name: "OpenCode", checked: "2026-11-22", file: func(s system) string { return s.dot("opencode", "opencode.json") },
		project: "opencode.json", path: []string{"mcp"}, entry: openCodeEntry,
		programs: []string{"opencode"}, traces: func(s system) string { return s.dot("opencode") },
	},
	{
		id: "copilot", name: "Copilot CLI", checked: "2026-11-22",
		file: func(s system) string { return s.under("COPILOT_HOME", ".copilot", "mcp-config.json") },
		path: []string{"mcpServers"}, entry: copilotEntry,
		programs: []string{
			"copilot",
		}, traces: func(s system) string { return s.under("COPILOT_HOME", ".copilot", "") },
	},
	{
		id: "goose", name: "Goose", checked: "2026-11-22", file: func(s system) string { return s.goose("config.yaml") },
		format: entry.YAML, path: []string{"extensions"}, entry: gooseEntry,
		programs: []string{"goose"}, traces: func(s system) string { return s.goose() },
	},
}

func (s system) zed(parts ...string) string {
	if s.os == "windows" {
		return s.roaming(append([]string{"Zed"}, parts...)...)
	}
	return s.dot(append([]string{"zed"}, parts...)...)
}

func (s system) goose(parts ...string) string {
	if s.os == "windows" {
		return s.roaming(append([]string{"Block", "goose", "config"}, parts...)...)
	}
	return s.dot(append([]string{"goose"}, parts...)...)
}

// command is the form that most clients share.
func command(to target) entry.Fields {
	return entry.Fields{{Name: "command", Value: to.command}, {Name: "args", Value: to.args}}
}

// onlyCommand is for clients that connect to no address by their file.
func onlyCommand(form func(target) entry.Fields) func(target) entry.Fields {
	return func(to target) entry.Fields {
		if to.url != "" {
			return nil
		}
		return form(to)
	}
}

// address is for clients with a name of their own for the address.
func address(name string) func(target) entry.Fields {
	return func(to target) entry.Fields {
		if to.url != "" {
			return entry.Fields{{Name: name, Value: to.url}}
		}
		return command(to)
	}
}

// typed is for clients that want to be told which of the two it is.
func typed(stdio, http string) func(target) entry.Fields {
	return func(to target) entry.Fields {
		if to.url != "" {
			return entry.Fields{{Name: "type", Value: http}, {Name: "url", Value: to.url}}
		}
		return append(entry.Fields{{Name: "type", Value: stdio}}, command(to)...)
	}
}

func clineEntry(to target) entry.Fields {
	if to.url != "" {
		return typed("", "streamableHttp")(to)
	}
	return command(to)
}

func openCodeEntry(to target) entry.Fields {
	if to.url != "" {
		return entry.Fields{
			{Name: "type", Value: "remote"},
			{Name: "url", Value: to.url},
			{Name: "enabled", Value: true},
		}
	}
	return entry.Fields{
		{Name: "type", Value: "local"},
		{Name: "command", Value: append([]string{to.command}, to.args...)},
		{Name: "enabled", Value: true},
	}
}

func copilotEntry(to target) entry.Fields {
	return append(typed("local", "http")(to), entry.Field{Name: "tools", Value: []string{"*"}})
}

func gooseEntry(to target) entry.Fields {
	fields := entry.Fields{
		{Name: "enabled", Value: true},
		{Name: "name", Value: entryName},
		{Name: "description", Value: "Memory that lasts"},
	}
	if to.url != "" {
		return append(
			fields,
			entry.Field{Name: "type", Value: "streamable_http"},
			entry.Field{Name: "uri", Value: to.url},
			entry.Field{Name: "timeout", Value: 300},
		)
	}
	return append(
		fields,
		entry.Field{Name: "type", Value: "stdio"},
		entry.Field{Name: "cmd", Value: to.command},
		entry.Field{Name: "args", Value: to.args},
		entry.Field{Name: "timeout", Value: 300},
	)
}

// oneLine is an entry as an argument of a command.
func oneLine(fields entry.Fields) string {
	data, err := json.Marshal(fields.Plain())
	if err != nil {
		panic("setup: " + err.Error()) // texts and lists of texts can be encoded
	}
	return string(data)
}
