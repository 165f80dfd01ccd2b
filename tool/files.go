package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

// The scopes of a tree of files.
const (
	ScopeGlobal    = "global"    // one tree for all threads
	ScopePerThread = "perThread" // one for each thread
)

// The commands of the tool memory.
const (
	commandRead   = "read"
	commandList   = "list"
	commandAppend = "append"
	commandUpdate = "update"
	commandDelete = "delete"
	commandSearch = "search" // only of a tool whose entry names it
)

var (
	fileCommands    = []string{commandRead, commandList, commandAppend, commandUpdate, commandDelete}
	allFileCommands = append(slices.Clone(fileCommands), commandSearch)
)

var fileScopes = map[string]loci.Scope{
	commandRead: loci.ScopeRead, commandList: loci.ScopeRead,
	commandAppend: loci.ScopeWrite, commandUpdate: loci.ScopeWrite, commandDelete: loci.ScopeDelete,
	commandSearch: loci.ScopeRead,
}

// fileFields are the arguments that only some commands have.
var fileFields = map[string][]string{
	"content": {commandAppend, commandUpdate}, "oldContent": {commandUpdate}, "query": {commandSearch},
	"since": {commandSearch}, "until": {commandSearch},
}

// fileMatches is how many passages a search shows.
const fileMatches = 10

// filesInput is what the schema shows. The tool checks its arguments itself, since its
// errors are envelopes, too.
type filesInput struct {
	Path       string `json:"path" jsonschema:"Path of a file or directory, such as /notes/today"`
	Command    string `json:"command"`
	Content    string `json:"content,omitempty" jsonschema:"append: what to add; update: what to put in the place of oldContent"`
	OldContent string `json:"oldContent,omitempty" jsonschema:"update: the text to replace, wherever it occurs"`
	Query      string `json:"query,omitempty" jsonschema:"search: what to look for, in this file or below this directory"`
	Since      string `json:"since,omitempty" jsonschema:"search: only what was written from this date or time on"`
	Until      string `json:"until,omitempty" jsonschema:"search: only what was written before this date or time"`
}

// An envelope is the one form of every reply of the tool memory.
type envelope struct {
	Command string         `json:"command"`
	Path    string         `json:"path"`
	OK      bool           `json:"ok"`
	Result  any            `json:"result,omitempty"`
	Error   *envelopeError `json:"error,omitempty"`
}

type envelopeError struct {
	Message string     `json:"message"`
	Code    tree.Errno `json:"code"`
}

// The results of the commands.
type (
	readResult struct {
		Content string `json:"content"`
	}
	listResult struct {
		Entries []listEntry `json:"entries"`
	}
	appendResult struct {
		Status string `json:"status"`
	}
	updateResult struct {
		Replaced int `json:"replaced"`
	}
	searchResult struct {
		Matches []searchMatch `json:"matches"` // best first
	}
	searchMatch struct {
		Path      string  `json:"path"`
		FirstLine int64   `json:"first_line"` // from 1
		LastLine  int64   `json:"last_line"`
		Text      string  `json:"text"`
		Score     float64 `json:"score"`
	}
	listEntry struct {
		Name string `json:"name"`
		Kind string `json:"kind"` // file or dir
	}
)

// filesCall is what a call asks for, after the check of its form.
type filesCall struct {
	command, path              string
	content, oldContent, query *string
	since, until               *string
}

