package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

// claudeStep is a call of the tool and its reply; a code means that the call is refused.
type claudeStep struct {
	args, want string
	code       loci.Code
}

const listing = "Here're the files and directories up to 2 levels deep in %s, excluding hidden items:\n"

// TestClaudeMemoryTool holds the words of the reference implementation; tests/anthropic checks
// that they are its words.
func TestClaudeMemoryTool(t *testing.T) {
	claude := Instance{Family: FamilyClaude}
	steps := []claudeStep{
		{`{"command":"view","path":"/memories"}`, fmt.Sprintf(listing, "/memories") + "0B\t/memories", ""},
		{`{"command":"create","path":"/memories/a.md","file_text":"one\ntwo\nthree\nfour\nfive\nsix\n"}`, "File created successfully at: /memories/a.md", ""},
		{`{"command":"create","path":"/memories/a.md","file_text":"x"}`, "File /memories/a.md already exists", loci.Conflict},
		{`{"command":"create","path":"/memories","file_text":"x"}`, "File /memories already exists", loci.Conflict},
		{`{"command":"view","path":"/memories/a.md"}`, "Here's the content of /memories/a.md with line numbers:\n" +
			"     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix\n     7\t", ""},
		{`{"command":"view","path":"/memories/a.md","view_range":[2,3]}`, "Here's the content of /memories/a.md with line numbers:\n     2\ttwo\n     3\tthree", ""},
		{`{"command":"view","path":"/memories/a.md","view_range":[6,-1]}`, "Here's the content of /memories/a.md with line numbers:\n     6\tsix\n     7\t", ""},
		{`{"command":"view","path":"/memories/a.md","view_range":[-5,1]}`, "Here's the content of /memories/a.md with line numbers:\n     1\tone", ""},
		{`{"command":"view","path":"/memories/a.md","view_range":[9,20]}`, "Here's the content of /memories/a.md with line numbers:\n", ""},
		{`{"command":"view","path":"/memories/a.md","view_range":[1]}`, "view_range must be a list of two whole numbers, such as [1, 20], got a list", loci.Invalid},
		{`{"command":"view","path":"/memories/none"}`, "The path /memories/none does not exist. Please provide a valid path.", loci.NotFound},
		{`{"command":"str_replace","path":"/memories/a.md","old_str":"four","new_str":"vier\nfour"}`,
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ttwo\n     3\tthree\n     4\tvier\n     5\tfour\n     6\tfive", ""},
		{`{"command":"str_replace","path":"/memories/a.md","old_str":"ten","new_str":"x"}`, "No replacement was performed, old_str `ten` did not appear verbatim in /memories/a.md.", loci.Invalid},
		{`{"command":"str_replace","path":"/memories/a.md","old_str":"e\n","new_str":"x"}`,
			"No replacement was performed. Multiple occurrences of old_str `e\n` in lines: 1, 3, 6. Please ensure it is unique", loci.Invalid},
		{`{"command":"str_replace","path":"/memories/a.md","old_str":"","new_str":"x"}`, "the text to replace must not be empty", loci.Invalid},
		{`{"command":"str_replace","path":"/memories/a.md","old_str":"vier\n"}`,
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix", ""},
		{`{"command":"insert","path":"/memories/a.md","insert_line":6,"insert_text":"seven\n\n"}`, "The file /memories/a.md has been edited.", ""},
		{`{"command":"insert","path":"/memories/a.md","insert_line":9,"insert_text":"x"}`, "Invalid `insert_line` parameter: 9. It should be within the range [0, 7].", loci.Invalid},
		{`{"command":"insert","path":"/memories/a.md","insert_line":-1,"insert_text":"x"}`, "Invalid `insert_line` parameter: -1. It should be within the range [0, 7].", loci.Invalid},
		{`{"command":"view","path":"/memories/a.md","view_range":[6,8]}`, "Here's the content of /memories/a.md with line numbers:\n     6\tsix\n     7\tseven\n     8\t", ""},
		{`{"command":"create","path":"/memories/d/e/f.md","file_text":"` + strings.Repeat("x", 1536) + `"}`, "File created successfully at: /memories/d/e/f.md", ""},
		{`{"command":"create","path":"/memories/.hidden","file_text":"x"}`, "File created successfully at: /memories/.hidden", ""},
		{`{"command":"create","path":"/memories/a.md/b","file_text":"x"}`, "ENOTDIR: a parent of the path is a file", loci.Invalid},
		{`{"command":"view","path":"/memories"}`, fmt.Sprintf(listing, "/memories") + "1.5K\t/memories\n34B\t/memories/a.md\n1.5K\t/memories/d/\n1.5K\t/memories/d/e/", ""},
		{`{"command":"view","path":"/memories/d/"}`, fmt.Sprintf(listing, "/memories/d") + "1.5K\t/memories/d\n1.5K\t/memories/d/e/\n1.5K\t/memories/d/e/f.md", ""},
		{`{"command":"insert","path":"/memories/d","insert_line":0,"insert_text":"x"}`, "The path /memories/d is not a file.", loci.Invalid},
		{`{"command":"rename","old_path":"/memories/d","new_path":"/memories/a.md"}`, "The destination /memories/a.md already exists", loci.Conflict},
		{`{"command":"rename","old_path":"/memories/d","new_path":"/memories/d"}`, "The destination /memories/d already exists", loci.Conflict},
		{`{"command":"rename","old_path":"/memories/none","new_path":"/memories/none"}`, "The path /memories/none does not exist", loci.NotFound},
		{`{"command":"rename","old_path":"/memories/none","new_path":"/memories/a.md"}`, "The destination /memories/a.md already exists", loci.Conflict},
		{`{"command":"rename","old_path":"/memories","new_path":"/memories/x"}`, "Cannot rename the /memories directory itself", loci.Invalid},
		{`{"command":"rename","old_path":"/memories/d/e","new_path":"/memories/g/h"}`, "Successfully renamed /memories/d/e to /memories/g/h", ""},
		{`{"command":"delete","path":"/memories/g"}`, "Successfully deleted /memories/g", ""},
		{`{"command":"delete","path":"/memories/g"}`, "The path /memories/g does not exist", loci.NotFound},
		{`{"command":"delete","path":"/memories/"}`, "Cannot delete the /memories directory itself", loci.Invalid},
		{`{"command":"view","path":"/memories/../etc"}`, "Path /memories/../etc would escape /memories directory", loci.Invalid},
		{`{"command":"view","path":"/memories\\..\\etc"}`, "", loci.Invalid},
		{`{"command":"view","path":"/etc"}`, "Path must start with /memories, got: /etc", loci.Invalid},
		{`{"command":"view","path":"/memoriesX"}`, "Path must start with /memories, got: /memoriesX", loci.Invalid},
		{`{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/../a"}`, "Path /memories/../a would escape /memories directory", loci.Invalid},
		{`{"command":"view"}`, "path is required for view", loci.Invalid},
		{`{"command":"create","path":"/memories/x","file_text":null}`, "file_text is required for create", loci.Invalid},
		{`{"command":"insert","path":"/memories/a.md","insert_text":"x"}`, "insert_line is required for insert", loci.Invalid},
		{`{"command":"undo","path":"/memories/a.md"}`, `unknown command "undo": must be one of view, create, str_replace, insert, delete, rename`, loci.Invalid},
		{`{"command":"view","path":7}`, "path must be a string, got the number 7", loci.Invalid},
	}
	set, u := newSet(t, claude), user(t, "u-1")
	for _, s := range steps {
		if s.code == "" {
			if got := ok(t, set, "memory", u, s.args).Text; got != s.want {
				t.Errorf("%s\n got %q\nwant %q", s.args, got, s.want)
			}
			continue
		}
		tl, _ := set.Lookup("memory")
		_, err := tl.Call(t.Context(), u, json.RawMessage(s.args))
		if e := loci.AsError(err); err == nil || e.Code != s.code || s.want != "" && e.Msg != s.want {
			t.Errorf("%s\n got %v\nwant %s %s", s.args, err, s.code, s.want)
		}
	}
	refused(t, set, "memory", u, `{"command":"view","path":"/memories","colour":"red"}`, loci.Invalid,
		`unknown argument "colour": the arguments are command, path, view_range, file_text, old_str, new_str, insert_line, insert_text, old_path, new_path`)
	_, err := callMemory(t, set, u, `{"command":"create","path":"/memories/über.md","file_text":"x"}`)
	if err == nil || !strings.Contains(err.Error(), "invalid path segment: über.md: names have letters A to Z") {
		t.Errorf("a name that a tree cannot have: %v", err)
	}
	long := strings.Repeat("long ", 1000)
	if _, err = callMemory(t, set, u, object("command", "str_replace", "path", "/memories/a.md", "old_str", long)); err == nil || !strings.HasSuffix(err.Error(), "did not appear verbatim in /memories/a.md.") {
		t.Errorf("the end of the error says what is wrong: %v", err)
	}
}

func callMemory(t *testing.T, set *Set, c Caller, args string) (Reply, error) {
	t.Helper()
	tl, _ := set.Lookup("memory")
	return tl.Call(t.Context(), c, json.RawMessage(args))
}

// The same tree has the paths of the family files, without /memories.
func TestClaudeSharesTheTree(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyClaude}, Instance{Tool: "memory", Name: "files"}), user(t, "u-1")
	ok(t, set, "memory", u, `{"command":"create","path":"/memories/a/b","file_text":"zebra"}`)
	if got := ok(t, set, "files", u, `{"command":"read","path":"/a/b"}`).Text; !strings.Contains(got, "zebra") {
		t.Error(got)
	}
}

