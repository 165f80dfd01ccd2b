package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

type eventsInput struct {
	Limit  int              `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many"`
	Cursor string           `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before"`
	Type   []loci.EventType `query:"type,explode" doc:"Only of this type; may be repeated"`
	Entity string           `query:"entity" maxLength:"64" doc:"Only about the memory of this id"`
	Since  instant          `query:"since" doc:"Only at this time or after"`
	Until  instant          `query:"until" doc:"Only before this time"`
}

type eventsOutput struct {
	Body struct {
		Events     []loci.Event `json:"events" nullable:"false" doc:"Newest first"`
		NextCursor string       `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
	} `nameHint:"Events"`
}

func (a *API) eventRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/events", id: "list_events", summary: "List the audit log", scope: loci.ScopeRead,
		detail: "Events tell who did what to which memory and when, never what it says."}, a.listEvents)
}

func (a *API) listEvents(ctx context.Context, c *caller, in *eventsInput) (*eventsOutput, error) {
	m, err := a.memory(c)
	if err != nil {
		return nil, err
	}
	f := loci.EventFilter{Types: in.Type, Since: in.Since.at, Until: in.Until.at}
	for _, t := range in.Type {
		if !slices.Contains(loci.EventTypes, t) {
			known := strings.Trim(fmt.Sprint(loci.EventTypes), "[]")
			return nil, loci.Errorf(loci.Invalid, "type %.64q is unknown: it must be one of %s", t, strings.ReplaceAll(known, " ", ", "))
		}
	}
	if in.Entity != "" {
		about := oneNote{in.Entity}
		if f.Entity, err = about.id(); err != nil {
			return nil, loci.Errorf(loci.Invalid, "entity %.64q is no id", in.Entity)
		}
	}
	events, next, err := m.Events(ctx, f, loci.Page{Limit: in.Limit, Cursor: in.Cursor})
	out := &eventsOutput{}
	out.Body.Events, out.Body.NextCursor = append([]loci.Event{}, events...), next
	for i := range out.Body.Events {
		e := &out.Body.Events[i]
		e.Namespace = relative(m, e.Namespace)
	}
	return out, err
}
