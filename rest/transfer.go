package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/view"
)

// exported describes the reply of an export, and is the body of an import: each line is a
// text, so that no client writes its numbers in another way.
type exported struct {
	Lines   []string `json:"lines" nullable:"false" doc:"Each a JSON object; as lines of a file they are what loci export writes"`
	LeftOut int64    `json:"left_out" doc:"How many memories lie where tools keep them and this does not look: see /v1/namespaces. The first part of an export says it"`
	Next    string   `json:"next_cursor,omitempty" doc:"More is left: goes on. Absent: the last line is that of the end"`
}

// What one reply of an export holds, about, so that it costs a part of a second.
const (
	exportLines = 10_000
	exportBytes = 8 << 20
)

type (
	exportInput struct {
		Limit  int          `query:"limit" minimum:"1" maximum:"10000" doc:"The reply ends behind about so many lines, or 8 MiB of them, and goes on with next_cursor. Absent: all lines, of which there may be no more"`
		Cursor string       `query:"cursor" maxLength:"20000" doc:"The next_cursor of the part before; kind and state are the same for each part"`
		Kind   []loci.Kind  `query:"kind,explode" maxItems:"16" doc:"Only of this kind; may be repeated. A session comes with its messages"`
		State  []view.State `query:"state,explode" maxItems:"6" doc:"Only notes, facts, rules, episodes and items in this state, and with live all others; may be repeated"`
	}
	importInput struct {
		Body struct {
			Lines []string `json:"lines" nullable:"false" doc:"Those of an export, in their order, or of the MCP reference memory server"`
		} `nameHint:"ImportRequest"`
	}
	importOutput struct{ Body loci.ImportReport }
)

func (a *API) transferRoutes() {
	reply := huma.SchemaFromType(a.huma.OpenAPI().Components.Schemas, reflect.TypeFor[exported]())
	route(a, endpoint{
		method: http.MethodGet, path: "/v1/export", id: "export_memories", summary: "Export memories", scope: loci.ScopeRead, reply: reply,
		detail: "With history, links, and all that belongs to a session, a file or a thread. With limit it comes in parts, whose lines are an export together; what is written between two parts may be in it or not. " +
			"Without limit an export of more than one part is 413, too_large. A reply that does not end in its closing brace is not whole.",
	}, a.export)
	route(a, endpoint{
		method: http.MethodPost, path: "/v1/import", id: "import_memories", summary: "Import memories", scope: loci.ScopeWrite, blob: true,
		detail: "All lines are checked before anything is stored. It may be repeated: what is there already is left alone. " +
			"One request takes 4,000 memories and messages, 10,000 links or earlier states, 2 MiB of texts, of which what is not ASCII counts twice and a hyphen between two letters as six bytes, or a mixture of these.",
	}, func(ctx context.Context, c *caller, in *importInput) (*importOutput, error) {
		return within(a, c, func(m *loci.Memory) (*importOutput, error) {
			report, err := m.Import(ctx, strings.NewReader(strings.Join(in.Body.Lines, "\n")), nil)
			return &importOutput{report}, err
		})
	})
}

// checkLines refuses a list of lines that cost more than one request may. It reads none behind the first that
// is too much, and leaves what is no text to others.
func checkLines(list []byte) error {
	weight, n := 0, 0
	return jsonguard.Each(list, func(_ string, element []byte) error {
		n++
		if element[0] != '"' {
			return nil
		}
		var line string
		if err := json.Unmarshal(element, &line); err != nil {
			return err
		}
		if strings.ContainsAny(line, "\n\r") {
			return loci.Errorf(loci.Invalid, "lines must not have line breaks: send each line by itself")
		}
		if weight += intake.Weight([]byte(line)); weight > intake.MaxWeight {
			err := loci.Errorf(loci.TooLarge, "from line %d on, lines have more than one request imports: "+
				"4,000 memories, 10,000 links or earlier states, or 2 MiB of texts, of which what is not ASCII counts twice and a hyphen between two letters as six bytes", n)
			err.Recovery = "Import the file with loci import or with a client, which sends it in parts."
			return err
		}
		return nil
	})
}

// export sends memories while they are read. What fails before the first byte is a problem,
// what fails later breaks the connection off. Whoever does not say that he goes on gets all of it or nothing: he would
// take a part for the whole.
func (a *API) export(ctx context.Context, c *caller, in *exportInput) (*huma.StreamResponse, error) {
	return within(a, c, func(m *loci.Memory) (*huma.StreamResponse, error) {
		var left int64
		if in.Cursor == "" {
			places, err := a.outside(ctx, c, m)
			if err != nil {
				return nil, err
			}
			for _, p := range places {
				left += p.Total
			}
		}
		write := func(ctx context.Context, w io.Writer, part loci.ExportPart) (string, error) {
			_, next, err := view.ExportPart(ctx, m, w, view.Query{Kinds: in.Kind, States: in.State}, nil, part)
			return next, err
		}
		return a.exportPart(c, in.Limit, in.Cursor, left, write), nil
	})
}

// exportPart sends the part of an export that is asked for.
func (a *API) exportPart(
	c *caller, limit int, cursor string, left int64,
	write func(context.Context, io.Writer, loci.ExportPart) (string, error),
) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "application/json")
		out := &begun{ResponseWriter: w}
		lines := &lineList{out: out}
		var kept bytes.Buffer
		whole := limit == 0 && cursor == ""
		if whole {
			lines.out = &kept
		}
		part := loci.ExportPart{Cursor: cursor, Lines: cmp.Or(limit, exportLines), Bytes: exportBytes}
		next, err := write(hc.Context(), lines, part)
		if err == nil && whole && next != "" {
			err = &loci.Error{Code: loci.TooLarge, Msg: fmt.Sprintf("the export has more than %d lines or %d bytes, the limit of one reply", exportLines, exportBytes),
				Recovery: "Ask with limit, and with the next_cursor of each reply as cursor for what follows; or use the command line, which writes all of it."}
		}
		if err == nil {
			err = lines.end(left, next)
		}
		if err == nil {
			_, err = kept.WriteTo(out)
		}
		a.breakOff(r, out, c, err)
	}}
}

// A lineList writes the lines that it is given as a list of texts, in the form of [exported].
type lineList struct {
	out  io.Writer
	rest []byte // of a line that has not ended
	n    int
}

// Write is part of [io.Writer].
func (l *lineList) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	var list bytes.Buffer
	for {
		at := bytes.IndexByte(l.rest, '\n')
		if at < 0 {
			break
		}
		text, err := jsonform.Marshal(string(l.rest[:at]))
		if err != nil {
			return 0, err
		}
		list.WriteString([]string{`{"lines":[`, ","}[min(l.n, 1)])
		list.Write(text)
		l.rest, l.n = l.rest[at+1:], l.n+1
	}
	_, err := l.out.Write(list.Bytes())
	return len(p), err
}

// end ends the list.
func (l *lineList) end(left int64, next string) error {
	if next != "" {
		next = `,"next_cursor":"` + next + `"`
	}
	_, err := fmt.Fprintf(l.out, `],"left_out":%d%s}`, left, next)
	return err
}
