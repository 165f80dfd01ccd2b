package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

type restoreMemory struct {
	Version int64 `json:"version,omitempty" minimum:"1" doc:"What a fact said in this version of it; absent: what was forgotten or superseded comes back"`
}

type supersedeMemory struct {
	Content    string          `json:"content,omitempty" doc:"In plain words"`
	Value      json.RawMessage `json:"value,omitempty" doc:"A JSON object in place of content"`
	Tags       []string        `json:"tags,omitempty" doc:"At most 16"`
	Metadata   map[string]any  `json:"metadata,omitempty" doc:"Details to filter by, at most 64 KiB"`
	Importance *float64        `json:"importance,omitempty" doc:"0 to 10; absent: 5"`
	Permanence loci.Permanence `json:"permanence,omitempty" enum:"permanent,stable,standard,volatile,ephemeral" doc:"How fast the confidence falls"`
}

type harmfulMemory struct {
	Reason string `json:"reason,omitempty" doc:"What went wrong, in one sentence"`
}

type linkMemory struct {
	Type loci.LinkType `json:"link_type" enum:"derived_from,supports,contradicts,supersedes,related_to"`
	To   string        `json:"to" doc:"The id of another memory"`
}

// past is what a memory was.
type past struct {
	Revisions []loci.Revision `json:"revisions" nullable:"false" doc:"What it said under its id, newest first"`
	Chain     []entry         `json:"chain" nullable:"false" doc:"The facts that gave way one to the next, oldest first, itself too"`
}

// origin is where a memory comes from.
type origin struct {
	Source  loci.Source  `json:"source" doc:"Who wrote it, and with what"`
	From    []entry      `json:"from" nullable:"false" doc:"What it was derived from, and what it superseded"`
	Missing int          `json:"missing" doc:"How many of those were erased or have expired"`
	Events  []loci.Event `json:"events" nullable:"false" doc:"What happened to it, oldest first; the newest 100"`
}

// due is a memory that somebody should look at.
type due struct {
	entry
	Reason string `json:"reason" doc:"Why, and what to do"`
}

