package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

type injectInput struct {
	Agent string `path:"agent" maxLength:"256" doc:"The id of the agent in the graph"`
	Body  struct {
		Messages []json.RawMessage `json:"messages" nullable:"false" doc:"Of a conversation, in order: each {role, content} as in OpenAI's chat, or {type, data} as LangChain stores them"`
	} `nameHint:"Inject"`
}

type injectOutput struct {
	Body struct {
		Messages []json.RawMessage `json:"messages" nullable:"false" doc:"The same, with a system message that tells of the memory where there is something to tell"`
	} `nameHint:"Injected"`
}

func (a *API) connectorRoutes() {
	route(a, endpoint{method: http.MethodPost, path: "/v1/connectors/{agent}/inject", id: "inject_memory", summary: "Put an agent's memory into a conversation",
		scope: loci.ScopeRead, value: true, detail: "As the connector of the agent in the graph says. The messages themselves stay as they are."}, a.inject)
}

func (a *API) inject(ctx context.Context, c *caller, in *injectInput) (*injectOutput, error) {
	agent, err := a.agent(in.Agent)
	if err != nil {
		return nil, err
	}
	if agent.Connector == nil {
		return nil, &loci.Error{Code: loci.NotFound, Err: tree.ENOTMEM, Msg: "ENOTMEM: the agent has no memory connector",
			Recovery: "Connect a memoryConnector to the agent in the graph."}
	}
	list, err := json.Marshal(in.Body.Messages)
	if err != nil {
		return nil, err
	}
	messages, err := tree.ParseChat(list)
	if err != nil {
		return nil, err
	}
	if messages, err = agent.Connector.Inject(ctx, *c, messages); err != nil {
		return nil, err
	}
	if list, err = tree.FormatChat(messages); err != nil {
		return nil, err
	}
	out := &injectOutput{}
	return out, json.Unmarshal(list, &out.Body.Messages)
}
