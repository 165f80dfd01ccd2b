package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/item"
)

// wireItem is a JSON object under a key.
type wireItem struct {
	Namespace []string        `json:"namespace" nullable:"false" doc:"Relative to the caller's own"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt time.Time       `json:"created_at" doc:"Of the first put; an overwrite keeps it"`
	UpdatedAt time.Time       `json:"updated_at"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty" doc:"Absent: never"`
	Score     *float64        `json:"score,omitempty" doc:"Of a search with a query, 0 to 1"`
}

func showItem(m *loci.Memory, it *item.Item) wireItem {
	out := wireItem{
		Namespace: relative(m, it.Namespace),
		Key:       it.Key,
		Value:     it.Value,
		CreatedAt: it.CreatedAt,
		UpdatedAt: it.UpdatedAt,
		Score:     it.Score,
	}
	if !it.ExpiresAt.IsZero() {
		out.ExpiresAt = &it.ExpiresAt
	}
	return out
}

// The requests, as the routes and a batch of them take them. They are exported because
// huma ignores embedded types that are not.
type (
	// PutItem stores an item.
	PutItem struct {
		Namespace []string        `json:"namespace" nullable:"false" doc:"Relative to the caller's own; at least one label, none with a period, the first not langgraph"`
		Key       string          `json:"key" doc:"1 to 1024 bytes"`
		Value     json.RawMessage `json:"value" doc:"A JSON object; it replaces what was there"`
		Index     *[]string       `json:"index,omitempty" doc:"Paths of the value that are searched, such as title or notes[*].text; absent: all of it, an empty list: nothing"`
		TTL       *float64        `json:"ttl,omitempty" doc:"Minutes after the last write or refreshing read when it expires; absent: never"`
		CreatedAt *time.Time      `json:"created_at,omitempty" doc:"When a new item was made, 1900 to a day from now; absent: now. One that is there keeps its own"`
	}
	// GetItem reads an item.
	GetItem struct {
		Namespace  []string `json:"namespace" nullable:"false" doc:"Relative to the caller's own"`
		Key        string   `json:"key"`
		RefreshTTL *bool    `json:"refresh_ttl,omitempty" doc:"Whether the read moves the expiry of an item with a ttl; absent: yes"`
	}
	// DeleteItem erases an item.
	DeleteItem struct {
		Namespace []string `json:"namespace" nullable:"false" doc:"Relative to the caller's own"`
		Key       string   `json:"key"`
	}
	// SearchItems finds items below a namespace.
	SearchItems struct {
		NamespacePrefix []string       `json:"namespace_prefix" nullable:"false" doc:"Search here and below; an empty list: everywhere"`
		Query           string         `json:"query,omitempty" doc:"In plain words; absent: newest first"`
		Filter          map[string]any `json:"filter,omitempty" doc:"Conditions on the value, all of which must hold"`
		Limit           *int           `json:"limit,omitempty" doc:"1 to 1000; absent: 10"`
		Offset          int            `json:"offset,omitempty" doc:"0 to 10000"`
		MinScore        float64        `json:"min_score,omitempty" doc:"With a query: the least score, 0 to 1. Absent: whatever fits best"`
		Since           instant        `json:"since,omitempty" doc:"Only items created at this time or after"`
		Until           instant        `json:"until,omitempty" doc:"Only items created before this time"`
		RefreshTTL      *bool          `json:"refresh_ttl,omitempty" doc:"Whether the search moves the expiry of what it finds; absent: yes"`
	}
	// ListNamespaces lists where items are.
	ListNamespaces struct {
		Prefix   []string `json:"prefix,omitempty" doc:"Labels from the front; * stands for any one label"`
		Suffix   []string `json:"suffix,omitempty" doc:"Labels from the end; * stands for any one label"`
		MaxDepth *int     `json:"max_depth,omitempty" doc:"Cut longer namespaces to so many labels, at least 1"`
		Limit    *int     `json:"limit,omitempty" doc:"1 to 10000; absent: 100"`
		Offset   int      `json:"offset,omitempty" doc:"At least 0"`
	}
)

// The replies.
type (
	itemOutput struct{ Body wireItem }
	foundItems struct {
		Items []wireItem `json:"items" nullable:"false"`
	}
	namespaces struct {
		Namespaces [][]string `json:"namespaces" nullable:"false" doc:"In order, each once; relative to the caller's own"`
	}
)

