package tool

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// factRecord, ruleRecord and episodeRecord are whole memories as the family shows
// them. The names of some fields differ from those of the library.
type (
	factRecord struct {
		Type loci.Kind `json:"type"`
		loci.Fact
		ConfirmedAt  time.Time `json:"last_confirmed_at"`
		SupersedesID *loci.ID  `json:"supersedes_id"` // null: it superseded none
		Truncated    bool      `json:"truncated,omitzero"`

		HidesConfirmedAt struct{} `json:"confirmed_at,omitzero"`
		HidesSupersedes  struct{} `json:"supersedes,omitzero"`
	}
	ruleRecord struct {
		Type loci.Kind `json:"type"`
		loci.Rule
		Truncated bool `json:"truncated,omitzero"`
	}
	episodeRecord struct {
		Type loci.Kind `json:"type"`
		loci.Episode
		Truncated bool `json:"truncated,omitzero"`
	}
)

func (b *base) factReply(f loci.Fact) (Reply, error) {
	v := factRecord{Type: loci.KindFact, Fact: f, ConfirmedAt: f.ConfirmedAt}
	v.Scope = cmp.Or(v.Scope, loci.GlobalScope)
	if f.Supersedes != (loci.ID{}) {
		v.SupersedesID = &f.Supersedes
	}
	for _, text := range []*string{&v.Content, &v.Subject, &v.Predicate, &v.Scope} {
		*text = b.scrub(*text)
	}
	v.Tags, v.Metadata = b.scrubList(v.Tags), nil
	v.Metadata, _ = b.scrubValue(f.Metadata).(map[string]any)
	var err error
	if v.Value, err = b.scrubJSON(v.Value); err != nil {
		return Reply{}, err
	}
	return b.whole(&v, &v.Content, &v.Truncated, func() { v.Value = nil }, func() { v.Metadata = nil })
}

func (b *base) ruleReply(r loci.Rule) (Reply, error) {
	v := ruleRecord{Type: loci.KindRule, Rule: r}
	for _, text := range []*string{&v.Content, &v.Original, &v.Scope} {
		*text = b.scrub(*text)
	}
	v.Tags, v.Reasons = b.scrubList(v.Tags), b.scrubList(v.Reasons)
	return b.whole(&v, &v.Content, &v.Truncated, func() { v.Original = "" }, func() { v.Reasons = nil })
}

func (b *base) episodeReply(e loci.Episode) (Reply, error) {
	v := episodeRecord{Type: loci.KindEpisode, Episode: e}
	for _, text := range []*string{&v.Content, &v.Butler, &v.Session} {
		*text = b.scrub(*text)
	}
	v.Tags = b.scrubList(v.Tags)
	return b.whole(&v, &v.Content, &v.Truncated)
}

// scrubList is scrub for each text of a list.
func (b *base) scrubList(texts []string) []string {
	clean := slices.Clone(texts)
	for i := range clean {
		clean[i] = b.scrub(clean[i])
	}
	return clean
}

// whole replies with a record. One that does not fit into the cap on text loses
// the end of its content, down to half of the cap, then its details one by one,
// then the rest of the content; *truncated says so.
func (b *base) whole(record any, content *string, truncated *bool, details ...func()) (Reply, error) {
	for {
		reply, err := objectReply(record)
		over := len(reply.Text) - b.cfg.ReplyCap
		if err != nil || over <= 0 {
			return reply, err
		}
		*truncated = true
		floor := b.cfg.ReplyCap / 2
		switch {
		case len(*content) > floor:
			*content = head(*content, max(floor, len(*content)-over-len(`,"truncated":true`)))
		case len(details) > 0:
			details[0]()
			details = details[1:]
		case len(*content) > 0:
			*content = head(*content, len(*content)-over)
		default:
			return reply, nil // ids, numbers and times are as short as they get
		}
	}
}

// head returns at most the first n bytes of a text, cut between characters.
func head(text string, n int) string { return strings.ToValidUTF8(text[:max(0, n)], "") }

// recordOutput describes the reply that is a whole memory.
func recordOutput() []result {
	return idOutput(result{name: "type", schema: text()}, result{name: "content", schema: text()})
}

type memoryInput struct {
	Type string `json:"type"`
	ID   string `json:"id" jsonschema:"UUID of the memory"`
}

type helpfulInput struct {
	RuleID string `json:"rule_id" jsonschema:"UUID of the rule"`
}

type harmfulInput struct {
	RuleID string `json:"rule_id" jsonschema:"UUID of the rule"`
	Reason string `json:"reason,omitempty" jsonschema:"What went wrong, in one sentence"`
}

