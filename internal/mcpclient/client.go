// Package mcpclient enters Loci in the configuration of the programs that use MCP servers,
// and takes it out again: it knows where each keeps its servers and in what form, tries a
// server before it is entered, and leaves the rest of a file as it is.
package mcpclient

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/loci-memory/loci/internal/entry"
)

// entryName is what Loci is called in the configuration of a client.
const entryName = "loci"

// A Target is how a client reaches Loci: it starts a command, or connects to an address.
type Target struct {
	Command string
	Args    []string
	URL     string // empty: the command
	Token   string // that clients send to the address; empty: none
	Chosen  bool   // the caller gave flags, or an address, for the entry
}

// A Client is a program that talks to MCP servers: where it keeps which, and in what form.
type Client struct {
	ID, Name string
	checked  string // the day on which its documentation was read

	file    func(System) string // of the user
	project string              // in the directory of a project; empty: it has none
	format  entry.Format
	path    []string // of the entries in the file

	entry func(Target) entry.Fields // nil where it cannot connect to an address

	programs []string            // found on PATH: the client is installed
	traces   func(System) string // a directory that only the client makes

	// add and remove are the client's own commands for its user's file; nil where it has
	// none that does just this.
	add    func(Target) []string
	remove []string
}

// A System is what the places of clients depend on.
type System struct {
	OS      string                   // as in GOOS
	Get     func(name string) string // of a variable of the environment
	Environ []string                 // the environment of what is started
}

// HasHome reports whether a home directory is known: without one nothing can be found.
func (s System) HasHome() bool { return s.home() != "" }

