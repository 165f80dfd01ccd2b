package tree_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// TestConnectorText: what a connector says of a tree, for each kind of content and each limit,
// to the character.
func TestConnectorText(t *testing.T) {
	locitest.Unshared(t)
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		e := locitest.NewEngine(t, store, loci.Options{})
		m := locitest.Bind(t, e, "user", "ann")
		text := func(o tree.ConnectorOptions) string {
			t.Helper()
			got, err := tree.ConnectorText(t.Context(), m, o)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		check := func(name string, o tree.ConnectorOptions, want string) {
			t.Helper()
			if got := text(o); got != want {
				t.Errorf("%s:\n got %q\nwant %q", name, got, want)
			}
		}
		full := tree.ConnectorOptions{Content: tree.ContentFull}
		check("nothing", tree.ConnectorOptions{}, "")
		filed := newTree(t, e, "")
		writeFile(t, filed, "/todo.md", "one\n\"two\" <b>")
		writeFile(t, filed, "/notes/b", "\u202Ehidden ☃\x00 [F] x\u2028")
		writeFile(t, filed, "/notes-2/a", "")
		check("tree", tree.ConnectorOptions{}, "Memory\n/\n[D] notes\n[D] notes-2\n[F] todo.md")
		want := `Memory` + "\n" + `/notes-2/a: ""` + "\n" + `/notes/b: "\u202ehidden ☃\u0000 [F] x\u2028"` + "\n" + `/todo.md: "one\n\"two\" <b>"`
		check("full", full, want)
		chars := utf8.RuneCountInString(strings.TrimPrefix(want, "Memory\n"))
		full.MaxChars = chars
		check("full, just fitting", full, want)
		full.MaxChars = chars - 1
		check("full, too long", full, "Memory\n/\n[D] notes\n[D] notes-2\n[F] todo.md")
		check("cut", tree.ConnectorOptions{MaxChars: 35}, "Memory\n/\n[D] notes\n[D] notes-2\n[F] todo.md")
		check("cut", tree.ConnectorOptions{MaxChars: 34}, "Memory\n/\n[D] notes\n[D] notes-2\n… 1 more")
		check("cut", tree.ConnectorOptions{MaxChars: 25}, "Memory\n/\n[D] notes\n… 2 more")
		check("cut", tree.ConnectorOptions{MaxChars: 12}, "Memory\n/\n… 3 more")
		check("cut", tree.ConnectorOptions{MaxChars: 9}, "Memory\n… 3 more")
		check("cut", tree.ConnectorOptions{MaxChars: 1}, "Memory\n…")

		// A thread without files shows those of all threads.
		check("an empty thread", tree.ConnectorOptions{Thread: "7"}, "Memory\n/\n[D] notes\n[D] notes-2\n[F] todo.md")
		own, err := tree.Of(m, "", "7")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, own, "/mine", "x")
		check("its own", tree.ConnectorOptions{Thread: "7"}, "Memory\n/\n[F] mine")
		if _, err := filed.Delete(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
		check("all deleted", tree.ConnectorOptions{}, "")
		if err := filed.MakeDir(t.Context(), "/empty"); err != nil {
			t.Fatal(err)
		}
		check("no file", tree.ConnectorOptions{Content: tree.ContentFull}, "")
		for i := range 1500 {
			if i%500 == 0 {
				var files []tree.FileContent
				for n := i; n < i+500; n++ {
					files = append(files, tree.FileContent{Path: fmt.Sprintf("/f%04d", n), Content: "x"})
				}
				if _, err := filed.WriteAll(t.Context(), files, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, o := range []tree.ConnectorOptions{{}, {MaxChars: 20_000}, {Content: tree.ContentFull}, {MaxChars: 13}} {
			got := strings.TrimPrefix(text(o), "Memory\n")
			limit := o.MaxChars
			if limit == 0 {
				limit = tree.DefaultConnectorChars
			}
			if n := utf8.RuneCountInString(got); n > limit {
				t.Errorf("%+v: %d characters", o, n)
			}
			lines := strings.Count(got, "\n")
			if want := fmt.Sprintf("… %d more", 1501-lines+1); lines < 1501 && !strings.HasSuffix(got, want) {
				t.Errorf("%+v: %d lines end in %q, want %s", o, lines, got[max(0, len(got)-40):], want)
			}
		}
	})
}

// TestConnect: where a connector puts its message, in each form of messages; the others stay
// as they are.
func TestConnect(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{})
	m := locitest.Bind(t, e, "user", "ann")
	writeFile(t, newTree(t, e, ""), "/a", "x")
	const memory = `{"role":"system","content":"Memory\n/\n[F] a"}`
	const stored = `{"type":"system","data":{"content":"Memory\n/\n[F] a","type":"system"}}`
	for _, c := range []struct {
		name, in, want string
		placement      tree.Placement
	}{
		{"after the first system message", `[{"role":"user","content":"hi"},{"role":"system","content":[{"type":"text","text":"s"}],"name":"n"},{"role":"system","content":"t"}]`,
			`[{"role":"user","content":"hi"},{"role":"system","content":[{"type":"text","text":"s"}],"name":"n"},` + memory + `,{"role":"system","content":"t"}]`, tree.AfterSystem},
		{"no system message", `[{"role":"user","content":"hi"}]`, `[` + memory + `,{"role":"user","content":"hi"}]`, ""},
		{"at the end", `[{"role":"system","content":"s"},{"role":"user","content":"hi"}]`, `[{"role":"system","content":"s"},{"role":"user","content":"hi"},` + memory + `]`, tree.LastMessage},
		{"none at all", `[]`, `[` + memory + `]`, ""},
		{"LangChain", `[{"type":"system","data":{"content":"s","x":1}},{"type":"human","data":{"content":"hi"}}]`,
			`[{"type":"system","data":{"content":"s","x":1}},` + stored + `,{"type":"human","data":{"content":"hi"}}]`, tree.AfterSystem},
		{"LangChain, dumped", `[{"content":"s","type":"system","id":null},{"type":"human","content":"hi"}]`,
			`[{"content":"s","type":"system","id":null},{"content":"Memory\n/\n[F] a","type":"system"},{"type":"human","content":"hi"}]`, tree.AfterSystem},
	} {
		messages, err := tree.ParseChat([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		out, err := tree.Connect(t.Context(), m, messages, tree.ConnectorOptions{Placement: c.placement})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tree.FormatChat(out)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
		if again, err := tree.FormatChat(messages); err != nil || string(again) != c.in {
			t.Errorf("%s: the messages became %s, %v", c.name, again, err)
		}
	}
	for _, bad := range []string{`{}`, `[1]`, `[{"content":"x"}]`, `[{"type":"human"}]`} {
		if _, err := tree.ParseChat([]byte(bad)); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, o := range []tree.ConnectorOptions{{Placement: "first"}, {Content: "all"}, {MaxChars: -1}, {MaxChars: 20_001}} {
		if _, err := tree.Connect(t.Context(), m, nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
