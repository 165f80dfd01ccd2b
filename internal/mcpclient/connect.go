package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/entry"
	"github.com/loci-memory/loci/internal/linediff"
	"github.com/loci-memory/loci/internal/spelling"
)

// A Result is what became of one client.
type Result struct {
	Client  string `json:"client"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Outcome string `json:"outcome"` // of the outcomes below
	Command string `json:"command,omitempty"`
	Diff    string `json:"diff,omitempty"`
	Error   string `json:"error,omitempty"`

	// Restored says that an entry of somebody else, which ours had taken the place of, is back.
	Restored bool `json:"restored,omitempty"`

	Err error `json:"-"`
}

// The outcomes; "would be" ones are of a dry run.
const (
	Found     = "found"     // listed: not connected yet
	Connected = "connected" // the entry was written, or was there in a list
	Unchanged = "unchanged"
	Differs   = "differs" // an entry of ours says something else
	Other     = "other"   // an entry of the name starts something else
	Removed   = "removed"
	Planned   = "planned"
	Failed    = "failed"
)

// A Setup says how clients are to be connected, or disconnected.
type Setup struct {
	Project bool // in the file of the project that is the working directory, not in the user's
	Replace bool // an entry of the name that says something else
	Remove  bool // take the entry out instead
	DryRun  bool // say what would be done, and do nothing
}

// State says whether a client knows Loci.
func (c *Setup) State(sys System, client Client, to Target) Result {
	r := Result{Client: client.ID, Name: client.Name, Outcome: Found, File: c.path(sys, client)}
	file, err := readFile(r.File)
	if err == nil {
		var value any
		var found bool
		if value, found, err = client.format.Get(file.text, client.at()...); found && err == nil {
			switch r.Outcome = Differs; {
			case !client.ours(value, to):
				r.Outcome = Other
			case says(value, client.entry(to)):
				r.Outcome = Connected
			case !to.Chosen && starts(value, to):
				r.Outcome = Connected // with flags of its own, and none were asked for now
			}
		}
	}
	return r.failed(err)
}

func (r Result) failed(err error) Result {
	if err != nil {
		r.Outcome, r.Error, r.Err = Failed, err.Error(), err
	}
	return r
}

// path is the file that an entry goes to.
func (c *Setup) path(sys System, client Client) string {
	if c.Project {
		return client.project
	}
	return client.file(sys)
}

func (c Client) at() []string { return append(slices.Clone(c.path), entryName) }

// says reports whether an entry holds our fields; a client may have added some of its own.
func says(value any, ours entry.Fields) bool {
	fields, ok := value.(map[string]any)
	for name, want := range ours.Plain().(map[string]any) {
		ok = ok && reflect.DeepEqual(fields[name], want)
	}
	return ok && len(ours) > 0
}

// Connect does what is to be done for one client.
func (c *Setup) Connect(ctx context.Context, sys System, client Client, to Target) Result {
	r := c.State(sys, client, to)
	switch {
	case r.File == "":
		return r.failed(client.noProject())
	case r.Err != nil:
		return r.failed(client.unreadable(r))
	case !c.Remove && client.entry(to) == nil:
		return r.failed(client.noAddress())
	case c.Remove && r.Outcome == Found, !c.Remove && r.Outcome == Connected:
		r.Outcome = Unchanged
		return r.failed(c.tidy(r.File))
	}
	if err := c.conflict(r); err != nil {
		return r.failed(err)
	}
	command := client.remove
	if !c.Remove && client.add != nil {
		command = client.add(to)
	}
	if len(command) > 0 && !c.Project && (c.Remove && !client.hasDisplaced(r.File, to) || r.Outcome == Found) {
		if path, err := sys.lookPath(command[0]); err == nil {
			return c.run(ctx, sys, client, to, r, append([]string{path}, command[1:]...))
		}
	}
	return c.edit(client, to, r)
}

// tidy takes away what an earlier setup that was killed has left beside a file.
func (c *Setup) tidy(path string) error {
	file, err := readFile(path)
	if err != nil || c.DryRun {
		return err
	}
	return file.tidy(c.Remove)
}

// conflict refuses to touch an entry that somebody else has written, or written otherwise.
func (c *Setup) conflict(r Result) error {
	switch {
	case c.Replace || r.Outcome != Differs && r.Outcome != Other:
		return nil
	case !c.Remove:
		return &loci.Error{
			Code:     loci.Conflict,
			Msg:      fmt.Sprintf("%s has an entry named %q that says something else", r.File, entryName),
			Recovery: "Look at it, and give --replace to replace it or --remove to take it out.",
		}
	case r.Outcome == Other:
		return &loci.Error{
			Code:     loci.Conflict,
			Msg:      fmt.Sprintf("%s has an entry named %q that starts something else; it was left there", r.File, entryName),
			Recovery: "Look at it; --remove with --replace takes it out.",
		}
	}
	return nil
}

// unreadable says what a person can do about a file that could not be read.
func (c Client) unreadable(r Result) error {
	if typed := (*loci.Error)(nil); errors.As(r.Err, &typed) {
		said := *typed // it names the file
		said.Msg += "; nothing was changed"
		return &said
	}
	return &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("%s: %v; nothing was changed", r.File, r.Err), Err: r.Err,
		Recovery: "Mend the file, then run \"loci setup " + c.ID + "\"; \"loci setup --print " + c.ID + "\" shows what to enter."}
}

// unchangeable is unreadable for a file that could be read, and that says the fault itself
// where it is an error of ours.
func (c Client) unchangeable(r Result, err error) error {
	if typed := (*loci.Error)(nil); errors.As(err, &typed) {
		return err
	}
	r.Err = err
	return c.unreadable(r)
}

// run lets the client's own command change its file. The file is kept as a backup like one
// that is edited.
func (c *Setup) run(
	ctx context.Context, sys System, client Client, to Target, r Result, command []string,
) Result {
	if r.Command = strings.Join(command, " "); c.DryRun {
		return c.edit(client, to, r)
	}
	file, err := readFile(r.File)
	if err != nil {
		return r.failed(err)
	}
	before := client.before(file, to)
	if !c.Remove && before == nil {
		if err := file.keep(); err != nil {
			return r.failed(err)
		}
	}
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Env = sys.Environ
	if out, err := run.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out))
		return r.failed(
			&loci.Error{
				Code:     loci.Unavailable,
				Msg:      fmt.Sprintf("%q failed: %v: %s", r.Command, err, said),
				Err:      err,
				Recovery: "Update " + client.Name + ", or enter it by hand: \"loci setup --print " + client.ID + "\" shows how.",
			},
		)
	}
	after := c.State(sys, client, to)
	switch {
	case after.Err != nil:
		return r.failed(after.Err)
	case c.Remove && after.Outcome == Found:
		r.Outcome = Removed
		return r.failed(restored(r.File, before))
	case !c.Remove && after.Outcome == Connected:
		r.Outcome = Connected
	default:
		return r.failed(
			loci.Errorf(loci.Unavailable, "%q succeeded, but %s does not show the entry", r.Command, r.File),
		)
	}
	return r
}

// restored puts back what a file was before, where a command has taken the entry out of it.
func restored(path string, before *file) error {
	now, err := readFile(path)
	if err != nil {
		return err
	}
	if before != nil && !before.exists {
		before = nil // the client keeps what it has made of its file
	}
	return now.restore(before, now.text)
}

// edit changes the file itself.
func (c *Setup) edit(client Client, to Target, r Result) Result {
	file, err := readFile(r.File)
	if err != nil {
		return r.failed(err)
	}
	displaced := client.displaced(file, to)
	var changed []byte
	switch {
	case c.Remove && displaced != nil:
		r.Restored = true
		changed, err = client.takeBack(file, displaced)
	case c.Remove:
		changed, err = client.format.Remove(file.text, client.at()...)
	default:
		changed, err = client.format.Set(file.text, client.entry(to), client.at()...)
	}
	if errors.Is(err, entry.ErrUneditable) && !r.Restored {
		err = &loci.Error{
			Code:     loci.Unsupported,
			Msg:      fmt.Sprintf("%s: %v", r.File, err),
			Err:      err,
			Recovery: "\"loci setup --print " + client.ID + "\" shows what to enter.",
		}
	}
	if err != nil {
		return r.failed(client.unchangeable(r, err))
	}
	if r.Diff = linediff.Unified(r.File, r.File, string(file.text), string(changed)); c.DryRun {
		r.Outcome = Planned
		return r
	}
	r.Diff = ""
	before := client.before(file, to)
	if c.Remove {
		r.Outcome = Removed
		return r.failed(file.restore(before, changed))
	}
	r.Outcome = Connected
	return r.failed(file.replace(changed, before == nil && displaced == nil))
}

// before returns what the file was before setup wrote its entry: its backup, or nothing;
// nil where something else has changed since.
func (c Client) before(file *file, to Target) *file {
	value, _, err := c.format.Get(file.text, c.at()...)
	if err != nil || value == nil {
		return nil
	}
	backup, err := readFile(file.backup())
	if err != nil {
		return nil
	}
	if theirs, found, err := c.format.Get(backup.text, c.at()...); found && c.ours(theirs, to) || err != nil {
		return nil
	}
	if len(c.remove) > 0 && backup.exists && c.format.Alike(file.text, backup.text, c.at()...) {
		return backup // the client's own command lays the file out as it likes
	}
	written := c.again(value)
	if written == nil {
		return nil
	}
	if now, err := c.format.Set(backup.text, written, c.at()...); err != nil || !bytes.Equal(now, file.text) {
		return nil
	}
	return backup
}

// again returns the fields of an entry that setup wrote, in the order in which it wrote
// them; nil for an entry of another hand.
func (c Client) again(value any) entry.Fields {
	there, _ := value.(map[string]any)
	for _, form := range []Target{{Command: "-"}, {URL: "-"}, {URL: "-", Token: "-"}} {
		fields := c.entry(form)
		same := len(fields) == len(there)
		for i := range fields {
			value, found := there[fields[i].Name]
			if list, ok := value.([]any); ok {
				value = texts(list)
			}
			fields[i].Value, same = value, same && found
		}
		if same && len(fields) > 0 {
			return fields
		}
	}
	return nil
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = fmt.Sprint(item)
	}
	return out
}

// starts reports whether an entry starts this program, with whatever flags.
func starts(value any, to Target) bool {
	fields, _ := value.(map[string]any)
	for _, name := range []string{"command", "cmd"} {
		there := fields[name]
		if list, ok := there.([]any); ok && len(list) > 0 {
			there = list[0]
		}
		if there == to.Command {
			return true
		}
	}
	return false
}

// ours reports whether an entry is one of Loci, whoever wrote it: it starts a program or an
// image of the name, or asks the address that setup would write.
func (c Client) ours(value any, to Target) bool {
	fields, _ := value.(map[string]any)
	for _, name := range []string{"command", "cmd", "args"} {
		list, ok := fields[name].([]any)
		if !ok {
			list = []any{fields[name]}
		}
		for _, item := range list {
			word, _ := item.(string)
			base := word[strings.LastIndexAny(word, `/\`)+1:]
			base, _, _ = strings.Cut(strings.TrimSuffix(base, ".exe"), ":") // the tag of an image
			if base == "loci" || strings.Contains(word, "loci-memory") || to.Command != "" && word == to.Command {
				return true
			}
		}
	}
	for _, name := range []string{"url", "httpUrl", "serverUrl", "uri"} {
		text, _ := fields[name].(string)
		at, err := url.Parse(text)
		if err == nil && text != "" && (text == to.URL || c.again(value) != nil && strings.HasPrefix(at.Path+"/", "/mcp/")) {
			return true
		}
	}
	return false
}

// Named returns the clients of these names.
func Named(names []string) ([]Client, error) {
	ids := IDs()
	var chosen []Client
	for _, name := range names {
		if _, err := spelling.OneOf(name, ids...); err != nil {
			return nil, &loci.Error{
				Code:     loci.Invalid,
				Msg:      fmt.Sprintf("the client %v", err),
				Recovery: "For any other client, \"loci setup --print\" shows what to enter.",
			}
		}
		if !slices.ContainsFunc(chosen, func(c Client) bool { return c.ID == name }) {
			chosen = append(chosen, clients[slices.Index(ids, name)])
		}
	}
	return chosen, nil
}

// Has reports whether a client is on this machine.
func (s System) Has(c Client) bool {
	for _, program := range c.programs {
		if _, err := s.lookPath(program); err == nil {
			return true
		}
	}
	info, err := os.Stat(c.traces(s))
	return err == nil && info.IsDir()
}

// lookPath finds a program on the PATH of the run's environment.
func (s System) lookPath(program string) (string, error) {
	for _, dir := range filepath.SplitList(s.Get("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// InWords is the state of a client in a list.
func (r Result) InWords() string {
	switch r.Outcome {
	case Found:
		return "not connected"
	case Connected:
		return "connected"
	case Differs:
		return "another entry of Loci"
	case Other:
		return "another entry named loci"
	}
	return "its file cannot be read"
}

// IDs are the names of all clients that are known, as a person types them.
func IDs() []string {
	ids := make([]string, len(clients))
	for i, client := range clients {
		ids[i] = client.ID
	}
	return ids
}

// All lists every client that is known.
func All() []Client { return slices.Clone(clients) }

// HasProject reports whether the client reads a file in the directory of a project.
func (c Client) HasProject() bool { return c.project != "" }

// File is the path of the file that an entry goes to.
func (c *Setup) File(sys System, client Client) (string, error) {
	path := c.path(sys, client)
	if path == "" {
		return "", client.noProject()
	}
	return path, nil
}

func (c Client) noProject() error {
	return &loci.Error{Code: loci.Invalid, Msg: c.Name + " has no file for a project", Recovery: "Leave out --project."}
}

// Common is the form of entry that most clients share.
func Common() Client {
	return Client{Name: "Most clients", path: []string{"mcpServers"}, entry: address("url")}
}

// Text is a file of the client with nothing but the entry.
func (c Client) Text(to Target) ([]byte, error) {
	fields := c.entry(to)
	if fields == nil {
		return nil, c.noAddress()
	}
	return c.format.Set(nil, fields, c.at()...)
}

func (c Client) noAddress() error {
	return &loci.Error{
		Code:     loci.Unsupported,
		Msg:      c.Name + " cannot be connected to an address by its file",
		Recovery: "Leave out --http and --url.",
	}
}
