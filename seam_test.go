//go:build !race

// These tests read files and start no goroutine, so the race detector has nothing
// to see in them: `make test` runs them without it.

package loci_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What packages of features may use of the kernel is the seam: whoever writes one needs
// to know these names and no others. A name that is missing here is refused, and one
// that no feature uses any more has to go. A new door needs a reason.

// doors lead to the engine. Each keeps inside of the handle's view; through none can a
// record change without its event, nor does one hand out the store.
var doors = map[string]string{
	"Commit":             "the one way to change anything: read, decide, cut and embed texts, apply; again on conflict",
	"FeatureOf":          "the feature's own options, out of the engine",
	"Redact":             "credentials leave before anything is kept",
	"Memory.At":          "the handle of a place inside the handle's own",
	"Memory.Namespace":   "where the handle writes",
	"Memory.Now":         "the one clock",
	"Memory.NewID":       "ids, which tests choose",
	"Memory.Records":     "records that a filter selects",
	"Memory.Count":       "how many these are, without reading them",
	"Memory.Namespaces":  "where there are any",
	"Memory.SearchWhere": "the best of what a filter selects",
	"Memory.Event":       "what the audit log gets of a change",
	"Memory.Touch":       "a read that moves an expiry, which is no change",
	"Memory.Turn":        "writers of one thing in this process do not make one another start over",
	"Memory.Settings":    "limits and tools that the operator chose for all",
	"Memory.Complete":    "a language model, within a budget that every process heeds",
	"Memory.ReviseValue": "items show facts, and so may correct one",
}

// mostDoors keeps the seam narrow.
const mostDoors = 17

// library is what any program calls, features too.
var library = []string{"Memory.Search", "Memory.Revisions", "Memory.View", "FactOf", "FactValue"}

// words are pure functions: the same arguments give the same answer, whoever asks.
var words = []string{
	"AsError", "Errorf", "OneOf", "ErrNotFound", "ErrStale", // one voice of errors
	"CheckCreated", "CheckJSON", "CheckLabel", "CheckTime", "ClipLabel", "MarkBytes", "MaxLabelBytes", "MaxLabels", "MaxSearchLimit", "DefaultTokensPerDay",
	"FloorScore",                                                                                             // limits
	"CountJSON", "EachJSON", "DecodeJSON", "MarshalJSON", "UnmarshalJSON", "SetBody", "ReadBody", "ShowTime", // one form of JSON and of times
	"DerivedID", "ParseID", "SlotsBeginning", // ids and slots
	"Digest", "Fence", "Flatten", "Sentences", // texts
}

// data are the types that pass through the doors. Their fields, methods and constants
// come with them.
var data = []string{
	"Memory", "Namespace", "ID", "Kind", "Code", "Error", // bound, placed, named
	"Record", "Revision", "Filter", "Where", "SlotRange", "Order", "Page", "Counts", // kept and selected
	"Change", "Put", "Erase", "Event", "EventType", "Mark", "Decision", "Embedding", "Touch", "Source", "Settings", // changed
	"Query", "Match", "Mode", "Explain", "Result", "Correction", "NamedTime", // searched
	"FeatureKind", "Exporter", "ImportReport", "Imported", "Taker", "PlainTaker", "Verdict", // what a feature is, and brings to transfers
	"Shown",                                                                                            // how a record is shown
	"Completer", "Completion", "Prompt", "Budget", "TokensError", "ContextQuery", "Tokenizer", "Claim", // summaries and contexts
}

// TestFeaturesUseOnlyTheSeam type-checks the package of every feature and looks up each
// name of the kernel in the lists above.
func TestFeaturesUseOnlyTheSeam(t *testing.T) {
	if len(doors) > mostDoors {
		t.Errorf("there are %d doors; the limit is %d: make one of two", len(doors), mostDoors)
	}
	used := map[string]bool{}
	for _, feature := range features(t) {
		for name, where := range kernelUses(t, feature) {
			used[name] = true
			if !inSeam(name) {
				t.Errorf("%s: %s is no part of the seam between the kernel and features", where, name)
			}
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(doors)), library, words) {
		if !used[name] {
			t.Errorf("no feature uses %s: the seam has one name too many", name)
		}
	}
}

// inSeam looks a name up, as [kernelName] writes it.
func inSeam(name string) bool {
	owner, _, of := strings.Cut(name, ".")
	return doors[name] != "" || slices.Contains(library, name) || slices.Contains(words, name) ||
		of && owner != "Memory" && slices.Contains(data, owner) || !of && slices.Contains(data, name)
}

// features are the packages below the root that declare one.
func features(t *testing.T) (dirs []string) {
	t.Helper()
	declares := regexp.MustCompile(`(?m)^type Feature struct`)
	paths, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if dir := filepath.ToSlash(filepath.Dir(path)); declares.Match(source) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) < 4 {
		t.Fatalf("found the features %v: there are at least four", dirs)
	}
	return dirs
}

// kernelUses type-checks a package and returns the names of the root package that it
// uses, each with a place.
func kernelUses(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./"+dir)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports, sources := map[string]string{}, []string(nil)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; p.ImportPath == module+"/"+dir {
			sources = p.GoFiles
		}
	}
	set := gotoken.NewFileSet()
	files := make([]*ast.File, len(sources))
	for i, name := range sources {
		if files[i], err = parser.ParseFile(set, filepath.Join(dir, name), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	load := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	check := types.Config{Importer: importer.ForCompiler(set, "gc", load)}
	if _, err := check.Check(module+"/"+dir, set, files, info); err != nil {
		t.Fatal(err)
	}
	uses := map[string]string{}
	for at, object := range info.Uses {
		if object.Pkg() != nil && object.Pkg().Path() == module {
			if name := kernelName(object); name != "" {
				uses[name] = cmp.Or(uses[name], set.Position(at.Pos()).String())
			}
		}
	}
	return uses
}

// kernelName is how the lists name an object: a method, and a constant of a type of the
// kernel, with the type before it. A field is "": its type is named where it came from.
func kernelName(object types.Object) string {
	owner := func(typ types.Type) string {
		if p, ok := typ.(*types.Pointer); ok {
			typ = p.Elem()
		}
		if n, ok := typ.(*types.Named); ok && n.Obj().Pkg() == object.Pkg() {
			return n.Obj().Name() + "."
		}
		return ""
	}
	switch o := object.(type) {
	case *types.Func:
		if receiver := o.Signature().Recv(); receiver != nil {
			return owner(receiver.Type()) + o.Name()
		}
	case *types.Const:
		return owner(o.Type()) + o.Name()
	case *types.Var:
		if o.IsField() {
			return ""
		}
	case *types.PkgName:
		return ""
	}
	return object.Name()
}
