package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

// An entry is a memory of any kind.
type entry struct {
	ID        loci.ID         `json:"id" format:"uuid"`
	Kind      loci.Kind       `json:"kind" doc:"note, fact, rule, episode, item, session, message, file or thread"`
	State     view.State      `json:"state" enum:"live,fading,waiting,superseded,forgotten,expired" doc:"live, fading and waiting ones are found by searches"`
	Namespace []string        `json:"namespace" nullable:"false" doc:"Relative to the caller's own"`
	Subject   string          `json:"subject,omitempty" doc:"The key of a fact that has one"`
	Predicate string          `json:"predicate,omitempty" doc:"The key of a fact that has one"`
	Scope     string          `json:"scope,omitempty" doc:"Of a fact with a key, or of a rule"`
	Key       string          `json:"key,omitempty" doc:"Of an item; the id of a session or a thread, the path of a file"`
	Content   string          `json:"content,omitempty" doc:"What it says; of a file only when it is read by its id"`
	Value     json.RawMessage `json:"value,omitempty" doc:"What it says, as JSON"`
	Tags      []string        `json:"tags" nullable:"false"`
	Metadata  json.RawMessage `json:"metadata,omitempty" doc:"A JSON object"`
	Details   map[string]any  `json:"details,omitempty" doc:"What is only of its kind, such as the maturity of a rule"`

	Confidence   float64  `json:"confidence,omitempty" doc:"Effective, of a fact or a rule"`
	Supersedes   *loci.ID `json:"supersedes,omitempty" format:"uuid"`
	SupersededBy *loci.ID `json:"superseded_by,omitempty" format:"uuid"`

	Version     int64        `json:"version" doc:"Grows with each change"`
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
	ConfirmedAt *time.Time   `json:"confirmed_at,omitempty" doc:"When a fact or a rule was last said to hold"`
	ExpiresAt   *time.Time   `json:"expires_at,omitempty" doc:"Absent: never"`
	Source      *loci.Source `json:"source,omitempty" doc:"Who wrote it, and with what"`
}