func (s System) home(parts ...string) string {
	home := s.Get("HOME")
	if s.OS == "windows" {
		home = s.Get("USERPROFILE")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// settings is where programs with windows keep their settings.
func (s System) settings(parts ...string) string {
	switch s.OS {
	case "windows":
		return s.roaming(parts...)
	case "darwin":
		return s.home(append([]string{"Library", "Application Support"}, parts...)...)
	}
	return s.dot(parts...)
}

// dot is where programs of the command line keep theirs on Linux and macOS.
func (s System) dot(parts ...string) string {
	if dir := s.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(append([]string{dir}, parts...)...)
	}
	return s.home(append([]string{".config"}, parts...)...)
}

func (s System) roaming(parts ...string) string {
	if dir := s.Get("APPDATA"); dir != "" {
		return filepath.Join(append([]string{dir}, parts...)...)
	}
	return s.home(append([]string{"AppData", "Roaming"}, parts...)...)
}

// under returns a path below a directory that a variable names, else below the home.
func (s System) under(variable, fallback, name string) string {
	if dir := s.Get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	return s.home(fallback, name)
}

// Elsewhere names the user's file on the systems where it lies elsewhere in the home than on
// this one, such as "%APPDATA%\Code\User\mcp.json on Windows".
func (c Client) Elsewhere(sys System) (places []string) {
	place := func(os string) string {
		return filepath.ToSlash(c.file(System{OS: os, Get: func(name string) string {
			return map[string]string{"HOME": "~", "USERPROFILE": "~", "APPDATA": "%APPDATA%"}[name]
		}}))
	}
	for _, other := range [][2]string{{"linux", "Linux"}, {"darwin", "macOS"}, {"windows", "Windows"}} {
		at := place(other[0])
		if at == place(sys.OS) {
			continue
		}
		if other[0] == "windows" {
			at = strings.NewReplacer("/", `\`, "~", "%USERPROFILE%").Replace(at)
		}
		places = append(places, at+" on "+other[1])
	}
	return places
}

// clients is every client that setup knows. Each was checked against its documentation on
// the day that stands with it.
var clients = []Client{
	{
		ID: "claude-code", Name: "Claude Code", checked: "2026-11-22",
		file:    func(s System) string { return s.under("CLAUDE_CONFIG_DIR", "", ".claude.json") },
		project: ".mcp.json", path: []string{"mcpServers"}, entry: typed("stdio", "http"),
		programs: []string{"claude"}, traces: func(s System) string { return s.home(".claude") },
		add: func(to Target) []string {
			if to.Token != "" {
				return nil // a token is not for the list of processes
			}
			if to.URL != "" {
				return []string{
					"claude", "mcp", "add", "--scope", "user", "--transport", "http", entryName, to.URL,
				}
			}
			return append(
				[]string{"claude", "mcp", "add", "--scope", "user", entryName, "--", to.Command},
				to.Args...)
		},
		remove: []string{"claude", "mcp", "remove", "--scope", "user", entryName},
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop", checked: "2026-11-22",
		file: func(s System) string { return s.settings("Claude", "claude_desktop_config.json") },
		path: []string{
			"mcpServers",
		}, entry: onlyCommand(command), traces: func(s System) string { return s.settings("Claude") },
	},
	{
		ID: "codex", Name: "Codex", checked: "2026-11-22",
		file: func(s System) string { return s.under("CODEX_HOME", ".codex", "config.toml") },
		project: filepath.Join(
			".codex",
			"config.toml",
		), format: entry.TOML, path: []string{"mcp_servers"}, entry: codexEntry,
		programs: []string{
			"codex",
		}, traces: func(s System) string { return s.under("CODEX_HOME", ".codex", "") },
		add: func(to Target) []string {
			if to.Token != "" {
				return nil // its command takes none
			}
			if to.URL != "" {
				return []string{"codex", "mcp", "add", entryName, "--url", to.URL}
			}
			return append([]string{"codex", "mcp", "add", entryName, "--", to.Command}, to.Args...)
		},
		remove: []string{"codex", "mcp", "remove", entryName},
	},
	{
		ID: "gemini", Name: "Gemini CLI", checked: "2026-11-22",
		file:    func(s System) string { return s.home(".gemini", "settings.json") },
		project: filepath.Join(".gemini", "settings.json"), path: []string{"mcpServers"}, entry: address("httpUrl"),
		programs: []string{"gemini"}, traces: func(s System) string { return s.home(".gemini") },
	},
	{
		ID: "cursor", Name: "Cursor", checked: "2026-11-22",
		file:    func(s System) string { return s.home(".cursor", "mcp.json") },
		project: filepath.Join(".cursor", "mcp.json"), path: []string{"mcpServers"}, entry: address("url"),
		programs: []string{
			"cursor",
			"cursor-agent",
		}, traces: func(s System) string { return s.home(".cursor") },
	},
	{
		ID: "vscode", Name: "VS Code", checked: "2026-11-22",
		file:    func(s System) string { return s.settings("Code", "User", "mcp.json") },
		project: filepath.Join(".vscode", "mcp.json"), path: []string{"servers"}, entry: typed("stdio", "http"),
		programs: []string{"code"}, traces: func(s System) string { return s.settings("Code", "User") },
		add: func(to Target) []string {
			if to.Token != "" {
				return nil
			}
			return []string{
				"code",
				"--add-mcp",
				oneLine(append(entry.Fields{{Name: "name", Value: entryName}}, typed("stdio", "http")(to)...)),
			}
		},
	},
	{
		ID: "windsurf", Name: "Windsurf", checked: "2026-11-22",
		file: func(s System) string { return s.home(".codeium", "windsurf", "mcp_config.json") },
		path: []string{"mcpServers"}, entry: address("serverUrl"),
		programs: []string{"windsurf"}, traces: func(s System) string { return s.home(".codeium", "windsurf") },
	},
	{
		ID: "cline", Name: "Cline", checked: "2026-11-22",
		file: func(s System) string {
			return s.settings(
				"Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings",
				"cline_mcp_settings.json",
			)
		},
		path: []string{"mcpServers"}, entry: clineEntry,
		traces: func(s System) string { return s.settings("Code", "User", "globalStorage", "saoudrizwan.claude-dev") },
	},
	{
		ID: "zed", Name: "Zed", checked: "2026-11-22", file: func(s System) string { return s.zed("settings.json") },
		project: filepath.Join(".zed", "settings.json"), path: []string{"context_servers"}, entry: address("url"),
		programs: []string{"zed", "zeditor"}, traces: func(s System) string { return s.zed() },
	},
	{
		ID: "opencode", Name: "OpenCode", checked: "2026-11-22", file: func(s System) string { return s.dot("opencode", "opencode.json") },
		project: "opencode.json", path: []string{"mcp"}, entry: openCodeEntry,
		programs: []string{"opencode"}, traces: func(s System) string { return s.dot("opencode") },
	},
	{
		ID: "copilot", Name: "Copilot CLI", checked: "2026-11-22",
		file: func(s System) string { return s.under("COPILOT_HOME", ".copilot", "mcp-config.json") },
		path: []string{"mcpServers"}, entry: copilotEntry,
		programs: []string{
			"copilot",
		}, traces: func(s System) string { return s.under("COPILOT_HOME", ".copilot", "") },
	},
	{
		ID: "goose", Name: "Goose", checked: "2026-11-22", file: func(s System) string { return s.goose("config.yaml") },
		format: entry.YAML, path: []string{"extensions"}, entry: gooseEntry,
		programs: []string{"goose"}, traces: func(s System) string { return s.goose() },
	},
}

func (s System) zed(parts ...string) string {
	if s.OS == "windows" {
		return s.roaming(append([]string{"Zed"}, parts...)...)
	}
	return s.dot(append([]string{"zed"}, parts...)...)
}

func (s System) goose(parts ...string) string {
	if s.OS == "windows" {
		return s.roaming(append([]string{"Block", "goose", "config"}, parts...)...)
	}
	return s.dot(append([]string{"goose"}, parts...)...)
}

// command is the form that most clients share.
func command(to Target) entry.Fields {
	return entry.Fields{{Name: "command", Value: to.Command}, {Name: "args", Value: to.Args}}
}

// onlyCommand is for clients that connect to no address by their file.
func onlyCommand(form func(Target) entry.Fields) func(Target) entry.Fields {
	return func(to Target) entry.Fields {
		if to.URL != "" {
			return nil
		}
		return form(to)
	}
}

// address is for clients with a name of their own for the address.
func address(name string) func(Target) entry.Fields {
	return func(to Target) entry.Fields {
		if to.URL != "" {
			return to.authorized(entry.Fields{{Name: name, Value: to.URL}}, "headers")
		}
		return command(to)
	}
}

// authorized adds the header with the token, where there is one, under the name that the client
// has for headers.
func (t Target) authorized(fields entry.Fields, headers string) entry.Fields {
	if t.Token == "" {
		return fields
	}
	return append(fields, entry.Field{Name: headers, Value: entry.Fields{{Name: "Authorization", Value: "Bearer " + t.Token}}})
}

func codexEntry(to Target) entry.Fields {
	if to.URL != "" {
		return to.authorized(entry.Fields{{Name: "url", Value: to.URL}}, "http_headers")
	}
	return command(to)
}

// typed is for clients that want to be told which of the two it is.
func typed(stdio, http string) func(Target) entry.Fields {
	return func(to Target) entry.Fields {
		if to.URL != "" {
			return to.authorized(entry.Fields{{Name: "type", Value: http}, {Name: "url", Value: to.URL}}, "headers")
		}
		return append(entry.Fields{{Name: "type", Value: stdio}}, command(to)...)
	}
}

func clineEntry(to Target) entry.Fields {
	if to.URL != "" {
		return typed("", "streamableHttp")(to)
	}
	return command(to)
}

func openCodeEntry(to Target) entry.Fields {
	if to.URL != "" {
		return to.authorized(entry.Fields{
			{Name: "type", Value: "remote"},
			{Name: "url", Value: to.URL},
			{Name: "enabled", Value: true},
		}, "headers")
	}
	return entry.Fields{
		{Name: "type", Value: "local"},
		{Name: "command", Value: append([]string{to.Command}, to.Args...)},
		{Name: "enabled", Value: true},
	}
}

func copilotEntry(to Target) entry.Fields {
	return append(typed("local", "http")(to), entry.Field{Name: "tools", Value: []string{"*"}})
}

func gooseEntry(to Target) entry.Fields {
	fields := entry.Fields{
		{Name: "enabled", Value: true},
		{Name: "name", Value: entryName},
		{Name: "description", Value: "Memory that lasts"},
	}
	if to.URL != "" {
		return to.authorized(append(
			fields,
			entry.Field{Name: "type", Value: "streamable_http"},
			entry.Field{Name: "uri", Value: to.URL},
			entry.Field{Name: "timeout", Value: 300},
		), "headers")
	}
	return append(
		fields, entry.Field{Name: "type", Value: "stdio"}, entry.Field{Name: "cmd", Value: to.Command},
		entry.Field{Name: "args", Value: to.Args}, entry.Field{Name: "timeout", Value: 300},
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
