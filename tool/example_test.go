package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/tool"
)

func Example() {
	engine, err := loci.New(memory.Open(), nil)
	if err != nil {
		log.Fatal(err)
	}
	set, err := tool.New(engine, tool.Config{Entries: []tool.Instance{{Family: tool.FamilyNotes}}})
	if err != nil {
		log.Fatal(err)
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		log.Fatal(err)
	}
	principal, err := loci.NewPrincipal(tenant, "me", loci.Vars{loci.VarUser: "u-1"}, loci.ScopeRead, loci.ScopeWrite)
	if err != nil {
		log.Fatal(err)
	}
	call := func(name, args string) tool.Reply {
		t, ok := set.Lookup(name)
		if !ok {
			log.Fatalf("no tool %s", name)
		}
		reply, err := t.Call(context.Background(), tool.Caller{Principal: principal}, json.RawMessage(args))
		if err != nil {
			reply = tool.ErrorReply(err)
		}
		return reply
	}

	call("memory_save", `{"content":"Prefers window seats."}`)
	var hits []struct{ Text, Source string }
	if err := json.Unmarshal([]byte(call("memory_search", `{"query":"seats"}`).Text), &hits); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hits[0].Text, hits[0].Source)
	fmt.Println(call("memory_search", `{"query":"seats","top_k":50}`).Text)
	fmt.Println(call("memory_delete", `{"note_id":"note-1"}`).Text)
	// Output:
	// Prefers window seats. user_memory
	// top_k is 50; it must be 1 to 20
	// memory_delete needs the scope "delete", which this credential lacks
}
