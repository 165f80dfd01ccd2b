// Package tool declares every tool a language model can call, each once, as a
// typed Go function. Protocol servers, the command line and Go programs all carry
// the same [Tool] values:
//
//	set, err := tool.New(engine, tool.Config{Entries: []tool.Instance{{Family: tool.FamilyNotes}}})
//	save, _ := set.Lookup("memory_save")
//	reply, err := save.Call(ctx, tool.Caller{Principal: principal}, []byte(`{"content":"Prefers window seats."}`))
//
// Whose memory a call works on follows from the [loci.Principal] alone: no tool
// has an argument for it.
package tool
