package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

// The commands of Anthropic's memory tool, memory_20250818.
const (
	claudeView       = "view"
	claudeCreate     = "create"
	claudeStrReplace = "str_replace"
	claudeInsert     = "insert"
	claudeDelete     = "delete"
	claudeRename     = "rename"
)

var claudeCommands = []string{claudeView, claudeCreate, claudeStrReplace, claudeInsert, claudeDelete, claudeRename}

var claudeScopes = map[string]loci.Scope{
	claudeView: loci.ScopeRead, claudeCreate: loci.ScopeWrite, claudeStrReplace: loci.ScopeWrite,
	claudeInsert: loci.ScopeWrite, claudeRename: loci.ScopeWrite, claudeDelete: loci.ScopeDelete,
}

// claudeNeeds are the arguments that a command cannot do without. new_str may be left
// out: the text goes.
var claudeNeeds = map[string][]string{
	claudeView: {"path"}, claudeCreate: {"path", "file_text"}, claudeStrReplace: {"path", "old_str"},
	claudeInsert: {"path", "insert_line", "insert_text"}, claudeDelete: {"path"}, claudeRename: {"old_path", "new_path"},
}

// claudeInput has the names and meanings that models know from the tool of the API.
type claudeInput struct {
	Command    string `json:"command"`
	Path       string `json:"path,omitempty"`
	ViewRange  []int  `json:"view_range,omitempty"`
	FileText   string `json:"file_text,omitempty"`
	OldStr     string `json:"old_str,omitempty" jsonschema:"a text that occurs once"`
	NewStr     string `json:"new_str,omitempty"`
	InsertLine int    `json:"insert_line,omitempty"`
	InsertText string `json:"insert_text,omitempty"`
	OldPath    string `json:"old_path,omitempty"`
	NewPath    string `json:"new_path,omitempty"`
}

// claudeRoot is the directory that the root of a tree is to the tool.
const claudeRoot = "/memories"

func claudeTool(b *base, t Tool, i Instance) *Tool {
	t.Title = cmp.Or(i.Title, "Memory")
	commands := i.commands(claudeCommands)
	t.Description = describe(cmp.Or(i.Description, claudeDescription(commands)), i)
	t.Timeout = time.Duration(b.cfg.WriteTimeout)
	t.commanded(commands, claudeScopes)
	schema := inputSchema[claudeInput]()
	choices(schema.Properties["command"], commands...)
	schema.Properties["view_range"] = &jsonschema.Schema{
		Type:        "array",
		Items:       &jsonschema.Schema{Type: "integer"},
		MinItems:    new(2),
		Description: "first and last line of a file, from 1; -1: the end",
	}
	schema.Properties["insert_line"] = &jsonschema.Schema{
		Type:        "integer",
		Minimum:     number(0),
		Description: "after which; 0: the start",
	}
	t.takes(schema)
	t.files = &filesPlace{memory: i.Memory, perThread: i.Scope == ScopePerThread, unwired: i.Unwired}
	place := *t.files
	t.bind = func(given arguments) (work, error) {
		in, err := claudeArguments(given)
		if err == nil && !slices.Contains(commands, in.Command) {
			err = loci.Errorf(loci.Invalid, "unknown command %q: must be one of %s", in.Command, strings.Join(commands, ", "))
		}
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, c *call) (Reply, error) {
			text, err := c.claude(ctx, in, place)
			return Reply{Text: text}, err
		}, nil
	}
	return &t
}

// claudeDescription tells a model what the tool does with the commands it has.
func claudeDescription(commands []string) string {
	explained := map[string]string{claudeView: "view (a file with line numbers, or a directory)", claudeCreate: "create (a new file: file_text)",
		claudeStrReplace: "str_replace (old_str, new_str)", claudeInsert: "insert (insert_text after insert_line)", claudeRename: "rename (old_path, new_path)"}
	var list []string
	writes := ""
	for _, c := range commands {
		list = append(list, cmp.Or(explained[c], c))
		if claudeScopes[c] == loci.ScopeWrite {
			writes = ", and write down what will matter later"
		}
	}
	return "Text files below /memories, which outlive this conversation. View /memories before anything else" + writes + ". Commands: " + strings.Join(list, ", ") + "."
}

