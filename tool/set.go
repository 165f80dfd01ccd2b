package tool

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// The families of tools.
const (
	FamilyFacts    = "facts"    // manage_memory, search_memory
	FamilyNotes    = "notes"    // memory_search, memory_save, memory_update, memory_delete
	FamilyMemory   = "memory"   // memory_recall, memory_store_fact and others: episodes, facts and rules
	FamilySessions = "sessions" // memory_list_sessions and others: earlier conversations
	FamilyFiles    = "files"    // memory: a tree of text files
	FamilyClaude   = "claude"   // memory: the same tree, as Anthropic's memory tool
)

// PresetAll is an entry of the configuration that stands for all families that one
// agent can use side by side.
const PresetAll = "all"

var presetAll = []string{FamilyNotes, FamilyMemory, FamilyFacts, FamilyFiles, FamilySessions}

// Families lists the families there are.
func Families() []string {
	return []string{FamilyFacts, FamilyNotes, FamilyMemory, FamilyFiles, FamilyClaude, FamilySessions}
}

// A builder makes one tool for an entry of the configuration.
type builder struct {
	name   string // of the tool, unless the entry gives it another
	family string
	stores bool // gets the instructions of its family
	build  func(*base, Tool, Instance) *Tool
}

// builders are all tools, in the order in which a family lists them.
var builders = []builder{
	{"manage_memory", FamilyFacts, true, manageMemory},
	{"search_memory", FamilyFacts, false, searchMemory},
	{"memory_search", FamilyNotes, false, searchNotes},
	{"memory_save", FamilyNotes, true, saveNote},
	{"memory_update", FamilyNotes, false, updateNote},
	{"memory_delete", FamilyNotes, false, deleteNote},
	{"memory_store_episode", FamilyMemory, true, storeEpisode},
	{"memory_store_fact", FamilyMemory, true, storeFact},
	{"memory_store_rule", FamilyMemory, true, storeRule},
	{"memory_recall", FamilyMemory, false, recallMemories},
	{"memory_search", FamilyMemory, false, searchMemories},
	{"memory_context", FamilyMemory, false, memoryContext},
	{"memory_get", FamilyMemory, false, getMemory},
	{"memory_confirm", FamilyMemory, false, confirmMemory},
	{"memory_mark_helpful", FamilyMemory, false, markHelpful},
	{"memory_mark_harmful", FamilyMemory, false, markHarmful},
	{"memory_forget", FamilyMemory, false, forgetMemory},
	{"memory_stats", FamilyMemory, false, memoryStats},
	{"memory", FamilyFiles, true, filesTool},
	{"memory", FamilyClaude, true, claudeTool},
	{"memory_list_sessions", FamilySessions, false, listSessions},
	{"memory_read_session", FamilySessions, false, readSession},
	{"memory_search_sessions", FamilySessions, false, searchSessions},
	{"memory_delete_session", FamilySessions, false, deleteSession},
}

// base is what the tools of a set share.
type base struct {
	engine *loci.Engine
	cfg    Config
	logger *slog.Logger
	topK   int // of the entry; 0: each search has its own
}

// most is how many results a search gives that names no number.
func (b *base) most(preset int) int { return cmp.Or(b.topK, preset) }

// A Set is the tools of one configuration.
type Set struct {
	tools []*Tool
	named map[string]*Tool
}

