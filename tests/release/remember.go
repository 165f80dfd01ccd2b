// Command remember drives a server over standard input and output with the official
// client: it saves a memory, finds it, and says what it did.
//
//	go run ./tests/release COMMAND [ARGUMENT...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := remember(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "remember:", err)
		os.Exit(1)
	}
	fmt.Println("remembered")
}

func remember(command string, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, command, args...)
	run.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "remember", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: run}, nil)
	if err != nil {
		return err
	}
	for _, call := range []mcp.CallToolParams{
		{Name: "memory_save", Arguments: map[string]any{"content": "Prefers window seats."}},
		{Name: "memory_search", Arguments: map[string]any{"query": "window seats"}},
	} {
		reply, err := session.CallTool(ctx, &call)
		if err != nil {
			return fmt.Errorf("%s: %w", call.Name, err)
		}
		text := ""
		for _, part := range reply.Content {
			if t, ok := part.(*mcp.TextContent); ok {
				text += t.Text
			}
		}
		if reply.IsError || call.Name == "memory_search" && !strings.Contains(text, "Prefers window seats.") {
			return fmt.Errorf("%s says %s", call.Name, text)
		}
	}
	return session.Close()
}