// A model is told to write things down if it has a command that does.
func TestClaudeSaysWhetherItWrites(t *testing.T) {
	for command, writes := range map[string]bool{claudeView: false, claudeDelete: false, claudeInsert: true} {
		tl, _ := newSet(t, Instance{Family: FamilyClaude, Commands: []string{command}}).Lookup("memory")
		if strings.Contains(tl.Description, "write down") != writes {
			t.Errorf("%s alone: %s", command, tl.Description)
		}
	}
}

func TestClaudeScopes(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyClaude})
	ok(t, set, "memory", user(t, "u-1"), `{"command":"create","path":"/memories/a","file_text":"x"}`)
	for args, need := range map[string]loci.Scope{
		`{"command":"view","path":"/memories/a"}`:                                          loci.ScopeRead,
		`{"command":"create","path":"/memories/b","file_text":"x"}`:                        loci.ScopeWrite,
		`{"command":"str_replace","path":"/memories/a","old_str":"x","new_str":"x"}`:       loci.ScopeWrite,
		`{"command":"insert","path":"/memories/a","insert_line":0,"insert_text":"x"}`:      loci.ScopeWrite,
		`{"command":"rename","old_path":"/memories/a","new_path":"/memories/moved/there"}`: loci.ScopeWrite,
		`{"command":"delete","path":"/memories/a"}`:                                        loci.ScopeDelete,
	} {
		for _, has := range []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete} {
			if has == need {
				continue
			}
			_, err := callMemory(t, set, user(t, "u-1", has), args)
			if err == nil || loci.AsError(err).Code != loci.Forbidden {
				t.Errorf("%s with %s alone: %v", args, has, err)
			}
		}
	}
}

