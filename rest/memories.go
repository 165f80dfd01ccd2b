package rest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// A Memory is one of any kind: the field that its type names is set.
type Memory struct {
	Type    loci.Kind     `json:"type" enum:"fact,rule,episode,item,message,session,file,thread" doc:"Which of the fields of this name is there"`
	ID      loci.ID       `json:"id" format:"uuid"`
	Passage string        `json:"passage" doc:"The part of its text that fits best"`
	Score   float64       `json:"score" doc:"0 to 1, comparable within one reply"`
	Speaker string        `json:"speaker,omitempty" doc:"Who said it, by the metadata speaker or role"`
	Fact    *loci.Fact    `json:"fact,omitempty" doc:"A fact or a note"`
	Rule    *loci.Rule    `json:"rule,omitempty"`
	Episode *loci.Episode `json:"episode,omitempty"`
	Item    *wireItem     `json:"item,omitempty"`
	Message *entry        `json:"message,omitempty"`
	Session *entry        `json:"session,omitempty" doc:"Found by the message that fits best"`
	File    *entry        `json:"file,omitempty" doc:"Its content is read by its id, or by its path"`
	Thread  *entry        `json:"thread,omitempty" doc:"Of a graph, found by its name"`
}

// showMemory shows a record as it is at a moment.
func showMemory(m *loci.Memory, r *loci.Record, at time.Time) (Memory, error) {
	out := Memory{Type: r.Kind, ID: r.ID}
	switch r.Kind {
	case loci.KindFact:
		f, err := loci.FactOf(r, at)
		f.Namespace = relative(m, f.Namespace)
		out.Fact = &f
		return out, err
	case loci.KindRule:
		rule, err := loci.RuleOf(r, at)
		rule.Namespace = relative(m, rule.Namespace)
		out.Rule = &rule
		return out, err
	case loci.KindEpisode:
		e, err := loci.EpisodeOf(r)
		e.Namespace = relative(m, e.Namespace)
		out.Episode = &e
		return out, err
	}
	it, err := item.FromRecord(r)
	if err == nil {
		shown := showItem(m, &it)
		out.Item = &shown
	}
	return out, err
}

// searchedKinds are what a search is among unless it says so.
var searchedKinds = []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode, item.Kind}

type searchRequest struct {
	Query         string         `json:"query,omitempty" doc:"In plain words, with \"phrases\" and begin*; absent: newest first"`
	Mode          loci.Mode      `json:"mode,omitempty" enum:"hybrid,keyword,semantic" doc:"Absent: hybrid"`
	Types         []loci.Kind    `json:"types,omitempty" enum:"fact,rule,episode,item,message,session,file,thread" doc:"Absent: all of these but messages, sessions, files and threads"`
	Scopes        []string       `json:"scopes,omitempty" doc:"Of facts and rules; the agents of episodes. Absent: all"`
	Tags          []string       `json:"tags,omitempty" doc:"Only memories that have all of them"`
	Filter        map[string]any `json:"filter,omitempty" doc:"Conditions on metadata, the subject and predicate of facts, and the fields of items, all of which must hold"`
	MinConfidence float64        `json:"min_confidence,omitempty" doc:"The least effective confidence, 0 to 1"`
	MinScore      float64        `json:"min_score,omitempty" doc:"The least score, 0 to 1: about the chance that a memory answers. Absent: whatever fits best"`
	Rerank        *bool          `json:"rerank,omitempty" doc:"Whether the re-ranker of the server reads the best results again. Absent: if it has one"`
	Since         instant        `json:"since,omitempty" doc:"Only memories created at this time or after"`
	Until         instant        `json:"until,omitempty" doc:"Only memories created before this time"`
	Limit         *int           `json:"limit,omitempty" doc:"1 to 1000; absent: 10"`
	Offset        int            `json:"offset,omitempty" doc:"0 to 10000"`
}

type match struct {
	Memory
	Explain loci.Explain `json:"explain" doc:"How the score came about"`
}

type searchReply struct {
	Matches     []match `json:"matches" nullable:"false" doc:"Best first"`
	KeywordOnly bool    `json:"keyword_only" doc:"The embedder did not answer: this is what the words found"`
	NoWords     bool    `json:"no_words,omitempty" doc:"The query has no word, such as ?!: nothing fits it"`
	NotReranked string  `json:"not_reranked,omitempty" doc:"Why the re-ranker has not read the results though it was to"`

	Corrections []loci.Correction `json:"corrections,omitempty" doc:"Words of the query that nobody has, with those searched for instead, and roles, with themselves and the names searched for beside them"`
	Times       []loci.NamedTime  `json:"times,omitempty" doc:"Times that the query names, as of now: what was made then, or speaks of then, has a better score"`
}

