package session

import (
	"context"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Search is what [Handle.Search] looks for.
type Search struct {
	Text    string    // in words; see [loci.Query].Text. It must not be empty
	Session string    // in this session; empty: in all of the handle's
	Mode    loci.Mode // default Hybrid
	Limit   int       // 1 to 1000; default 10
	Offset  int       // 0 to 10000

	MinScore float64 // see [loci.Query]
	Rerank   *bool   // see [loci.Query]

	Since, Until time.Time // see [loci.Query]
}

// A Hit is a message that a search found.
type Hit struct {
	Session   string       `json:"session_id"`
	Seq       int64        `json:"seq"`
	Type      MessageType  `json:"type"`
	Speaker   string       `json:"speaker"` // see [Message.Speaker]
	CreatedAt time.Time    `json:"created_at"`
	Passage   string       `json:"passage"` // the part of the text that fits best
	Text      string       `json:"-"`       // all of the text
	Score     float64      `json:"score"`   // see [loci.Match]
	Explain   loci.Explain `json:"explain"`
}

// Hits are what a search found, best first.
type Hits struct {
	Hits        []Hit `json:"results"`
	KeywordOnly bool  `json:"keyword_only"` // see [loci.Result]
	NoWords     bool  `json:"no_words,omitzero"`

	NotReranked string `json:"not_reranked,omitempty"` // see [loci.Result]

	Corrections []loci.Correction `json:"corrections,omitempty"`
	Times       []loci.NamedTime  `json:"times,omitempty"`
}

// Search finds messages by meaning and by words, as [loci.Memory.Search] finds memories,
// also in expired sessions. The speaker is searched with the words. A session that does
// not exist has no messages. TooLarge: the messages hold more than 32 MiB.
func (s *Handle) Search(ctx context.Context, q Search) (Hits, error) {
	query := loci.Query{Text: q.Text, Mode: q.Mode, Limit: q.Limit, Offset: q.Offset, MinScore: q.MinScore,
		Rerank: q.Rerank, Since: q.Since, Until: q.Until, MaxBytes: mostRead}
	if err := query.Check(); err != nil {
		return Hits{}, err
	}
	if strings.TrimSpace(q.Text) == "" {
		return Hits{}, loci.Errorf(loci.Invalid, "query must not be empty: to list messages, read the history")
	}
	f := loci.Filter{
		Within: []loci.Namespace{s.messages()}, Exact: true, Kinds: []loci.Kind{KindMessage}, At: s.m.Now(),
	}
	if q.Session != "" {
		if err := checkSessionID(q.Session); err != nil {
			return Hits{}, err
		}
		f.Sequences = []string{q.Session}
	}
	found, err := s.m.SearchWhere(ctx, f, query)
	if err != nil {
		return Hits{}, err
	}
	out := Hits{Hits: make([]Hit, len(found.Matches)), KeywordOnly: found.KeywordOnly, NoWords: found.NoWords,
		NotReranked: found.NotReranked, Corrections: found.Corrections, Times: found.Times}
	for i := range found.Matches {
		if out.Hits[i], err = sessionHit(&found.Matches[i]); err != nil {
			return Hits{}, err
		}
	}
	return out, nil
}

func sessionHit(match *loci.Match) (Hit, error) {
	r := &match.Record
	var body messageBody
	if err := loci.ReadBody(r, &body); err != nil {
		return Hit{}, err
	}
	return Hit{
		Session: r.Sequence, Seq: r.Position, Type: body.Type, Speaker: body.Speaker(),
		CreatedAt: r.CreatedAt, Passage: body.shown(r, match.Passage),
		Text: body.shown(r, r.Text), Score: match.Score, Explain: match.Explain,
	}, nil
}
