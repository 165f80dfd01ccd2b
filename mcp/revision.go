package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/jsonguard"
)

const (
	revisionBatches    = "2025-03-26" // the one revision in which a server must take batches
	revisionLastLegacy = "2025-11-25" // the last one with initialize
)

// initialized looks at the reply to initialize and keeps the agreed revision.
//
// A client may ask with a request of the newest revision what a server speaks and
// go on with initialize. The SDK takes that for a second initialize, since any
// such request starts its session; here it is the first, and gets its answer.
func (c *conn) initialized(r *jsonrpc.Request, reply *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply.Error != nil && c.revision == "" && strings.HasPrefix(reply.Error.Error(), `duplicate "initialize"`) {
		if result, err := c.server.greeting(r.Params); err == nil {
			reply.Error, reply.Result = nil, result
		}
	}
	var agreed struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if reply.Error == nil && json.Unmarshal(reply.Result, &agreed) == nil {
		c.revision = agreed.ProtocolVersion
	}
}

// greeting is the result of initialize.
func (s *Server) greeting(params json.RawMessage) (json.RawMessage, error) {
	var asked struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := jsonguard.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	agreed := revisionLastLegacy
	if asked.ProtocolVersion < agreed && slices.Contains(sdk.SupportedProtocolVersions(), asked.ProtocolVersion) {
		agreed = asked.ProtocolVersion
	}
	return json.Marshal(&sdk.InitializeResult{ProtocolVersion: agreed, Instructions: s.opts.Instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		ServerInfo:   s.implementation()})
}
