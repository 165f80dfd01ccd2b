package loci

import (
	"context"
	"time"
)

// DefaultTokenBudget is how many tokens a context has unless its query says otherwise.
const (
	DefaultTokenBudget = 3000
	MaxTokenBudget     = 200_000
)

// A Tokenizer counts tokens as a model does. It is safe for concurrent use, and
// the same text always has the same number.
type Tokenizer interface {
	Name() string // such as "o200k_base"
	Count(text string) int
}

// ContextQuotas are the shares of a token budget that the sections of a context
// have, not negative, with the sum 1. What a section leaves unused passes on.
type ContextQuotas struct {
	Facts    float64 `json:"facts"`    // default 0.5
	Rules    float64 `json:"rules"`    // default 0.3
	Episodes float64 `json:"episodes"` // default 0.2
}

// A ContextQuery is what [Memory.Context] makes a context for.
type ContextQuery struct {
	Prompt string // what the agent was asked; of a long one the first 16 KiB count
	Agent  string // the butler: its scope and "global", and its episodes

	// TokenBudget is the number of tokens the whole text has at most, 0 to 200,000.
	// Nil: 3000.
	TokenBudget *int
}

// A ContextBlock is a text for a system prompt, and what is in it.
type ContextBlock struct {
	Text        string        `json:"text"`
	Tokens      int           `json:"tokens"` // of Text
	Budget      int           `json:"token_budget"`
	Tokenizer   string        `json:"tokenizer"` // that counted; "bytes" without one
	Weights     RecallWeights `json:"weights"`   // that the scores were made with
	Shown       []ContextItem `json:"shown"`     // in the order of the text
	Omitted     []ContextItem `json:"omitted"`   // found, and left out; by section and score
	KeywordOnly bool          `json:"keyword_only,omitzero"`
	At          time.Time     `json:"at"` // the moment it was made
}

// A ContextItem is a memory that a context shows, or leaves out for a reason.
type ContextItem struct {
	Kind    Kind          `json:"type"`
	ID      ID            `json:"id"`
	Score   float64       `json:"score"`
	Explain RecallExplain `json:"explain"`
	Tokens  int           `json:"tokens"`           // of its line; 0: not counted, far too long
	Reason  OmitReason    `json:"reason,omitempty"` // of one left out
}

// An OmitReason says why a context leaves a memory out.
type OmitReason string

// The reasons there are.
const (
	TooLong OmitReason = "too_long" // alone longer than the budget
	NoRoom  OmitReason = "no_room"  // better ones took the room
)

// Context makes a text for the system prompt of an agent: facts, rules and recent
// episodes by score, in at most TokenBudget tokens. The same store and the same
// query give the same bytes. It counts no use.
func (m *Memory) Context(ctx context.Context, q ContextQuery) (ContextBlock, error) {
	return ContextBlock{}, Errorf(Unsupported, "not yet")
}