type recallRequest struct {
	Topic         string      `json:"topic" doc:"In plain words, with \"phrases\" and begin*"`
	Mode          loci.Mode   `json:"mode,omitempty" enum:"hybrid,keyword,semantic" doc:"Absent: hybrid"`
	Types         []loci.Kind `json:"types,omitempty" enum:"fact,rule,episode" doc:"Absent: facts and rules"`
	Scopes        []string    `json:"scopes,omitempty" doc:"What is global or of these scopes, and the episodes of the agents of these names. Absent: all"`
	MinConfidence *float64    `json:"min_confidence,omitempty" doc:"The least effective confidence, 0 to 1; absent: that of the server, 0 brings fading memories back"`
	MinScore      float64     `json:"min_score,omitempty" doc:"The least fit, 0 to 1: about the chance that a memory answers. Absent: whatever matters most"`
	Since         instant     `json:"since,omitempty" doc:"Only memories created at this time or after"`
	Until         instant     `json:"until,omitempty" doc:"Only memories created before this time"`
	Limit         *int        `json:"limit,omitempty" doc:"1 to 500; absent: 20"`

	Filter map[string]any `json:"filter,omitempty" doc:"Conditions on metadata, and on the subject and predicate of facts, all of which must hold"`

	Touch bool `json:"touch,omitempty" doc:"Count a use of each memory returned"`
}

type recalled struct {
	Memory
	Fit        float64            `json:"fit" doc:"About the chance that it answers, whatever else matters: the score of a search"`
	Confidence float64            `json:"confidence" doc:"Effective; of an episode 1"`
	Explain    loci.RecallExplain `json:"explain" doc:"How the score came about"`
}

type recallReply struct {
	Memories    []recalled         `json:"memories" nullable:"false" doc:"Best first"`
	Weights     loci.RecallWeights `json:"weights" doc:"That the scores were made with"`
	Unfit       int                `json:"unfit" doc:"How many candidates were left out for min_score"`
	KeywordOnly bool               `json:"keyword_only" doc:"The embedder did not answer: this is what the words found"`
	Times       []loci.NamedTime   `json:"times,omitempty" doc:"Times that the topic names, as of now: what was made then, or speaks of then, has a better fit"`
	At          time.Time          `json:"at" doc:"The moment of the query"`
}

type contextRequest struct {
	Prompt string `json:"trigger_prompt" doc:"What the agent was asked; of a long one the first 16 KiB count"`
	Agent  string `json:"butler,omitempty" minLength:"1" doc:"The agent; absent: that of the caller, or without one the memory of all"`
	Budget *int   `json:"token_budget,omitempty" doc:"The most tokens of the text, 0 to 200000; absent: 3000"`

	MinScore float64 `json:"min_score,omitempty" doc:"The least fit, 0 to 1: about the chance that a memory answers. Absent: whatever matters most"`
}

func (a *API) memoryRoutes() {
	route(a, endpoint{method: http.MethodPost, path: "/v1/search", id: "search", summary: "Find memories by meaning and by words", scope: loci.ScopeRead},
		func(ctx context.Context, c *caller, in *struct{ Body searchRequest }) (*struct{ Body searchReply }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body searchReply }, error) {
				reply, err := search(ctx, m, &in.Body)
				return &struct{ Body searchReply }{reply}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/recall", id: "recall", summary: "Recall the facts and rules that matter for a topic", scope: loci.ScopeRead,
		detail: "Weighs relevance, importance, recency of use and confidence."},
		func(ctx context.Context, c *caller, in *struct{ Body recallRequest }) (*struct{ Body recallReply }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body recallReply }, error) {
				reply, err := recall(ctx, m, &in.Body)
				return &struct{ Body recallReply }{reply}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/context", id: "context", summary: "Make a block of memories for the system prompt of an agent",
		scope: loci.ScopeRead},
		func(ctx context.Context, c *caller,
			in *struct{ Body contextRequest }) (*struct{ Body loci.ContextBlock }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body loci.ContextBlock }, error) {
				agent := cmp.Or(in.Body.Agent, c.Principal.Var(loci.VarButler), c.Principal.Var(loci.VarAgent))
				block, err := m.Context(ctx, loci.ContextQuery{
					Prompt: in.Body.Prompt, Agent: agent, TokenBudget: in.Body.Budget, MinScore: in.Body.MinScore,
				})
				block.Shown = append([]loci.ContextItem{}, block.Shown...)
				block.Omitted = append([]loci.ContextItem{}, block.Omitted...)
				return &struct{ Body loci.ContextBlock }{block}, err
			})
		})
}

