package loci

import (
	"cmp"
	"context"
	"time"
)

// An EpisodeStatus says how far the digestion of an episode has come.
type EpisodeStatus string

// The statuses of an episode.
const (
	Pending      EpisodeStatus = "pending"
	Consolidated EpisodeStatus = "consolidated" // digested; final
	Failed       EpisodeStatus = "failed"       // an attempt failed; another one may follow
	DeadLetter   EpisodeStatus = "dead_letter"  // no attempt will follow; final
)

// An Episode is something that happened, as an agent saw it. What it says never changes. It expires.
type Episode struct {
	ID         ID            `json:"id"`
	Namespace  Namespace     `json:"namespace"`
	Content    string        `json:"content"`
	Butler     string        `json:"butler"` // the agent
	Session    string        `json:"session_id,omitempty"`
	Importance float64       `json:"importance"` // 0 to 10
	Tags       []string      `json:"tags,omitempty"`
	Status     EpisodeStatus `json:"consolidation_status"`
	Attempts   int           `json:"attempts,omitzero"` // to digest it that failed
	RetryAt    time.Time     `json:"retry_at,omitzero"` // of a failed one: when the next attempt may begin

	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	ForgottenAt time.Time `json:"forgotten_at,omitzero"`
	Uses        int64     `json:"reference_count"`
	UsedAt      time.Time `json:"last_referenced_at,omitzero"`
	Version     int64     `json:"version"`
	Source      Source    `json:"source,omitzero"`
}

// episodeBody is the part of an episode that only its own files read.
type episodeBody struct {
	Butler      string        `json:"butler"`
	Session     string        `json:"session_id,omitempty"`
	Importance  float64       `json:"importance"`
	Status      EpisodeStatus `json:"consolidation_status"`
	Attempts    int           `json:"attempts,omitzero"`
	RetryAt     time.Time     `json:"retry_at,omitzero"`
	Lease       ID            `json:"lease,omitzero"` // of the attempt that is under way
	LeasedUntil time.Time     `json:"leased_until,omitzero"`
	ForgottenAt time.Time     `json:"forgotten_at,omitzero"`
	Source      Source        `json:"source,omitzero"`
}

// conclude ends an attempt. A failed one is followed by another after 60·2^attempts seconds.
func (b *episodeBody) conclude(outcome EpisodeStatus, now time.Time) {
	b.Status, b.Lease, b.LeasedUntil, b.RetryAt = outcome, ID{}, time.Time{}, time.Time{}
	if outcome == Consolidated {
		return
	}
	b.Attempts++
	if outcome == Failed {
		b.RetryAt = now.Add(60 * time.Second << min(max(b.Attempts, 0), maxDigestAttempts)) // longer with each failure
	}
}

func readEpisode(r *Record) (body episodeBody, err error) {
	return body, ReadBody(r, &body)
}

// setEpisode encodes the body of an episode and derives what filters ask for.
func setEpisode(r *Record, body episodeBody) error {
	r.Scope, r.Status = body.Butler, string(body.Status)
	return SetBody(r, body)
}

// EpisodeOf decodes a record of kind episode.
func EpisodeOf(r *Record) (Episode, error) {
	b, err := readEpisode(r)
	if err != nil {
		return Episode{}, err
	}
	return Episode{
		ID: r.ID, Namespace: r.Namespace, Content: r.Text, Butler: b.Butler, Session: b.Session,
		Importance: b.Importance, Tags: r.Tags, Status: b.Status, Attempts: b.Attempts,
		RetryAt: b.RetryAt, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, ForgottenAt: b.ForgottenAt,
		Uses: r.Uses, UsedAt: r.UsedAt, Version: r.Version, Source: b.Source,
	}, nil
}

// A NewEpisode is what [Memory.StoreEpisode] stores.
type NewEpisode struct {
	Content    string        `json:"content"`
	Butler     string        `json:"butler"`               // the agent it belongs to, 1 to 256 bytes
	Session    string        `json:"session_id,omitempty"` // at most 256 bytes
	Importance *float64      `json:"importance,omitempty"` // 0 to 10; nil: 5
	Tags       []string      `json:"tags,omitempty"`       // see [CheckTags]
	TTL        time.Duration `json:"ttl,omitzero"`         // at least 1 ms; 0: that of [RetentionOptions]
}

// StoreEpisode remembers an episode, pending, until its time to live runs out. From that moment no read finds it.
func (m *Memory) StoreEpisode(ctx context.Context, in NewEpisode) (ID, error) {
	draft, ttl, err := m.draftEpisode(in)
	if err != nil {
		return ID{}, err
	}
	return Commit(ctx, m, "store episode", in, func(now time.Time) (Decision[ID], error) {
		r := *draft
		r.ID, r.CreatedAt, r.UpdatedAt, r.ExpiresAt = m.engine.opts.NewID(), now, now, now.Add(ttl)
		if r.Sequence != "" {
			r.Position = m.engine.places.Next(now)
		}
		return Decision[ID]{Reply: r.ID, Record: r.ID, Change: Change{
			Put:    []Put{{Record: r, Vectors: m.engine.embed(ctx, m.view.Tenant, &r)}},
			Events: []Event{m.event(EventCreated, &r, now, map[string]any{"version": 1, "bytes": len(r.Text), "expires_at": r.ExpiresAt})}}}, nil
	})
}

