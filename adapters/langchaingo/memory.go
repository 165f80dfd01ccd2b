package langchaingo

import (
	"cmp"
	"context"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

var _ schema.Memory = (*Memory)(nil)

// MemoryOptions say how a [Memory] meets its chain. The zero value is a buffer of the
// whole conversation, as langchaingo's ConversationBuffer.
type MemoryOptions struct {
	Options

	MemoryKey string // the variable of the conversation; default "history"

	// InputKey and OutputKey are the values of the chain that are stored as what the
	// person and what the model said. "": the only one there is.
	InputKey, OutputKey string

	ReturnMessages bool   // the conversation is a []llms.ChatMessage, not a text
	HumanPrefix    string // who a person is in the text; default "Human"
	AIPrefix       string // who a model is in the text; default "AI"

	// RelevantKey, when not empty, is one more variable: a text with the notes of the
	// handle, and the messages of the session before the newest Last (or 20), that
	// matter for the input. See [session.Handle.Retrieve].
	RelevantKey string

	// RelevantBudget is how many tokens that text has at most, up to 200,000. 0: 1000.
	RelevantBudget int
}

// A Memory gives a chain the conversation so far, and stores what is said: the input
// and the output of a call together, or neither.
type Memory struct {
	history *History
	memory  *loci.Memory
	opts    MemoryOptions
}

// NewMemory returns a memory over a session, as [NewHistory] does. Options may be nil.
func NewMemory(memory *loci.Memory, id string, opts *MemoryOptions) (*Memory, error) {
	m := &Memory{memory: memory}
	if opts != nil {
		m.opts = *opts
	}
	m.opts.MemoryKey = cmp.Or(m.opts.MemoryKey, "history")
	m.opts.HumanPrefix = cmp.Or(m.opts.HumanPrefix, "Human")
	m.opts.AIPrefix = cmp.Or(m.opts.AIPrefix, "AI")
	m.opts.RelevantBudget = cmp.Or(m.opts.RelevantBudget, session.DefaultRetrieveBudget)
	if m.opts.RelevantKey == m.opts.MemoryKey {
		return nil, loci.Errorf(loci.Invalid, "relevant key and memory key are both %q; they must differ", m.opts.MemoryKey)
	}
	if n := m.opts.RelevantBudget; n < 1 || n > 200_000 {
		return nil, loci.Errorf(loci.Invalid, "relevant budget is %d; it must be 1 to 200000 tokens", n)
	}
	var err error
	m.history, err = NewHistory(memory, id, &m.opts.Options)
	return m, err
}

// History is the conversation of the memory.
func (m *Memory) History() *History { return m.history }

// GetMemoryKey returns the variable of the conversation.
func (m *Memory) GetMemoryKey(context.Context) string { return m.opts.MemoryKey }

// MemoryVariables returns the variables that LoadMemoryVariables gives.
func (m *Memory) MemoryVariables(context.Context) []string {
	if m.opts.RelevantKey != "" {
		return []string{m.opts.MemoryKey, m.opts.RelevantKey}
	}
	return []string{m.opts.MemoryKey}
}

// LoadMemoryVariables returns the conversation, and what matters for the input if
// there is a RelevantKey.
func (m *Memory) LoadMemoryVariables(ctx context.Context, inputs map[string]any) (map[string]any, error) {
	messages, err := m.history.Messages(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]any{m.opts.MemoryKey: messages}
	if !m.opts.ReturnMessages {
		out[m.opts.MemoryKey], err = llms.GetBufferString(messages, m.opts.HumanPrefix, m.opts.AIPrefix)
		if err != nil {
			return nil, &loci.Error{Code: loci.Internal, Op: "load memory", Err: err}
		}
	}
	if m.opts.RelevantKey == "" {
		return out, nil
	}
	input, err := chosen("input", inputs, m.opts.InputKey)
	if err != nil {
		return nil, err
	}
	out[m.opts.RelevantKey], err = m.relevant(ctx, input)
	return out, err
}

// relevant is what matters for an input; "" if nothing does.
func (m *Memory) relevant(ctx context.Context, input string) (string, error) {
	if strings.TrimSpace(input) == "" {
		return "", nil
	}
	found, err := m.history.sessions.Retrieve(ctx, m.history.session,
		session.RetrieveQuery{Text: input, TokenBudget: &m.opts.RelevantBudget, Recent: m.opts.Last})
	if err != nil {
		return "", m.opts.settle(ctx, Outcome{Op: opRetrieve, Session: m.history.session, Err: err})
	}
	if len(found.Shown) == 0 {
		return "", nil
	}
	return found.Text, nil
}

// SaveContext stores what was said. An input or output that cannot be told from the
// other values, or is no text, is a mistake in the chain and always returned.
func (m *Memory) SaveContext(ctx context.Context, inputs, outputs map[string]any) error {
	input, err := chosen("input", inputs, m.opts.InputKey)
	if err != nil {
		return err
	}
	output, err := chosen("output", outputs, m.opts.OutputKey)
	if err != nil {
		return err
	}
	return m.history.AddMessages(ctx, llms.HumanChatMessage{Content: input}, llms.AIChatMessage{Content: output})
}

// Clear erases the session.
func (m *Memory) Clear(ctx context.Context) error { return m.history.Clear(ctx) }

// chosen is the text of a key, or the only one there is. Its errors hold no values:
// they end in logs.
func chosen(what string, values map[string]any, key string) (string, error) {
	if key == "" && len(values) != 1 {
		return "", loci.Errorf(loci.Invalid, "the chain has %d %ss: set %sKey to the one that is stored", len(values), what, strings.ToUpper(what[:1])+what[1:])
	}
	value, there := values[key]
	if key == "" {
		for key, value = range values {
			there = true
		}
	}
	if !there {
		return "", loci.Errorf(loci.Invalid, "the chain has no %s %q", what, key)
	}
	text, ok := value.(string)
	if !ok {
		return "", loci.Errorf(loci.Invalid, "%s %q is a %T; it must be a text", what, key, value)
	}
	return text, nil
}