func showEntry(m *loci.Memory, e *view.Entry) entry {
	out := entry{
		ID: e.ID, Kind: e.Kind, State: e.State, Namespace: relative(m, e.Namespace), Subject: e.Subject,
		Predicate: e.Predicate, Scope: e.Scope, Key: e.Key, Content: e.Content, Value: e.Value, Tags: e.Tags,
		Metadata: e.Metadata, Details: e.Details, Confidence: e.Confidence, Version: e.Version,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
	if !e.Supersedes.IsZero() {
		out.Supersedes = &e.Supersedes
	}
	if !e.SupersededBy.IsZero() {
		out.SupersededBy = &e.SupersededBy
	}
	if !e.ConfirmedAt.IsZero() {
		out.ConfirmedAt = &e.ConfirmedAt
	}
	if !e.ExpiresAt.IsZero() {
		out.ExpiresAt = &e.ExpiresAt
	}
	if e.Source != (loci.Source{}) {
		out.Source = &e.Source
	}
	return out
}

func showEntries(m *loci.Memory, list []view.Entry) []entry {
	out := make([]entry, len(list))
	for i := range list {
		out[i] = showEntry(m, &list[i])
	}
	return out
}

type listMemoriesInput struct {
	Limit     int          `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many"`
	Cursor    string       `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before"`
	Kind      []loci.Kind  `query:"kind,explode" maxItems:"16" doc:"Only of this kind; may be repeated. Absent: all but messages"`
	State     []view.State `query:"state,explode" maxItems:"6" doc:"Only in this state; may be repeated. Absent: live, fading and waiting"`
	Tag       []string     `query:"tag,explode" maxItems:"16" doc:"Only with this tag; may be repeated"`
	Filter    string       `query:"filter" maxLength:"16384" doc:"A JSON object of conditions on metadata, the subject and predicate of facts, and the fields of items"`
	Namespace string       `query:"namespace" maxLength:"4096" doc:"Only in or below this namespace, such as trips/2026, relative to the caller's own"`
	AsOf      instant      `query:"as_of" doc:"The facts and notes that were believed at this moment, in the words of then"`
}

type entriesOutput struct {
	Body struct {
		Memories   []entry `json:"memories" nullable:"false" doc:"Newest first; sessions by their last activity"`
		NextCursor string  `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
	} `nameHint:"Memories"`
}

type entryOutput struct{ Body entry }

// oneMemory is in a request about one memory.
type oneMemory struct {
	ID string `path:"id" maxLength:"64" doc:"Of the memory, with note- or without"`
}

type listPlacesInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
	Cursor string `query:"cursor" maxLength:"8192" doc:"The next_cursor of the page before"`
}

// place is a namespace with what lies in it.
type place struct {
	Namespace []string            `json:"namespace" nullable:"false" doc:"Relative to the caller's own"`
	Counts    map[loci.Kind]int64 `json:"counts" doc:"Memories by kind, in every state; notes count as facts"`
	Total     int64               `json:"total"`
}

type placesOutput struct {
	Body struct {
		Namespaces []place `json:"namespaces" nullable:"false" doc:"Where memories lie, in order, each without those below it"`
		Outside    []place `json:"outside" nullable:"false" doc:"Where tools of this server keep memories of the caller that no list here shows; these namespaces are whole"`
		NextCursor string  `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
	} `nameHint:"MemoryNamespaces"`
}

type statsOutput struct {
	Body struct {
		Counts map[loci.Kind]int64 `json:"counts" doc:"Memories by kind, in every state; notes count as facts"`
		Total  int64               `json:"total"`
		States view.LifecycleStats `json:"states" doc:"Facts, rules and episodes by state"`
	} `nameHint:"Stats"`
}

func (a *API) viewRoutes() {
	route(a, endpoint{
		method: http.MethodGet, path: "/v1/memories", id: "list_memories", summary: "List memories of every kind", scope: loci.ScopeRead,
	}, a.listMemories)
	route(a, endpoint{
		method: http.MethodGet, path: "/v1/memories/{id}", id: "get_memory", summary: "Read a memory of any kind", scope: loci.ScopeRead,
	}, func(ctx context.Context, c *caller, in *oneMemory) (*entryOutput, error) {
		return verb(ctx, a, c, in.ID, view.Get)
	})
	route(a, endpoint{
		method: http.MethodDelete, path: "/v1/memories/{id}", id: "delete_memory", summary: "Erase a memory of any kind", scope: loci.ScopeDelete,
		writes: true, status: http.StatusNoContent,
		detail: "With a session go its messages, with a file its versions, with a thread its checkpoints. Each request does a part of a large thread: the reply is 413, too_large, until the last one.",
	}, func(ctx context.Context, c *caller, in *oneMemory) (*struct{}, error) {
		_, err := verb(ctx, a, c, in.ID, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
			return view.Entry{Namespace: m.Namespace()}, view.Delete(ctx, m, id)
		})
		return nil, err
	})
	route(a, endpoint{
		method: http.MethodGet, path: "/v1/namespaces", id: "list_memory_namespaces", summary: "List where memories lie", scope: loci.ScopeRead,
	}, a.listPlaces)
	route(a, endpoint{
		method: http.MethodGet, path: "/v1/stats", id: "stats", summary: "Count memories", scope: loci.ScopeRead,
	}, func(ctx context.Context, c *caller, _ *struct{}) (*statsOutput, error) {
		return within(a, c, func(m *loci.Memory) (*statsOutput, error) {
			out := &statsOutput{}
			totals, err := view.Totals(ctx, m)
			if err != nil {
				return nil, err
			}
			out.Body.Counts, out.Body.Total = totals.Counts, totals.Total
			out.Body.States, err = view.Lifecycle(ctx, m, "")
			return out, err
		})
	})
}

