package tool

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/loci-memory/loci"
)

// Defaults of [Config].
const (
	DefaultReplyCap      = 16 << 10
	DefaultMaxArguments  = 1 << 20
	DefaultSearchTimeout = Duration(15 * time.Second)
	DefaultWriteTimeout  = Duration(10 * time.Second)
	DefaultSearchLimit   = 10
	DefaultTopK          = 5

	// MaxEntries bounds [Config].Entries: each makes tools and their schemas.
	MaxEntries = 256

	maxSearchLimit = 100
	maxTopK        = 20
)

// A Config says which tools there are and how they work. The zero value of each
// field means its default.
type Config struct {
	// Entries are the tools, in order; default: the family "notes".
	Entries []Instance `json:"entries,omitempty" yaml:"entries,omitempty"`

	ReplyCap     int `json:"reply_cap,omitempty" yaml:"reply_cap,omitempty"`         // bytes of a reply's text, 256 to 1 MiB; default 16 KiB
	MaxArguments int `json:"max_arguments,omitempty" yaml:"max_arguments,omitempty"` // bytes of a call's arguments, at least 256; default 1 MiB

	SearchTimeout Duration `json:"search_timeout,omitempty" yaml:"search_timeout,omitempty"` // of tools that only read; default 15s
	WriteTimeout  Duration `json:"write_timeout,omitempty" yaml:"write_timeout,omitempty"`   // of the others; default 10s

	SearchLimit int `json:"search_limit,omitempty" yaml:"search_limit,omitempty"` // results of search_memory that names no limit, 1 to 100; default 10
	TopK        int `json:"top_k,omitempty" yaml:"top_k,omitempty"`               // results of memory_search that names no top_k, 1 to 20; default 5

	// KeepSecrets shows credentials that were stored as written, instead of "[REDACTED]".
	KeepSecrets bool `json:"keep_secrets,omitempty" yaml:"keep_secrets,omitempty"`

	Logger *slog.Logger `json:"-" yaml:"-"` // default slog.Default(); gets panics
}

// An Instance is a family of tools, or one tool of a family. At least one of
// Family and Tool is set. A Tool whose name two families have is that of the one
// that comes first in [Families], unless Family says otherwise.
type Instance struct {
	Family string `json:"family,omitempty" yaml:"family,omitempty"` // one of [Families]
	Tool   string `json:"tool,omitempty" yaml:"tool,omitempty"`     // such as search_memory; default: all of Family

	// Name is what the model calls the tool; default: Tool. 1 to 64 letters,
	// digits, "_" and "-". For one tool only.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`

	// Prefix comes before the names of all tools of a family, so that families that
	// share a name can be offered together. 1 to 32 letters, digits, "_" and "-".
	Prefix string `json:"prefix,omitempty" yaml:"prefix,omitempty"`

	// Namespace is where the memory is: labels, of which one that is exactly
	// "{name}" stands for the caller's variable of that name. See [loci.Template].
	Namespace []string `json:"namespace,omitempty" yaml:"namespace,omitempty"`

	// Instructions tell the model when to call; default: our own. A family gives
	// them to the tool that stores.
	Instructions string `json:"instructions,omitempty" yaml:"instructions,omitempty"`

	// ActionsPermitted are what manage_memory may do: create, update, delete;
	// default: all.
	ActionsPermitted []string `json:"actions_permitted,omitempty" yaml:"actions_permitted,omitempty"`

	// ResponseFormat of search_memory: content (the default) is text alone,
	// content_and_artifact adds the raw objects in the structured form.
	ResponseFormat string `json:"response_format,omitempty" yaml:"response_format,omitempty"`

	// MinScore of the tools that search is the least score of a result where the call
	// names none, 0 to 1; default 0: whatever fits best.
	MinScore float64 `json:"min_score,omitempty" yaml:"min_score,omitempty"`

	// Of this entry, in place of what all tools have: the time limit of a call, 1ms to 10m; how careful
	// clients are to be, SideEffecting also for tools that only read; and how many results a search
	// gives that names no number.
	Timeout Duration `json:"timeout,omitempty" yaml:"timeout,omitempty"`
	Tier    Tier     `json:"tier,omitempty" yaml:"tier,omitempty"`
	TopK    int      `json:"top_k,omitempty" yaml:"top_k,omitempty"`

	// Weights of the scores of memory_recall and memory_context; default: those of the engine.
	Weights *loci.RecallWeights `json:"weights,omitempty" yaml:"weights,omitempty"`

	names map[string]string // what the tools of the entry are called, by their own names

	// Unwired tools of files have no memory: every call is ENOTMEM.
	Unwired bool `json:"-" yaml:"-"`

	// Commands are what the tool memory of the families files and claude may do, such as
	// read and list; default: all.
	Commands []string `json:"commands,omitempty" yaml:"commands,omitempty"`

	// Of the tool memory of the families files and claude: which tree it works on, the default being
	// [tree.DefaultName], so that several tools may share one; whether every thread
	// has its own, global (the default) or perThread; and what clients show.
	Memory      string `json:"memory,omitempty" yaml:"memory,omitempty"`
	Scope       string `json:"scope,omitempty" yaml:"scope,omitempty"`
	Title       string `json:"title,omitempty" yaml:"title,omitempty"`
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
}

// The response formats of search_memory.
const (
	FormatContent            = "content"
	FormatContentAndArtifact = "content_and_artifact"
)

// A Duration is a time.Duration that is written as text, such as "10s".
type Duration time.Duration

// MarshalText writes the form of [time.Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the form of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return loci.Errorf(loci.Invalid, "duration %q: write a number and a unit, such as 10s", clip(string(text), 40))
	}
	*d = Duration(parsed)
	return nil
}

// complete puts defaults in and returns what is out of range.
func (c *Config) complete() (faults []error) {
	if len(c.Entries) == 0 {
		c.Entries = []Instance{{Family: FamilyNotes}}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	for _, f := range []struct {
		name              string
		field             *int
		preset, low, high int
	}{
		{"reply_cap", &c.ReplyCap, DefaultReplyCap, 256, 1 << 20},
		{"max_arguments", &c.MaxArguments, DefaultMaxArguments, 256, 64 << 20},
		{"search_limit", &c.SearchLimit, DefaultSearchLimit, 1, maxSearchLimit},
		{"top_k", &c.TopK, DefaultTopK, 1, maxTopK},
	} {
		if *f.field == 0 {
			*f.field = f.preset
		}
		if *f.field < f.low || *f.field > f.high {
			faults = append(faults, loci.Errorf(loci.Invalid, "%s is %d; it must be %d to %d", f.name, *f.field, f.low, f.high))
		}
	}
	for _, f := range []struct {
		name   string
		field  *Duration
		preset Duration
	}{
		{"search_timeout", &c.SearchTimeout, DefaultSearchTimeout},
		{"write_timeout", &c.WriteTimeout, DefaultWriteTimeout},
	} {
		if *f.field == 0 {
			*f.field = f.preset
		}
		if d := time.Duration(*f.field); d < time.Millisecond || d > 10*time.Minute {
			faults = append(faults, loci.Errorf(loci.Invalid, "%s is %s; it must be 1ms to 10m", f.name, d))
		}
	}
	return faults
}

// fault is something wrong with an entry.
func fault(at int, format string, args ...any) error {
	return loci.Errorf(loci.Invalid, "tools entry %d: %s", at+1, fmt.Sprintf(format, args...))
}