type (
	restoreInput struct {
		ID   string `path:"id" maxLength:"64" doc:"Of the memory, with note- or without"`
		Body *restoreMemory
	}
	supersedeInput struct {
		ID   string `path:"id" maxLength:"64" doc:"Of the memory, with note- or without"`
		Body supersedeMemory
	}
	harmfulInput struct {
		ID   string `path:"id" maxLength:"64" doc:"Of the memory, with note- or without"`
		Body *harmfulMemory
	}
	linkInput struct {
		ID   string `path:"id" maxLength:"64" doc:"Of the memory, with note- or without"`
		Body linkMemory
	}
	linksOutput struct {
		Body struct {
			Links []loci.Link `json:"links" nullable:"false" doc:"From or to it, oldest first"`
		} `nameHint:"Links"`
	}
	pastOutput   struct{ Body past }
	originOutput struct{ Body origin }
	reviewInput  struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many"`
		Cursor string `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before"`
	}
	reviewOutput struct {
		Body struct {
			Memories   []due  `json:"memories" nullable:"false" doc:"Newest first"`
			NextCursor string `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
		} `nameHint:"Review"`
	}
)

// change is the endpoint of a verb that changes a memory.
func change(name, id, summary, detail string) endpoint {
	return endpoint{
		method: http.MethodPost, path: "/v1/memories/{id}/" + name, id: id, summary: summary, detail: detail,
		scope: loci.ScopeWrite, writes: true,
	}
}

// look is the endpoint of a verb that reads of a memory.
func look(name, id, summary string) endpoint {
	return endpoint{
		method: http.MethodGet, path: "/v1/memories/{id}/" + name, id: id, summary: summary, scope: loci.ScopeRead,
	}
}

func (a *API) lifecycleRoutes() {
	plain := func(e endpoint, do func(context.Context, *loci.Memory, loci.ID) (view.Entry, error)) {
		route(a, e, func(ctx context.Context, c *caller, in *oneMemory) (*entryOutput, error) {
			return verb(ctx, a, c, in.ID, do)
		})
	}
	plain(change("confirm", "confirm_memory", "Say that a fact or a rule still holds", ""), view.Confirm)
	forget := change("forget", "forget_memory", "Take a fact, a rule or an episode out of every search",
		"It stays readable by its id; restore brings it back.")
	forget.scope = loci.ScopeDelete
	plain(forget, view.Forget)
	plain(change("helpful", "mark_helpful", "Count that a rule helped", ""), view.Helpful)
	route(a, change("harmful", "mark_harmful", "Count that a rule did harm, and why", ""),
		func(ctx context.Context, c *caller, in *harmfulInput) (*entryOutput, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			return verb(ctx, a, c, in.ID, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
				return view.Harmful(ctx, m, id, reason)
			})
		})
	route(a, change("restore", "restore_memory", "Bring back what was forgotten, superseded or corrected",
		"The reply is the memory that is there now: what was superseded comes back as a new one, which supersedes the one that took its place."),
		func(ctx context.Context, c *caller, in *restoreInput) (*entryOutput, error) {
			version := int64(0)
			if in.Body != nil {
				version = in.Body.Version
			}
			return verb(ctx, a, c, in.ID, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
				return view.Restore(ctx, m, id, version)
			})
		})
	route(a, change("supersede", "supersede_memory", "Store a fact or a note in the place of another",
		"The new one has the key of the old one and its own id; the old one stays as history. The reply is the new one."),
		func(ctx context.Context, c *caller, in *supersedeInput) (*entryOutput, error) {
			b := &in.Body
			fact := loci.NewFact{Content: b.Content, Value: b.Value, Tags: b.Tags, Metadata: b.Metadata,
				Importance: b.Importance, Permanence: b.Permanence}
			return verb(ctx, a, c, in.ID, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
				return view.Supersede(ctx, m, id, fact)
			})
		})
	a.eraseRoute()
	a.relationRoutes()
}

// relationRoutes are about what a memory was, and has to do with others.
func (a *API) relationRoutes() {
	route(a, look("history", "memory_history", "Read what a memory was before"),
		func(ctx context.Context, c *caller, in *oneMemory) (*pastOutput, error) {
			return about(a, c, in.ID, func(m *loci.Memory, id loci.ID) (*pastOutput, error) {
				p, err := view.History(ctx, m, id)
				return &pastOutput{past{p.Revisions, showEntries(m, p.Chain)}}, err
			})
		})
	route(a, look("provenance", "memory_provenance", "Read where a memory comes from"),
		func(ctx context.Context, c *caller, in *oneMemory) (*originOutput, error) {
			return about(a, c, in.ID, func(m *loci.Memory, id loci.ID) (*originOutput, error) {
				o, err := view.Provenance(ctx, m, id)
				for i := range o.Events {
					o.Events[i].Namespace = relative(m, o.Events[i].Namespace)
				}
				return &originOutput{origin{o.Source, showEntries(m, o.From), o.Missing, o.Events}}, err
			})
		})
	links := func(ctx context.Context, m *loci.Memory, id loci.ID) (*linksOutput, error) {
		list, err := view.Links(ctx, m, id)
		out := &linksOutput{}
		out.Body.Links = list
		return out, err
	}
	route(a, look("links", "list_links", "List the links from and to a memory"),
		func(ctx context.Context, c *caller, in *oneMemory) (*linksOutput, error) {
			return about(a, c, in.ID, func(m *loci.Memory, id loci.ID) (*linksOutput, error) {
				return links(ctx, m, id)
			})
		})
	route(a, change("links", "add_link", "Link a memory to another", "A link that is there already stays as it is; it changes no state."),
		func(ctx context.Context, c *caller, in *linkInput) (*linksOutput, error) {
			return about(a, c, in.ID, func(m *loci.Memory, id loci.ID) (*linksOutput, error) {
				to, err := (&oneNote{in.Body.To}).id()
				if err != nil {
					return nil, loci.Errorf(loci.NotFound, "to names no memory")
				}
				if err := view.Link(ctx, m, id, in.Body.Type, to); err != nil {
					return nil, err
				}
				return links(ctx, m, id)
			})
		})
	route(a, endpoint{
		method: http.MethodGet, path: "/v1/review", id: "review", summary: "List what somebody should look at", scope: loci.ScopeRead,
		detail: "Facts and rules that fade, rules that did harm, episodes that wait for consolidation.",
	}, func(ctx context.Context, c *caller, in *reviewInput) (*reviewOutput, error) {
		return within(a, c, func(m *loci.Memory) (*reviewOutput, error) {
			list, next, err := view.Review(ctx, m, loci.Page{Limit: in.Limit, Cursor: in.Cursor})
			out := &reviewOutput{}
			out.Body.Memories, out.Body.NextCursor = make([]due, len(list)), next
			for i := range list {
				out.Body.Memories[i] = due{showEntry(m, &list[i].Entry), list[i].Reason}
			}
			return out, err
		})
	})
}
