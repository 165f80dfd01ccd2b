package tool

import (
	"cmp"
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

// A ConnectorConfig says which tree of files a connector tells of, and how. The zero
// value of each field means its default.
type ConnectorConfig struct {
	Memory string // the name of the tree; default [tree.DefaultName]
	Scope  string // global (the default), or perThread: the tree of the caller's thread; one without files gives way to that of all

	Placement tree.Placement
	Content   tree.ConnectorContent
	MaxChars  int

	Unwired bool // there is no memory: every call is ENOTMEM
}

// A Connector puts what a caller's tree of files holds into conversations. It is safe
// for concurrent use.
type Connector struct {
	tool    *Tool // that a call of it would be one of
	opts    tree.ConnectorOptions
	unwired bool
}

// NewConnector makes a connector. Without an engine every call is Unavailable.
func NewConnector(engine *loci.Engine, cfg ConnectorConfig) (*Connector, error) {
	if cfg.Scope != "" && cfg.Scope != ScopeGlobal && cfg.Scope != ScopePerThread {
		return nil, loci.Errorf(loci.Invalid, "unknown scope %q: must be one of %s, %s", cfg.Scope, ScopeGlobal, ScopePerThread)
	}
	k := &Connector{
		opts: tree.ConnectorOptions{
			Tree: cfg.Memory, Placement: cfg.Placement, Content: cfg.Content, MaxChars: cfg.MaxChars,
		},
		tool: &Tool{Name: "connector", Family: FamilyFiles, base: &base{engine: engine}}, unwired: cfg.Unwired,
	}
	k.tool.files = &filesPlace{memory: cfg.Memory, perThread: cfg.Scope == ScopePerThread}
	return k, k.opts.Validate()
}

// Inject returns the messages with a message that tells of the caller's memory; see
// [tree.Connect]. The caller needs the scope read.
func (k *Connector) Inject(ctx context.Context, c Caller, messages []tree.ChatMessage) ([]tree.ChatMessage, error) {
	m, o, err := k.memory(c)
	if err != nil {
		return nil, err
	}
	return tree.Connect(ctx, m, messages, o)
}

// Text returns what [Connector.Inject] adds; "": nothing.
func (k *Connector) Text(ctx context.Context, c Caller) (string, error) {
	m, o, err := k.memory(c)
	if err != nil {
		return "", err
	}
	return tree.ConnectorText(ctx, m, o)
}

func (k *Connector) memory(c Caller) (*loci.Memory, tree.ConnectorOptions, error) {
	o := k.opts
	if err := cmp.Or(k.tool.allowed(c.Principal), c.Principal.Require(loci.ScopeRead)); err != nil {
		return nil, o, err
	}
	if k.unwired {
		return nil, o, errUnwired
	}
	if k.tool.files.perThread {
		o.Thread = c.Principal.Var(loci.VarThread)
	}
	m, err := (&call{Caller: c, tool: k.tool}).memory()
	return m, o, err
}