// draftEpisode checks a new episode and makes its record, all but ids and times.
func (m *Memory) draftEpisode(in NewEpisode) (*Record, time.Duration, error) {
	e := m.engine
	text, _, err := e.content(in.Content, nil)
	if err != nil {
		return nil, 0, err
	}
	ttl := cmp.Or(in.TTL, e.opts.Retention.EpisodeTTL)
	if ttl < time.Millisecond {
		return nil, 0, Errorf(Invalid, "ttl is %v; it must be at least 1ms", in.TTL)
	}
	body := episodeBody{
		Butler: e.redact(in.Butler), Session: e.redact(in.Session),
		Importance: DefaultImportance, Status: Pending, Source: m.view.Source,
	}
	if err := CheckLabel("butler", body.Butler); err != nil {
		return nil, 0, err
	}
	if body.Session != "" {
		if err := CheckLabel("session_id", body.Session); err != nil {
			return nil, 0, err
		}
	}
	if in.Importance != nil {
		body.Importance = *in.Importance
	}
	if err := checkImportance(body.Importance); err != nil {
		return nil, 0, err
	}
	tags, err := e.tags(in.Tags)
	if err != nil {
		return nil, 0, err
	}
	r := &Record{
		Kind: KindEpisode, Namespace: m.view.Namespace, Version: 1,
		Live: true, Text: text, Passages: e.passages(text), Tags: tags, Sequence: body.Session,
	}
	return r, ttl.Truncate(time.Millisecond), setEpisode(r, body)
}

// ConcludeEpisode writes down the outcome of an attempt to digest an episode: Consolidated, Failed or DeadLetter.
// NotFound: there is no such episode in this namespace, or it has expired; Conflict: it was concluded for good already,
// or forgotten.
func (m *Memory) ConcludeEpisode(ctx context.Context, id ID, outcome EpisodeStatus) (Episode, error) {
	types := map[EpisodeStatus]EventType{
		Consolidated: EventConsolidated, Failed: EventFailed, DeadLetter: EventDeadLettered,
	}
	typ, ok := types[outcome]
	if !ok {
		return Episode{}, OneOf("outcome", string(outcome), Consolidated, Failed, DeadLetter)
	}
	request := map[string]any{"id": id, "outcome": outcome}
	return Commit(ctx, m, "conclude episode", request, func(now time.Time) (Decision[Episode], error) {
		var none Decision[Episode]
		r, err := m.one(ctx, m.writable(now, KindEpisode), id)
		if err != nil {
			return none, err
		}
		body, err := readEpisode(&r)
		if err != nil {
			return none, err
		}
		if !r.Live || body.Status == Consolidated || body.Status == DeadLetter {
			return none, Errorf(Conflict, "the episode %s is %s or forgotten: nothing follows", id, body.Status)
		}
		r.Version++
		body.conclude(outcome, now)
		if err := setEpisode(&r, body); err != nil {
			return none, err
		}
		episode, err := EpisodeOf(&r)
		change := restated(r, m.event(typ, &r, now, map[string]any{"attempts": body.Attempts}))
		return Decision[Episode]{Reply: episode, Record: id, Change: change}, err
	})
}

// Episode reads one episode by id, even a forgotten one. NotFound: there is none in what
// the handle may read, or it has expired.
func (m *Memory) Episode(ctx context.Context, id ID) (Episode, error) {
	r, _, err := m.kept(ctx, id, KindEpisode)
	if err != nil {
		return Episode{}, err
	}
	return EpisodeOf(&r)
}

// An EpisodeQuery selects episodes for [Memory.Episodes].
type EpisodeQuery struct {
	Butlers  []string // of one of these
	Statuses []EpisodeStatus
	Tags     []string // has all of them
	History  bool     // also forgotten ones
}

// Episodes lists episodes, newest first unless the page says otherwise. next continues the list; "" is its end.
func (m *Memory) Episodes(ctx context.Context, q EpisodeQuery, page Page) (episodes []Episode, next string, err error) {
	f := m.readable(m.engine.now(), KindEpisode)
	f.NotLive, f.Scopes = q.History, q.Butlers
	for _, s := range q.Statuses {
		f.Statuses = append(f.Statuses, string(s))
	}
	if f.Tags, err = CheckTags(q.Tags); err != nil {
		return nil, "", err
	}
	return listed(ctx, m, f, page, EpisodeOf)
}
