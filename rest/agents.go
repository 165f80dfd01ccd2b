package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/loci-memory/loci"
)

// agentShown is an agent of the graph.
type agentShown struct {
	ID        string   `json:"id"`
	Tools     []string `json:"tools" nullable:"false" doc:"The names of those that the caller may use"`
	Connector bool     `json:"connector" doc:"It has a connector, which puts its memory into conversations"`
}

type agentsOutput struct {
	Body struct {
		Agents []agentShown `json:"agents" nullable:"false" doc:"In the order of their ids"`
	} `nameHint:"Agents"`
}

type agentInput struct {
	Agent string `path:"agent" maxLength:"256" doc:"The id of the agent in the graph"`
}

type agentToolInput struct {
	Agent string           `path:"agent" maxLength:"256" doc:"The id of the agent in the graph"`
	Name  string           `path:"name" maxLength:"64" doc:"Of the tool"`
	Body  *json.RawMessage `doc:"The arguments, a JSON object; no body is no arguments"`
}

func (a *API) agentRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/agents", id: "list_agents", summary: "List the agents of the graph",
		open: "it lists what the caller may call", tools: true}, a.listAgents)
	route(a, endpoint{method: http.MethodGet, path: "/v1/agents/{agent}/tools", id: "list_agent_tools", summary: "List the tools of an agent of the graph",
		open: "it lists what the caller may call", tools: true},
		func(_ context.Context, c *caller, in *agentInput) (*toolsOutput, error) {
			agent, err := a.agent(in.Agent)
			if err != nil {
				return nil, err
			}
			return showTools(c, agent.Tools), nil
		})
	route(a, endpoint{
		method: http.MethodPost, path: "/v1/agents/{agent}/tools/{name}", id: "call_agent_tool", summary: "Call a tool of an agent of the graph",
		open: "each tool asks for its own", tools: true,
		value: true, writes: true, detail: "The reply is that of the same tool over MCP, as of /v1/tools/{name}.",
	}, func(ctx context.Context, c *caller, in *agentToolInput) (*toolOutput, error) {
		agent, err := a.agent(in.Agent)
		if err != nil {
			return nil, err
		}
		return a.callOneOf(ctx, c, agent.Tools, &toolInput{in.Name, in.Body}, "See /v1/agents/{agent}/tools for those the agent has.")
	})
}

func (a *API) listAgents(_ context.Context, c *caller, _ *struct{}) (*agentsOutput, error) {
	out := &agentsOutput{}
	out.Body.Agents = []agentShown{}
	for _, id := range slices.Sorted(maps.Keys(a.opts.Agents)) {
		shown := agentShown{ID: id, Tools: []string{}, Connector: a.opts.Agents[id].Connector != nil}
		for _, t := range showTools(c, a.opts.Agents[id].Tools).Body.Tools {
			shown.Tools = append(shown.Tools, t.Name)
		}
		out.Body.Agents = append(out.Body.Agents, shown)
	}
	return out, nil
}

// agent finds an agent of the graph.
func (a *API) agent(id string) (Agent, error) {
	agent, known := a.opts.Agents[id]
	if !known {
		return agent, &loci.Error{Code: loci.NotFound, Msg: "there is no such agent",
			Recovery: "Name an agent of the graph that the server has, in the setting graph."}
	}
	return agent, nil
}
