// Command server is what the official conformance suite runs against: the server of
// loci serve with the suite's reference tools, which take the same way through it as
// ours.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/tool"
)

// schema2020 has what the suite looks for in tools/list, to the byte.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
	"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
	"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
		"phone":{"type":"string"},"email":{"type":"string"}},
	"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
	"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
	"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func main() {
	address := flag.String("address", "localhost:0", "where to listen; the URL goes to standard output")
	flag.Parse()
	if err := run(*address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string) error {
	tenant, err := loci.NewTenant("default")
	if err != nil {
		return err
	}
	principal, err := loci.NewPrincipal(tenant, "conformance", nil, loci.ScopeRead)
	if err != nil {
		return err
	}
	anything := json.RawMessage(`{"type":"object"}`)
	protocol, err := mcp.New(mcp.Options{
		Principal: principal,
		Call: func(_ context.Context, t *tool.Tool, _ tool.Caller, _ json.RawMessage) (tool.Reply, error) {
			if t.Name == "test_error_handling" {
				return tool.Reply{}, errors.New("this tool always fails")
			}
			return tool.Reply{Text: t.Description}, nil
		},
		Tools: []*tool.Tool{
			{Name: "test_simple_text", Description: "This is a simple text response for testing.", InputSchema: anything},
			{Name: "test_error_handling", Description: "Always fails", InputSchema: anything},
			{Name: "test_streaming_elicitation", Description: "Answers without asking anything back", InputSchema: anything},
			{Name: "test_logging_tool", Description: "Answers without logging to the client", InputSchema: anything},
			{Name: "json_schema_2020_12_tool", Description: "Has a schema of many keywords", InputSchema: json.RawMessage(schema2020)},
			{Name: "test_x_mcp_header", Description: "Has an argument that is mirrored in a header", InputSchema: json.RawMessage(
				`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`)},
		},
	})
	if err != nil {
		return err
	}
	front, err := server.New(server.Options{MCP: protocol.Handler()})
	if err != nil {
		return err
	}
	ctx := context.Background()
	listener, err := server.Listen(ctx, address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	return front.Serve(ctx, listener) // ends with the suite
}
