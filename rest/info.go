package rest

import (
	"context"
	"net/http"
	"slices"

	"github.com/loci-memory/loci/tool"
)

// info says what a server is.
type info struct {
	Name     string   `json:"name" doc:"Always loci"`
	Version  string   `json:"version" doc:"Of the program"`
	API      int      `json:"api" doc:"Of this interface: grows when a client that worked would no longer"`
	Families []string `json:"families" nullable:"false" doc:"Families of tools that this server offers"`
	Tools    []string `json:"tools" nullable:"false" doc:"Names of the tools"`
	Embedder string   `json:"embedder,omitempty" doc:"What makes its vectors; absent: search is by keyword only"`
}

type infoOutput struct{ Body info }

func (a *API) infoRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/info", id: "info", summary: "Say what this server is",
		open: "it tells nothing of anybody", tools: true},
		func(context.Context, *caller, *struct{}) (*infoOutput, error) {
			out := info{
				Name:     "loci",
				Version:  a.opts.Version,
				API:      1,
				Families: []string{},
				Tools:    []string{},
				Embedder: a.opts.Engine.Space().Model,
			}
			for _, t := range a.tools() {
				out.Tools = append(out.Tools, t.Name)
				if !slices.Contains(out.Families, t.Family) {
					out.Families = append(out.Families, t.Family)
				}
			}
			return &infoOutput{out}, nil
		})
}

func (a *API) tools() []*tool.Tool {
	if a.opts.Tools == nil {
		return nil
	}
	return a.opts.Tools.Tools()
}