func filesTool(b *base, t Tool, i Instance) *Tool {
	t.Title = cmp.Or(i.Title, "Memory")
	commands := fileCommands
	if i.Commands != nil {
		commands = i.commands(allFileCommands)
	}
	t.Description = describe(cmp.Or(i.Description, "Unified Memory tool: "+strings.Join(commands, ", ")), i)
	t.Timeout = time.Duration(b.cfg.WriteTimeout)
	t.commanded(commands, fileScopes)
	schema := inputSchema[filesInput]()
	choices(schema.Properties["command"], commands...)
	for field, of := range fileFields {
		if !slices.ContainsFunc(of, func(c string) bool { return slices.Contains(commands, c) }) {
			delete(schema.Properties, field)
			schema.PropertyOrder = slices.DeleteFunc(schema.PropertyOrder, func(n string) bool { return n == field })
		}
	}
	t.takes(schema)
	t.OutputSchema = schemaBytes(envelopeSchema())
	t.envelope = refusedFile
	t.files = &filesPlace{memory: i.Memory, perThread: i.Scope == ScopePerThread, unwired: i.Unwired}
	place := *t.files
	t.bind = func(given arguments) (work, error) {
		f, err := fileArguments(given)
		if err == nil && !slices.Contains(commands, f.command) {
			err = invalidFile("unknown command: " + f.command) // to this tool
		}
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, c *call) (Reply, error) {
			result, err := c.file(ctx, &f, place)
			if err != nil {
				return Reply{}, err
			}
			return objectReply(envelope{Command: f.command, Path: f.path, OK: true, Result: result})
		}, nil
	}
	return &t
}

func envelopeSchema() *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	failure := objectOf([]result{{name: "message", schema: text}, {name: "code", schema: text}})
	failure.Type = "object"
	s := objectOf([]result{{name: "command", schema: text}, {name: "path", schema: text}, {name: "ok", schema: &jsonschema.Schema{Type: "boolean"}},
		{name: "result", schema: &jsonschema.Schema{Type: "object"}, optional: true}, {name: "error", schema: failure, optional: true}})
	s.Type = "object"
	return s
}

// refusedFile is the reply to a call that failed: an envelope, whatever went wrong,
// with as much of the call as can be told.
func refusedFile(args json.RawMessage, err error) Reply {
	given, parseErr := parseArguments(args, len(args))
	f, _ := fileArguments(given)
	v := envelope{
		Command: clip(f.command, 64), Path: clip(f.path, 9000),
		Error: &envelopeError{loci.AsError(err).Error(), tree.ErrnoOf(err)},
	}
	var missing *loci.ConfigurationError
	switch {
	case parseErr != nil:
		v.Error = &envelopeError{errArguments.Error(), tree.EINVAL}
	case errors.As(err, &missing):
		v.Error.Code = tree.ENOTMEM
	}
	r, encodeErr := objectReply(v)
	if encodeErr != nil { // texts alone: cannot fail
		r = ErrorReply(encodeErr)
	}
	r.Err = err
	return r
}

var errArguments = &loci.Error{Code: loci.Invalid, Err: tree.EINVAL, Msg: "invalid arguments"}

func invalidFile(message string) error {
	return &loci.Error{Code: loci.Invalid, Err: tree.EINVAL, Msg: message}
}