// verb runs do for the memory of a request and shows what it is then.
func verb(
	ctx context.Context, a *API, c *caller, given string,
	do func(context.Context, *loci.Memory, loci.ID) (view.Entry, error),
) (*entryOutput, error) {
	return about(a, c, given, func(m *loci.Memory, id loci.ID) (*entryOutput, error) {
		e, err := do(ctx, m, id)
		if err != nil {
			return nil, err
		}
		return &entryOutput{showEntry(m, &e)}, nil
	})
}

// about runs do for the memory of a request. What is no id names no memory.
func about[O any](a *API, c *caller, given string, do func(*loci.Memory, loci.ID) (*O, error)) (*O, error) {
	return within(a, c, func(m *loci.Memory) (*O, error) {
		id, err := (&oneNote{given}).id()
		if err != nil {
			return nil, loci.Errorf(loci.NotFound, "there is no such memory")
		}
		return do(m, id)
	})
}

func (a *API) listMemories(ctx context.Context, c *caller, in *listMemoriesInput) (*entriesOutput, error) {
	return within(a, c, func(m *loci.Memory) (*entriesOutput, error) {
		own := m
		where, err := whereOf(in.Filter)
		if err != nil {
			return nil, err
		}
		if in.Namespace != "" {
			n, err := loci.ParseNamespace(in.Namespace)
			if err == nil {
				m, err = m.At(below(m, n))
			}
			if err != nil {
				return nil, err
			}
		}
		q := view.Query{Kinds: in.Kind, States: in.State, Tags: in.Tag, Where: where, AsOf: in.AsOf.at}
		list, next, err := view.List(ctx, m, q, loci.Page{Limit: in.Limit, Cursor: in.Cursor})
		out := &entriesOutput{}
		out.Body.Memories, out.Body.NextCursor = showEntries(own, list), next
		return out, err
	})
}

// whereOf reads a filter that came as text; empty is none.
func whereOf(text string) (loci.Where, error) {
	if text == "" {
		return loci.Where{}, nil
	}
	v, err := loci.DecodeJSON([]byte(text))
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return loci.Where{}, loci.Errorf(loci.Invalid, `filter must be a JSON object such as {"subject":"user"}`)
	}
	if err := checkJSON([]byte(text)); err != nil {
		return loci.Where{}, loci.Errorf(loci.Invalid, "filter is not JSON that can be compared: %s", loci.AsError(err).Msg)
	}
	return loci.ParseWhere(object)
}

func (a *API) listPlaces(ctx context.Context, c *caller, in *listPlacesInput) (*placesOutput, error) {
	return within(a, c, func(m *loci.Memory) (*placesOutput, error) {
		places, next, err := view.Places(ctx, m, loci.Page{Limit: in.Limit, Cursor: in.Cursor})
		if err != nil {
			return nil, err
		}
		out := &placesOutput{}
		out.Body.Namespaces, out.Body.Outside, out.Body.NextCursor = []place{}, []place{}, next
		for _, p := range places {
			out.Body.Namespaces = append(out.Body.Namespaces, place{relative(m, p.Namespace), p.Counts, p.Total})
		}
		outside, err := a.outside(ctx, c, m)
		for _, p := range outside {
			out.Body.Outside = append(out.Body.Outside, place{p.Namespace, p.Counts, p.Total})
		}
		return out, err
	})
}

// outside counts what tools keep for a caller where lists and exports do not look.
func (a *API) outside(ctx context.Context, c *caller, m *loci.Memory) ([]view.Place, error) {
	if a.opts.Tools == nil {
		return nil, nil
	}
	return view.Outside(ctx, m, a.opts.Tools.Places(c.Principal), func(n loci.Namespace) (*loci.Memory, error) {
		v := m.View()
		v.Namespace = n
		return a.opts.Engine.Memory(v)
	})
}