func getMemory(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Get memory", "Read one memory in full by its type and id, also one that was superseded or forgotten. "+
		"Counts the use in reference_count; nothing else changes.", i)
	t.Secondary = true
	t.Annotations.Idempotent = false
	s := spec{Tool: t, output: recordOutput(), adjust: typeChoices}
	return declare(s, func(ctx context.Context, c *call, in memoryInput) (Reply, error) {
		at, err := c.target(in.Type, in.ID)
		if err != nil {
			return Reply{}, err
		}
		reply, err := b.get(ctx, at)
		if err != nil {
			return Reply{}, named(err, at.kind, in.ID)
		}
		at.m.CountUse(ctx, at.kind, at.id)
		return reply, nil
	})
}

// get reads a memory. The count of uses that it shows includes this one.
func (b *base) get(ctx context.Context, at target) (Reply, error) {
	switch at.kind {
	case loci.KindFact:
		f, err := at.m.Fact(ctx, at.id)
		if err != nil {
			return Reply{}, err
		}
		f.Uses++
		return b.factReply(f)
	case loci.KindRule:
		r, err := at.m.Rule(ctx, at.id)
		if err != nil {
			return Reply{}, err
		}
		r.Uses++
		return b.ruleReply(r)
	}
	e, err := at.m.Episode(ctx, at.id)
	if err != nil {
		return Reply{}, err
	}
	e.Uses++
	return b.episodeReply(e)
}

func confirmMemory(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Confirm memory", "Say that a fact or a rule still holds, for example because the user has just said so again. "+
		"Its confidence stops fading and starts again from its full value. Episodes cannot be confirmed.", i)
	t.Secondary = true
	t.Annotations = Annotations{Idempotent: true}
	s := spec{Tool: t, output: []result{{name: "confirmed", schema: boolean()}}, adjust: typeChoices}
	return declare(s, func(ctx context.Context, c *call, in memoryInput) (Reply, error) {
		if in.Type == string(loci.KindEpisode) { // whatever its id
			m, err := c.memory()
			if err != nil {
				return Reply{}, err
			}
			return Reply{}, m.Confirm(ctx, loci.KindEpisode, loci.ID{})
		}
		at, err := c.target(in.Type, in.ID)
		if err != nil {
			return Reply{}, err
		}
		if err := at.m.Confirm(ctx, at.kind, at.id); err != nil {
			return Reply{}, named(err, at.kind, in.ID)
		}
		return objectReply(map[string]bool{"confirmed": true})
	})
}

func forgetMemory(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Forget memory", "Take a memory out of every search, recall and context, when the user asks to forget it or it proved wrong. "+
		"It stays readable by id and in the audit log. It is better to store a fact that has changed again: the new one supersedes it. "+
		"The reply says whether anything was forgotten.", i)
	t.Secondary = true
	t.Annotations = Annotations{Destructive: true, Idempotent: true}
	t.scopes = []loci.Scope{loci.ScopeDelete}
	s := spec{Tool: t, output: []result{{name: "forgotten", schema: boolean()}}, adjust: typeChoices}
	return declare(s, func(ctx context.Context, c *call, in memoryInput) (Reply, error) {
		at, err := c.target(in.Type, in.ID)
		changed := false
		if err == nil {
			changed, err = at.m.Forget(ctx, at.kind, at.id)
		}
		if err != nil && loci.AsError(err).Code != loci.NotFound { // what is not there needs no forgetting
			return Reply{}, err
		}
		return objectReply(map[string]bool{"forgotten": changed})
	})
}

func markHelpful(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Mark rule helpful", "Report that following a rule helped. Counts a success; a rule that keeps helping rises from candidate to established to proven. "+
		"Returns the whole rule.", i)
	t.Secondary = true
	s := spec{Tool: t, output: recordOutput()}
	return declare(s, func(ctx context.Context, c *call, in helpfulInput) (Reply, error) {
		return b.mark(c, in.RuleID, func(at target) (loci.Rule, error) { return at.m.MarkHelpful(ctx, at.id) })
	})
}

func markHarmful(b *base, t Tool, i Instance) *Tool {
	t = b.storing(t, "Mark rule harmful", "Report that following a rule did harm, and why. One harm weighs as much as four successes; "+
		"a rule that keeps doing harm falls and in the end becomes a warning not to follow it. Returns the whole rule.", i)
	t.Secondary = true
	t.Annotations = Annotations{Destructive: true}
	s := spec{Tool: t, output: recordOutput()}
	return declare(s, func(ctx context.Context, c *call, in harmfulInput) (Reply, error) {
		return b.mark(c, in.RuleID, func(at target) (loci.Rule, error) {
			return at.m.MarkHarmful(ctx, at.id, in.Reason)
		})
	})
}

func (b *base) mark(c *call, given string, rate func(target) (loci.Rule, error)) (Reply, error) {
	at, err := c.target(string(loci.KindRule), given)
	if err != nil {
		return Reply{}, err
	}
	rule, err := rate(at)
	if err != nil {
		return Reply{}, named(err, at.kind, given)
	}
	return b.ruleReply(rule)
}