func (a *API) itemRoutes() {
	route(a, endpoint{method: http.MethodPut, path: "/v1/items", id: "put_item", summary: "Store an item", scope: loci.ScopeWrite,
		writes: true, value: true, status: http.StatusNoContent},
		func(ctx context.Context, c *caller, in *struct{ Body PutItem }) (*struct{}, error) {
			return within(a, c, func(m *loci.Memory) (*struct{}, error) { return nil, put(ctx, m, &in.Body, false) })
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/items/get", id: "get_item", summary: "Read an item", scope: loci.ScopeRead},
		func(ctx context.Context, c *caller, in *struct{ Body GetItem }) (*itemOutput, error) {
			return within(a, c, func(m *loci.Memory) (*itemOutput, error) {
				it, err := get(ctx, m, &in.Body)
				return &itemOutput{it}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/items/delete", id: "delete_item", summary: "Erase an item", scope: loci.ScopeDelete,
		writes: true, status: http.StatusNoContent, detail: "A key that names no item is no error."},
		func(ctx context.Context, c *caller, in *struct{ Body DeleteItem }) (*struct{}, error) {
			return within(a, c, func(m *loci.Memory) (*struct{}, error) { return nil, remove(ctx, m, &in.Body) })
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/items/search", id: "search_items", summary: "Find items", scope: loci.ScopeRead,
		detail: "Facts and notes are items, too: the key is the id, the value {\"content\": …} with the metadata."},
		func(ctx context.Context, c *caller, in *struct{ Body SearchItems }) (*struct{ Body foundItems }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body foundItems }, error) {
				found, err := find(ctx, m, &in.Body, maxAnswer)
				return &struct{ Body foundItems }{foundItems{found}}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/items/namespaces", id: "list_namespaces", summary: "List the namespaces that hold items",
		scope: loci.ScopeRead, detail: "The caller's own namespace itself is not listed."},
		func(ctx context.Context, c *caller, in *struct{ Body ListNamespaces }) (*struct{ Body namespaces }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body namespaces }, error) {
				found, err := list(ctx, m, &in.Body)
				return &struct{ Body namespaces }{namespaces{found}}, err
			})
		})
}

// within runs do with the caller's memory.
func within[O any](a *API, c *caller, do func(*loci.Memory) (*O, error)) (*O, error) {
	m, err := a.memory(c)
	if err != nil {
		return nil, err
	}
	return do(m)
}

func put(ctx context.Context, m *loci.Memory, in *PutItem, reserved bool) error {
	if len(in.Namespace) == 0 {
		return loci.Errorf(loci.Invalid, "namespace must not be empty")
	}
	opts := &item.PutOptions{}
	if in.Index != nil {
		opts.Index = append([]string{}, *in.Index...)
	}
	if in.CreatedAt != nil {
		opts.CreatedAt = *in.CreatedAt
	}
	if in.TTL != nil {
		// As long as LangGraph counts in a float; more is not a time any more.
		const most = 100 * 366 * 24 * 60
		if !(*in.TTL > 0 && *in.TTL <= most) {
			return loci.Errorf(loci.Invalid, "ttl is %v; it must be more than 0 and at most %d minutes: leave it out for never", *in.TTL, most)
		}
		opts.TTL = max(time.Duration(*in.TTL*float64(time.Minute)), time.Millisecond)
	}
	opts.Reserved = reserved
	return item.Of(m).Put(ctx, below(m, in.Namespace), in.Key, in.Value, opts)
}

func get(ctx context.Context, m *loci.Memory, in *GetItem) (wireItem, error) {
	it, err := item.Of(m).Get(ctx, below(m, in.Namespace), in.Key, in.RefreshTTL == nil || *in.RefreshTTL)
	if errors.Is(err, loci.ErrNotFound) {
		err = &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("there is no item with the key %.100q in this namespace", in.Key),
			Recovery: "Search the namespace for what is there."}
	}
	if err != nil {
		return wireItem{}, err
	}
	return showItem(m, &it), nil
}

func remove(ctx context.Context, m *loci.Memory, in *DeleteItem) error {
	return item.Of(m).Delete(ctx, below(m, in.Namespace), in.Key)
}

// maxAnswer bounds what the items of an answer hold: one with the largest values would have gigabytes.
var maxAnswer = 32 << 20 // tests lower it

func find(ctx context.Context, m *loci.Memory, in *SearchItems, most int) ([]wireItem, error) {
	where, err := loci.ParseWhere(in.Filter)
	if err != nil {
		return nil, err
	}
	q := item.Query{Prefix: below(m, in.NamespacePrefix), Text: in.Query, Where: where, Offset: in.Offset,
		Refresh:  in.RefreshTTL == nil || *in.RefreshTTL,
		MinScore: in.MinScore, Since: in.Since.at, Until: in.Until.at, MaxBytes: most}
	if q.Limit, err = limitOf(in.Limit, loci.MaxSearchLimit); err != nil {
		return nil, err
	}
	found, err := item.Of(m).Search(ctx, q)
	items := make([]wireItem, len(found))
	for i := range found {
		items[i] = showItem(m, &found[i])
	}
	return items, err
}

func list(ctx context.Context, m *loci.Memory, in *ListNamespaces) ([][]string, error) {
	q := item.NamespaceQuery{Below: m.View().Namespace, Prefix: in.Prefix, Suffix: in.Suffix, Offset: in.Offset}
	var err error
	if q.Limit, err = limitOf(in.Limit, 10_000); err != nil {
		return nil, err
	}
	if in.MaxDepth != nil {
		if q.MaxDepth = *in.MaxDepth; q.MaxDepth < 1 {
			return nil, loci.Errorf(loci.Invalid, "max_depth is %d; it must be at least 1: leave it out for no limit", q.MaxDepth)
		}
	}
	found, err := item.Of(m).Namespaces(ctx, q)
	out := make([][]string, len(found))
	for i, n := range found {
		out[i] = relative(m, n)
	}
	return out, err
}

// limitOf reads a limit: 0 stands for the default, which a request may leave to the
// library but not ask for as 0.
func limitOf(given *int, most int) (int, error) {
	if given == nil {
		return 0, nil
	}
	if *given < 1 || *given > most {
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to %d", *given, most)
	}
	return *given, nil
}