// New makes the tools that cfg names. Without an engine they still exist and answer every
// call with "memory is not configured". The error joins everything that is wrong with
// cfg, each a [*loci.Error].
func New(engine *loci.Engine, cfg Config) (*Set, error) {
	if n := len(cfg.Entries); n > MaxEntries {
		return nil, loci.Errorf(loci.Invalid, "tools has %d entries; the limit is %d: leave some out", n, MaxEntries)
	}
	faults := cfg.complete()
	b := &base{engine: engine, cfg: cfg, logger: cfg.Logger}
	s := &Set{named: map[string]*Tool{}}
	taken := namesTaken{}
	for at, given := range cfg.Entries {
		for _, entry := range given.entries() {
			chosen, bad := entry.choose(at)
			bad = append(bad, entry.check(at, chosen)...)
			faults = append(faults, bad...)
			var twice []error
			entry.names, twice = taken.name(at, entry, chosen)
			faults = append(faults, twice...)
			if len(bad)+len(twice) > 0 {
				continue
			}
			for _, c := range chosen {
				if err := s.add(b, entry, c); err != nil {
					faults = append(faults, fault(at, "%v", err))
				}
			}
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return s, nil
}

// add makes a tool of an entry whose names are known.
func (s *Set) add(b *base, entry Instance, c builder) error {
	if entry.Family != "" && !c.stores {
		entry.Instructions = ""
	}
	own := *b
	own.topK = entry.TopK
	name := entry.called(c.name)
	renamed := name == c.family+"_"+c.name && entry.Prefix == "" && entry.Name == ""
	t := c.build(&own, Tool{Name: name, Original: c.name, Renamed: renamed,
		Family: c.family, base: &own, template: loci.Template(entry.Namespace)}, entry)
	if entry.Timeout != 0 {
		t.Timeout = time.Duration(entry.Timeout)
	}
	switch {
	case entry.Tier == ReadOnly && t.Tier != ReadOnly:
		return loci.Errorf(loci.Invalid, "tier is %s, but %s changes what is remembered: leave tier out, or choose tools that only read", ReadOnly, name)
	case entry.Tier == SideEffecting && t.Tier == ReadOnly:
		t.Tier, t.Annotations.ReadOnly, t.raised = SideEffecting, false, true
	}
	s.tools = append(s.tools, t)
	s.named[name] = t
	return nil
}

// entries are those that an entry stands for: itself, unless it is the preset.
func (i Instance) entries() (all []Instance) {
	if i.Family != PresetAll || i.Tool != "" {
		return []Instance{i}
	}
	for _, family := range presetAll {
		i.Family = family
		all = append(all, i)
	}
	return all
}

// called is what a tool of the entry is called.
func (i Instance) called(tool string) string { return cmp.Or(i.names[tool], i.Prefix+tool) }

// namesTaken are the names of the tools so far.
type (
	namesTaken map[string]holder
	holder     struct{ origin, family string }
)

// name gives the tools of an entry their names. A name that a tool of another family
// has gets its own family as prefix, unless the operator chose it.
func (n namesTaken) name(at int, entry Instance, chosen []builder) (names map[string]string, faults []error) {
	names = map[string]string{}
	origin := fmt.Sprintf("entry %d (%s)", at+1, entry)
	for _, c := range chosen {
		name := entry.Prefix + c.name
		if entry.Name != "" && entry.Tool != "" {
			name = entry.Name
		}
		if other, there := n[name]; there && entry.Name == "" && entry.Prefix == "" && other.family != c.family {
			name = c.family + "_" + c.name
		}
		if other, there := n[name]; there {
			faults = append(faults, loci.Errorf(loci.Invalid, "two tools are named %q, of %s and of %s: leave one out, or set a prefix for the names of one family, or a name for one tool",
				name, other.origin, origin))
			continue
		}
		n[name] = holder{origin, c.family}
		names[c.name] = name
	}
	return names, faults
}

// Tools lists the tools, in the order of the configuration.
func (s *Set) Tools() []*Tool { return slices.Clone(s.tools) }

// Lookup finds a tool by name.
func (s *Set) Lookup(name string) (t *Tool, ok bool) {
	t, ok = s.named[name]
	return t, ok
}

// String names what the entry is.
func (i Instance) String() string {
	switch {
	case i.Tool == "":
		return "family " + i.Family
	case i.Family == "":
		return "tool " + i.Tool
	}
	return "tool " + i.Tool + " of family " + i.Family
}

// choose finds the tools that an entry means: those of a family, one of them, or
// the first tool of a name.
func (i Instance) choose(at int) (chosen []builder, faults []error) {
	var names []string
	for _, b := range builders {
		if !slices.Contains(names, b.name) && (i.Family == "" || i.Family == b.family) {
			names = append(names, b.name)
		}
		switch {
		case i.Family == "" && i.Tool == "", i.Family != "" && i.Family != b.family, i.Tool != "" && i.Tool != b.name:
		case i.Family == "" && len(chosen) > 0: // a name that two families have is that of the first
		default:
			chosen = append(chosen, b)
		}
	}
	families := strings.Join(append(Families(), PresetAll), ", ")
	switch {
	case len(chosen) > 0:
	case i.Family == "" && i.Tool == "":
		faults = append(faults, fault(at, "set family (one of %s) or tool (one of %s)", families, strings.Join(names, ", ")))
	case i.Family != "" && len(names) == 0:
		faults = append(faults, fault(at, "unknown family %q: must be one of %s", i.Family, families))
	case i.Family != "":
		faults = append(faults, fault(at, "the family %s has no tool %q: must be one of %s", i.Family, i.Tool, strings.Join(names, ", ")))
	default:
		faults = append(faults, fault(at, "unknown tool %q: must be one of %s", i.Tool, strings.Join(names, ", ")))
	}
	return chosen, faults
}

var (
	validName      = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	validFilesName = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
	validPrefix    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,32}$`)
)

// check looks at the settings of an entry.
func (i Instance) check(at int, chosen []builder) (faults []error) {
	has := func(name string) bool {
		return len(chosen) == 0 || slices.ContainsFunc(chosen, func(b builder) bool { return b.name == name })
	}
	switch {
	case i.Name != "" && i.Tool == "":
		faults = append(faults, fault(at, "name is for one tool, not for a family: list the tools one by one"))
	case i.Name != "" && !validName.MatchString(i.Name):
		faults = append(faults, fault(at, "name %q must be 1 to 64 letters, digits, _ or -", i.Name))
	}
	switch {
	case i.Prefix != "" && i.Tool != "":
		faults = append(faults, fault(at, "prefix is for a family: give one tool another name with name"))
	case i.Prefix != "" && !validPrefix.MatchString(i.Prefix):
		faults = append(faults, fault(at, "prefix %q must be 1 to 32 letters, digits, _ or -", i.Prefix))
	}
	if i.Namespace != nil && len(i.Namespace) == 0 {
		faults = append(faults, fault(at, "namespace must not be empty: it would be the memory of everybody"))
	}
	if _, err := loci.ParseTemplate(i.Namespace); err != nil {
		faults = append(faults, fault(at, "%v", err))
	}
	for _, label := range i.Namespace {
		// "u-{user_id}" would be one fixed place that all users share unawares.
		inner := strings.TrimSuffix(strings.TrimPrefix(label, "{"), "}")
		if strings.ContainsAny(inner, "{}") || len(label)-len(inner) == 1 {
			faults = append(faults, fault(at, "namespace label %q: a variable must be the whole label, such as {user_id}", label))
		}
	}
	faults = append(faults, i.checkOwn(at, chosen)...)
	faults = append(faults, i.checkActions(at, has("manage_memory"))...)
	faults = append(faults, i.checkFiles(at, has("memory"))...)
	faults = append(faults, i.checkCommands(at, has("memory"))...)
	return append(faults, i.checkSearch(at, has)...)
}

// checkSearch looks at the settings of tools that search.
func (i Instance) checkSearch(at int, has func(name string) bool) (faults []error) {
	switch {
	case i.MinScore == 0:
	case !slices.ContainsFunc(searchTools, has):
		faults = append(faults, fault(at, "min_score is for tools that search: %s", strings.Join(searchTools, ", ")))
	case !(i.MinScore > 0 && i.MinScore <= 1):
		faults = append(faults, fault(at, "min_score is %v; it must be 0 to 1", i.MinScore))
	}
	switch {
	case i.ResponseFormat == "":
	case !has("search_memory"):
		faults = append(faults, fault(at, "response_format is for search_memory only"))
	case i.ResponseFormat != FormatContent && i.ResponseFormat != FormatContentAndArtifact:
		faults = append(faults, fault(at, "unknown response_format %q: must be one of %s, %s", i.ResponseFormat, FormatContent, FormatContentAndArtifact))
	}
	return faults
}

// searchTools are the tools that take min_score.
var searchTools = []string{"search_memory", "memory_search", "memory_recall", "memory_context"}

func (i Instance) checkActions(at int, applies bool) (faults []error) {
	switch {
	case i.ActionsPermitted == nil:
		return nil
	case !applies:
		return []error{fault(at, "actions_permitted is for manage_memory only")}
	case len(i.ActionsPermitted) == 0:
		return []error{fault(at, "actions_permitted cannot be empty")}
	}
	for n, a := range i.ActionsPermitted {
		switch {
		case !slices.Contains(allActions, a):
			faults = append(faults, fault(at, "unknown action %q: must be one of %s", a, strings.Join(allActions, ", ")))
		case slices.Contains(i.ActionsPermitted[:n], a):
			faults = append(faults, fault(at, "action %q is permitted twice: name it once", a))
		}
	}
	return faults
}

// Places lists where the tools keep the memories of a principal; a tool that needs a
// variable which the principal lacks is left out.
func (s *Set) Places(p loci.Principal) (places []loci.Namespace) {
	for _, t := range s.Tools() {
		n, err := t.template.Resolve(p.Vars())
		if err == nil && !slices.ContainsFunc(places, n.Equal) {
			places = append(places, n)
		}
	}
	return places
}