// fileArguments checks the form of a call. What it returns beside an error is as
// much as could be read.
func fileArguments(given arguments) (f filesCall, err error) {
	var path, command *string
	fields := map[string]**string{"path": &path, "command": &command, "content": &f.content, "oldContent": &f.oldContent,
		"query": &f.query, "since": &f.since, "until": &f.until}
	for _, a := range given {
		field := fields[a.name]
		if field == nil {
			err = errArguments
			continue
		}
		required := field == &path || field == &command
		if string(a.value) == "null" && !required {
			continue // as if it were absent
		}
		if a.value[0] != '"' || json.Unmarshal(a.value, field) != nil {
			*field, err = nil, errArguments
		}
	}
	if command == nil || path == nil {
		err = errArguments
	}
	if command != nil {
		f.command = *command
	}
	if path != nil {
		f.path = *path
	}
	if (f.command == commandList || f.command == commandSearch) && f.path == "" {
		f.path = "/"
	}
	// The tool memory has always read a backslash as a slash, and models rely on it;
	// every other place refuses one.
	clean, pathErr := tree.CleanPath(strings.ReplaceAll(f.path, `\`, "/"))
	if pathErr == nil {
		f.path = clean
	}
	if err == nil {
		err = f.check(pathErr)
	}
	return f, err
}

// check looks at what the commands need.
func (f *filesCall) check(pathErr error) error {
	switch {
	case fileScopes[f.command] == "":
		return invalidFile("unknown command: " + clip(f.command, 64))
	case (f.query != nil || f.since != nil || f.until != nil) && f.command != commandSearch:
		return errArguments
	case pathErr != nil:
		return pathErr
	case f.command == commandSearch && (f.query == nil || strings.TrimSpace(*f.query) == ""):
		return invalidFile("query is required for search")
	case f.command == commandAppend && f.content == nil:
		return invalidFile("content is required for append")
	case f.command == commandUpdate && (f.content == nil || f.oldContent == nil):
		return invalidFile("oldContent and content are required for update")
	}
	return nil
}

// file does what a call asks for.
func (c *call) file(ctx context.Context, f *filesCall, place filesPlace) (any, error) {
	filed, err := c.tree(place)
	if err != nil {
		return nil, err
	}
	if err := c.require(fileScopes[f.command]); err != nil {
		return nil, err
	}
	switch f.command {
	case commandRead:
		content, err := filed.Read(ctx, f.path)
		return readResult{c.tool.base.scrub(content)}, err
	case commandList:
		list, err := filed.List(ctx, f.path)
		entries := make([]listEntry, len(list))
		for n, info := range list {
			entries[n] = listEntry{info.Name, "file"}
			if info.Dir {
				entries[n].Kind = "dir"
			}
		}
		return listResult{entries}, err
	case commandAppend:
		_, err := filed.Append(ctx, f.path, *f.content)
		return appendResult{"ok"}, err
	case commandUpdate:
		n, err := filed.Update(ctx, f.path, *f.oldContent, *f.content)
		return updateResult{n}, err
	case commandSearch:
		return c.searchFiles(ctx, filed, f)
	}
	return c.deleteFiles(ctx, filed, f.path, "")
}

// searchFiles finds passages, as many as fit.
func (c *call) searchFiles(ctx context.Context, filed *tree.Tree, f *filesCall) (any, error) {
	b := c.tool.base
	q := tree.Query{Text: *f.query, Path: f.path, Limit: fileMatches}
	var err error
	if q.Since, q.Until, err = period(orEmpty(f.since), orEmpty(f.until)); err != nil {
		return nil, invalidFile(err.Error())
	}
	found, err := filed.Search(ctx, q)
	out, room := searchResult{Matches: []searchMatch{}}, b.cfg.ReplyCap-envelopeRoom-len(f.path)
	for n := range found.Matches {
		m := &found.Matches[n]
		whole, err := filed.Read(ctx, m.File.Path)
		if tree.ErrnoOf(err) == tree.ENOENT { // erased meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		shown := searchMatch{m.File.Path, m.First, m.Last, b.scrubPassage(m.Passage, whole), round(m.Score)}
		data, err := encode(shown)
		if err != nil {
			return nil, err
		}
		if room -= len(data) + 1; room < 0 {
			break
		}
		out.Matches = append(out.Matches, shown)
	}
	return out, err
}

// orEmpty is an argument that may be left out.
func orEmpty(given *string) string {
	if given == nil {
		return ""
	}
	return *given
}

// envelopeRoom is for what stands around the matches of a search.
const envelopeRoom = 256

var errUnwired = &loci.Error{Code: loci.NotFound, Err: tree.ENOTMEM, Msg: "ENOTMEM: memory is not connected",
	Recovery: "Ask the operator to connect the tool to a memory."}

// filesPlace says which tree a tool works on.
type filesPlace struct {
	memory    string
	perThread bool
	unwired   bool // there is none
}

// thread returns the thread whose tree the caller has; "" is the tree of all.
func (p filesPlace) thread(c *call) (string, error) {
	if !p.perThread {
		return "", nil
	}
	thread := c.Principal.Var(loci.VarThread)
	if thread == "" {
		return "", &loci.Error{Code: loci.Invalid, Err: tree.ENOTMEM, Msg: "threadId is required for perThread scope",
			Recovery: "Choose a thread with the request, or use a tree that all threads share."}
	}
	return thread, nil
}

// tree opens the tree that the caller has.
func (c *call) tree(place filesPlace) (*tree.Tree, error) {
	if place.unwired {
		return nil, errUnwired
	}
	if c.tool.base.engine == nil {
		return nil, &loci.Error{Code: loci.Unavailable, Err: tree.ENOTMEM, Msg: "memory is not configured"}
	}
	thread, err := place.thread(c)
	if err != nil {
		return nil, err
	}
	m, err := c.memory()
	if err != nil {
		return nil, err
	}
	return tree.Of(m, place.memory, thread)
}

// Scrub takes known credential formats out of what the tool's files hold, unless the
// configuration keeps them, for surfaces that show it without calling the tool.
func (t *Tool) Scrub(text string) string { return t.base.scrub(text) }

// HasFiles reports whether the tool works on a tree of files, so that [Tool.Tree] has
// one to give.
func (t *Tool) HasFiles() bool { return t.files != nil }

// Tree opens the tree that a tool with files gives a caller, for surfaces
// that show files in other ways. The caller needs the scope read. Unsupported: it is
// a tool of another family.
func (t *Tool) Tree(c Caller) (*tree.Tree, error) {
	if t.files == nil {
		return nil, loci.Errorf(loci.Unsupported, "the tool %s has no files", t.Name)
	}
	if err := cmp.Or(t.allowed(c.Principal), c.Principal.Require(loci.ScopeRead)); err != nil {
		return nil, err
	}
	return (&call{Caller: c, tool: t}).tree(*t.files)
}

// ConnectorText returns what [tree.ConnectorText] says of the tree that a tool
// of the family files gives a caller; tree and thread of the options are its own.
// Without a thread a tool with the scope perThread tells of the tree of all.
func (t *Tool) ConnectorText(ctx context.Context, c Caller, o tree.ConnectorOptions) (string, error) {
	if _, err := t.Tree(c); err != nil && tree.ErrnoOf(err) != tree.ENOTMEM {
		return "", err
	}
	inner := &call{Caller: c, tool: t}
	m, err := inner.memory()
	if err != nil {
		return "", err
	}
	o.Tree, o.Thread = t.files.memory, ""
	if t.files.perThread {
		o.Thread = c.Principal.Var(loci.VarThread)
	}
	return tree.ConnectorText(ctx, m, o)
}

// checkFiles looks at the settings of an entry that only the tool memory has.
func (i Instance) checkFiles(at int, applies bool) (faults []error) {
	for _, field := range []struct{ name, value string }{{"scope", i.Scope}, {"memory", i.Memory}, {"title", i.Title}, {"description", i.Description}} {
		if field.value != "" && !applies {
			faults = append(faults, fault(at, "%s is for the tool memory of the families files and claude only", field.name))
		}
	}
	switch {
	case !applies:
	case !slices.Contains([]string{"", ScopeGlobal, ScopePerThread}, i.Scope):
		faults = append(faults, fault(at, "unknown scope %q: must be one of %s, %s", i.Scope, ScopeGlobal, ScopePerThread))
	case i.Name != "" && !validFilesName.MatchString(i.Name):
		faults = append(faults, fault(at, "name %q must be 1 to 64 of a to z, 0 to 9 and _", i.Name))
	}
	if applies && len(i.Memory) > loci.MaxLabelBytes {
		faults = append(faults, fault(at, "memory has %d bytes; the limit is %d", len(i.Memory), loci.MaxLabelBytes))
	}
	if bytes.ContainsRune([]byte(i.Memory), 0) {
		faults = append(faults, fault(at, "memory must not contain a NUL character"))
	}
	return faults
}
