//go:build !race

package loci_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	linked = regexp.MustCompile(`\[\*?(?:([a-z]\w*)\.)?([A-Z]\w*[a-z]\w*)(?:\.([A-Z]\w*))?\]`)
	camel  = regexp.MustCompile(`^[a-z]+[a-z0-9]*[A-Z]\w*$`)
)

// TestCommentsNameWhatIsThere: a name that was changed in the code must not live on in the
// comments. What a doc comment begins with, if it looks like a name of code, and what stands
// in brackets in any comment is a name of the package, or of the one that is named.
func TestCommentsNameWhatIsThere(t *testing.T) {
	type room struct {
		names map[string]bool
		files []*ast.File
	}
	set, rooms := gotoken.NewFileSet(), map[string]*room{}
	named := map[string]*room{} // by the name of the package
	sources(t, func(name, text string) {
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		r := rooms[path.Dir(name)]
		if r == nil {
			r = &room{names: map[string]bool{}}
			rooms[path.Dir(name)] = r
			named[strings.TrimSuffix(file.Name.Name, "_test")] = r
		}
		r.files = append(r.files, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				r.names[id.Name] = true
			}
			return true
		})
	})
	for _, r := range rooms {
		for _, file := range r.files {
			for _, comment := range file.Comments {
				for _, m := range linked.FindAllStringSubmatch(comment.Text(), -1) {
					in := r
					if m[1] != "" {
						if in = named[m[1]]; in == nil {
							continue // a package of others
						}
					}
					if !in.names[m[2]] || m[3] != "" && !in.names[m[3]] {
						t.Errorf("%s: the package has no %s", set.Position(comment.Pos()), m[0])
					}
				}
			}
			for _, d := range file.Decls {
				if first := firstName(d); camel.MatchString(first) && !r.names[first] {
					t.Errorf("%s: the comment is about %s, which the package does not have", set.Position(d.Pos()), first)
				}
			}
		}
	}
}

// firstName is the first word of a declaration's comment, without an article.
func firstName(d ast.Decl) string {
	var doc *ast.CommentGroup
	switch d := d.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	words := strings.Fields(doc.Text())
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	return words[0]
}