func search(ctx context.Context, m *loci.Memory, in *searchRequest) (reply searchReply, err error) {
	q := loci.Query{
		Text:          in.Query,
		Mode:          in.Mode,
		Kinds:         in.Types,
		Scopes:        in.Scopes,
		Tags:          in.Tags,
		MinConfidence: in.MinConfidence,
		MinScore:      in.MinScore,
		Rerank:        in.Rerank,
		Offset:        in.Offset,
		Since:         in.Since.at,
		Until:         in.Until.at,
	}
	if q.Where, err = loci.ParseWhere(in.Filter); err != nil {
		return reply, err
	}
	if q.Limit, err = limitOf(in.Limit, loci.MaxSearchLimit); err != nil {
		return reply, err
	}
	if err := checkConfidence(&in.MinConfidence); err != nil {
		return reply, err
	}
	if len(q.Kinds) == 0 {
		q.Kinds = searchedKinds
	}
	found, err := view.Look(ctx, m, q, q.Kinds)
	if err != nil {
		return reply, err
	}
	reply = searchReply{Matches: make([]match, len(found.Sights)), KeywordOnly: found.KeywordOnly,
		NoWords: found.NoWords, NotReranked: found.NotReranked, Corrections: found.Corrections, Times: found.Times}
	for i := range found.Sights {
		if reply.Matches[i], err = showMatch(m, &found.Sights[i], found.At); err != nil {
			return reply, err
		}
	}
	return reply, nil
}

// showMatch shows something that a search found.
func showMatch(m *loci.Memory, found *view.Sight, at time.Time) (out match, err error) {
	if of := found.Found; of != nil {
		out.Memory = showPart(m, of)
	} else {
		if out.Memory, err = showMemory(m, &found.Match.Record, at); err != nil {
			return out, err
		}
		out.Passage = found.Match.Passage
	}
	out.Score, out.Speaker, out.Explain = found.Match.Score, found.Match.Speaker, found.Match.Explain
	return out, nil
}

// showPart shows a message, or what a passage is of.
func showPart(m *loci.Memory, of *view.Found) Memory {
	e := showEntry(m, &of.Entry)
	out := Memory{Type: of.Kind, ID: of.ID, Passage: of.Passage}
	switch of.Kind {
	case session.KindMessage:
		out.Message = &e
	case session.Kind:
		out.Session = &e
	case tree.KindFile:
		out.File = &e
	default:
		out.Thread = &e
	}
	return out
}

func recall(ctx context.Context, m *loci.Memory, in *recallRequest) (reply recallReply, err error) {
	if strings.TrimSpace(in.Topic) == "" {
		return reply, loci.Errorf(loci.Invalid, "topic must not be empty")
	}
	q := loci.RecallQuery{
		Topic:         in.Topic,
		Mode:          in.Mode,
		Kinds:         in.Types,
		Scopes:        in.Scopes,
		MinConfidence: in.MinConfidence,
		MinScore:      in.MinScore,
		Touch:         in.Touch,
		Since:         in.Since.at,
		Until:         in.Until.at,
	}
	if q.Where, err = loci.ParseWhere(in.Filter); err != nil {
		return reply, err
	}
	if q.Limit, err = limitOf(in.Limit, loci.MaxRecallLimit); err != nil {
		return reply, err
	}
	if err := checkConfidence(in.MinConfidence); err != nil {
		return reply, err
	}
	result, err := m.Recall(ctx, q)
	if err != nil {
		return reply, err
	}
	reply = recallReply{Memories: make([]recalled, len(result.Memories)), Weights: result.Weights, Unfit: result.Unfit,
		KeywordOnly: result.KeywordOnly, Times: result.Times, At: result.At}
	for i := range result.Memories {
		found := &result.Memories[i]
		shown, err := showMemory(m, &found.Record, result.At)
		if err != nil {
			return reply, err
		}
		shown.Passage, shown.Score, shown.Speaker = found.Passage, found.Score, found.Speaker
		reply.Memories[i] = recalled{shown, found.Fit, found.Confidence, found.Explain}
	}
	return reply, nil
}

func checkConfidence(given *float64) error {
	if given != nil && !(*given >= 0 && *given <= 1) {
		return loci.Errorf(loci.Invalid, "min_confidence is %v; it must be 0 to 1", *given)
	}
	return nil
}