// A repeated call says what the first one said, whatever happened since.
func TestClaudeCallsAreRepeatable(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyClaude}), user(t, "u-1")
	ok(t, set, "memory", u, `{"command":"create","path":"/memories/a","file_text":"one\ntwo"}`)
	keyed := u
	for n, args := range []string{
		`{"command":"str_replace","path":"/memories/a","old_str":"two","new_str":"three"}`,
		`{"command":"insert","path":"/memories/a","insert_line":0,"insert_text":"zero"}`,
		`{"command":"rename","old_path":"/memories/a","new_path":"/memories/b"}`,
		`{"command":"delete","path":"/memories/b"}`,
	} {
		keyed.IdempotencyKey = fmt.Sprint("key", n)
		first := ok(t, set, "memory", keyed, args)
		if n == 0 {
			ok(t, set, "memory", u, `{"command":"insert","path":"/memories/a","insert_line":0,"insert_text":"by another"}`)
		}
		if again := ok(t, set, "memory", keyed, args); again.Text != first.Text {
			t.Errorf("%s: %q, then %q", args, first.Text, again.Text)
		}
	}
}

func TestUnwiredToolsHaveNoMemory(t *testing.T) {
	for _, family := range []string{FamilyFiles, FamilyClaude} {
		set := newSet(t, Instance{Family: family, Unwired: true})
		reply, err := callMemory(t, set, user(t, "u-1"), `{"command":"delete","path":"/memories/a"}`)
		if err == nil {
			err = reply.Err
		}
		if tree.ErrnoOf(err) != tree.ENOTMEM {
			t.Errorf("%s: %v", family, err)
		}
	}
}

// Whole units have no decimals, others one.
func TestSizesAsClaudeReadsThem(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0B", 1: "1B", 512: "512B", 1023: "1023B", 1024: "1K", 1025: "1.0K", 1536: "1.5K", 3072: "3K",
		1<<20 - 1: "1024.0K", 1 << 20: "1M", 5 << 20: "5M", 5<<20 + 1<<19: "5.5M", 1 << 30: "1G", 3 << 40: "3072G",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d bytes are shown as %s, not %s", n, got, want)
		}
	}
}