// claudeArguments checks the form of a call. It ignores arguments of other commands, as
// the tool of the API does, and refuses names that no command has.
func claudeArguments(given arguments) (in claudeInput, err error) {
	fields := map[string]struct {
		to   any
		form string
	}{
		"command": {&in.Command, "a string"}, "path": {&in.Path, "a string"}, "file_text": {&in.FileText, "a string"},
		"old_str": {&in.OldStr, "a string"}, "new_str": {&in.NewStr, "a string"}, "insert_text": {&in.InsertText, "a string"},
		"old_path": {&in.OldPath, "a string"}, "new_path": {&in.NewPath, "a string"},
		"insert_line": {&in.InsertLine, "a whole number"}, "view_range": {&in.ViewRange, "a list of two whole numbers, such as [1, 20]"},
	}
	there := map[string]bool{}
	for _, a := range given {
		f, known := fields[a.name]
		switch {
		case !known:
			return in, loci.Errorf(loci.Invalid, "unknown argument %q: the arguments are command, path, view_range, file_text, old_str, new_str, insert_line, insert_text, old_path, new_path", clip(a.name, 64))
		case string(a.value) == "null":
			continue // as if it were absent
		case json.Unmarshal(a.value, f.to) != nil, a.name == "view_range" && len(in.ViewRange) != 2:
			return in, loci.Errorf(loci.Invalid, "%s must be %s, got %s", a.name, f.form, kindOf(a.value))
		}
		there[a.name] = true
	}
	if !slices.Contains(claudeCommands, in.Command) {
		return in, loci.Errorf(loci.Invalid, "unknown command %q: must be one of %s", clip(in.Command, 64), strings.Join(claudeCommands, ", "))
	}
	for _, name := range claudeNeeds[in.Command] {
		if !there[name] {
			return in, loci.Errorf(loci.Invalid, "%s is required for %s", name, in.Command)
		}
	}
	return in, nil
}

// claudePath turns a path of the tool into one of the tree.
func claudePath(path string) (string, error) {
	rest, below := strings.CutPrefix(path, claudeRoot)
	if !below || rest != "" && rest[0] != '/' {
		return "", invalidFile("Path must start with /memories, got: " + clip(path, 300))
	}
	for name := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '/' || r == '\\' }) {
		if name == ".." {
			return "", invalidFile("Path " + clip(path, 300) + " would escape /memories directory")
		}
	}
	clean, err := tree.CleanPath("/" + rest)
	if err != nil {
		e := *loci.AsError(err)
		e.Msg += ": names have letters A to Z, digits, _, -, . and spaces, but no two periods in a row, and at most 255 characters, in at most 32 levels"
		return "", &e
	}
	return clean, nil
}

// claude does what a call asks for, and says so in the words of the reference
// implementation of Anthropic's Python SDK (2.11).
func (c *call) claude(ctx context.Context, in claudeInput, place filesPlace) (string, error) {
	from, to := in.Path, ""
	if in.Command == claudeRename {
		from = in.OldPath
	}
	path, err := claudePath(from)
	if err == nil && in.Command == claudeRename {
		to, err = claudePath(in.NewPath)
	}
	if err != nil {
		return "", err
	}
	files, err := c.tree(place)
	if err == nil {
		err = c.require(claudeScopes[in.Command])
	}
	if err != nil {
		return "", err
	}
	switch in.Command {
	case claudeView:
		return c.claudeView(ctx, files, in, path)
	case claudeCreate:
		_, err = files.Write(ctx, path, in.FileText, &tree.WriteOptions{Create: true})
		if e := tree.ErrnoOf(err); e == tree.EEXIST || e == tree.EISDIR {
			return "", claudeError(loci.Conflict, err, "File %s already exists", in.Path)
		}
		return "File created successfully at: " + in.Path, err
	case claudeStrReplace:
		return c.claudeStrReplace(ctx, files, in, path)
	case claudeInsert:
		_, err = files.Edit(ctx, path, []any{"insert lines", in.InsertLine, in.InsertText}, func(old string) (string, error) {
			return insertLines(old, in.InsertLine, in.InsertText)
		})
		return "The file " + in.Path + " has been edited.", claudeNoFile(err, in.Path)
	case claudeDelete:
		return c.claudeDelete(ctx, files, in, path)
	}
	return c.claudeRename(ctx, files, in, path, to)
}

// claudeError words an error again; its kind stays.
func claudeError(code loci.Code, cause error, format string, args ...any) error {
	return &loci.Error{Code: code, Err: tree.ErrnoOf(cause), Msg: fmt.Sprintf(format, args...), Recovery: "View /memories to see what is there."}
}

// claudeNoFile words what is wrong with the path of a file to change.
func claudeNoFile(err error, path string) error {
	switch tree.ErrnoOf(err) {
	case tree.ENOENT:
		return claudeError(loci.NotFound, err, "The path %s does not exist. Please provide a valid path.", path)
	case tree.EISDIR:
		return claudeError(loci.Invalid, err, "The path %s is not a file.", path)
	}
	return err
}

// claudeEcho bounds what of an argument is repeated in an error, so that its end,
// which says what is wrong, is not cut off.
const claudeEcho = 400

func (c *call) claudeStrReplace(ctx context.Context, files *tree.Tree, in claudeInput, path string) (string, error) {
	done, err := files.ReplaceOnce(ctx, path, in.OldStr, in.NewStr)
	var o *tree.OccurrencesError
	if errors.As(err, &o) {
		old := in.OldStr
		if short := clip(old, claudeEcho); short != old {
			old = short + "…"
		}
		if len(o.Lines) == 0 {
			return "", claudeError(loci.Invalid, err, "No replacement was performed, old_str `%s` did not appear verbatim in %s.", old, clip(in.Path, claudeEcho))
		}
		lines := make([]string, min(len(o.Lines), 40))
		for n := range lines {
			lines[n] = fmt.Sprint(o.Lines[n])
		}
		if len(o.Lines) > len(lines) {
			lines = append(lines, "…")
		}
		return "", claudeError(loci.Invalid, err, "No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique",
			old, strings.Join(lines, ", "))
	}
	if err != nil {
		return "", claudeNoFile(err, in.Path)
	}
	const edited = "The memory file has been edited."
	// Show what was written, and not what others have made of it since. A repeated call
	// may find it gone although the edit was done.
	content, err := files.ReadVersion(ctx, path, done.Version)
	if err != nil {
		return edited, nil //nolint:nilerr // as said
	}
	lines, at := strings.Split(c.tool.base.scrub(content), "\n"), int(done.Line)-1
	first, last := max(0, at-2), min(len(lines), at+3)
	if first >= last { // the lines went away with the secrets in them
		return edited, nil
	}
	return edited + " Here is the snippet showing the change (with line numbers):\n" + numbered(lines[first:last], first+1), nil
}

// insertLines puts a text after some lines; it and the file end with a line end.
func insertLines(old string, after int, text string) (string, error) {
	lines := strings.Split(old, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if after < 0 || after > len(lines) {
		return "", invalidFile(fmt.Sprintf("Invalid `insert_line` parameter: %d. It should be within the range [0, %d].", after, len(lines)))
	}
	joined := strings.Join(slices.Insert(lines, after, strings.TrimRight(text, "\n")), "\n")
	if !strings.HasSuffix(joined, "\n") {
		joined += "\n"
	}
	return joined, nil
}

func (c *call) claudeDelete(ctx context.Context, files *tree.Tree, in claudeInput, path string) (string, error) {
	if path == "/" {
		return "", invalidFile("Cannot delete the /memories directory itself")
	}
	n, err := c.deleteFiles(ctx, files, path, claudeRoot)
	if err == nil && n == (tree.Counts{}) {
		return "", claudeError(loci.NotFound, tree.ENOENT, "The path %s does not exist", in.Path)
	}
	return "Successfully deleted " + in.Path, err
}

func (c *call) claudeRename(ctx context.Context, files *tree.Tree, in claudeInput, from, to string) (string, error) {
	if from == "/" {
		return "", invalidFile("Cannot rename the /memories directory itself")
	}
	var err error
	if from == to { // nothing to do for a tree; to the tool its own path is taken
		if _, err = files.Stat(ctx, from); err == nil {
			err = tree.EEXIST
		}
	} else {
		err = files.Rename(ctx, from, to)
	}
	if e := tree.ErrnoOf(err); e == tree.ENOENT || e == tree.EINVAL { // the reference looks at the destination first
		if _, there := files.Stat(ctx, to); there == nil {
			err = tree.EEXIST
		}
	}
	switch tree.ErrnoOf(err) {
	case tree.ENOENT:
		return "", claudeError(loci.NotFound, err, "The path %s does not exist", in.OldPath)
	case tree.EEXIST:
		return "", claudeError(loci.Conflict, err, "The destination %s already exists", in.NewPath)
	}
	return "Successfully renamed " + in.OldPath + " to " + in.NewPath, err
}
