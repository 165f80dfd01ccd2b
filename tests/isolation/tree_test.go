package isolation

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
)

// trees calls do with the attacker's trees of the names and threads he can think of.
func (p *probe) trees(do func(*loci.Tree)) {
	places := [][2]string{{"", ""}, {"", "victim"}}
	if !strings.Contains(p.sent, canary) { // else his own later events would name it
		places = append(places, [2]string{p.sent, p.sent})
	}
	for _, place := range places {
		if tree, err := p.m.Tree(place[0], place[1]); err == nil {
			do(tree)
		}
	}
}

// readFiles calls everything that reads files.
func (p *probe) readFiles(ctx context.Context) {
	p.trees(func(tree *loci.Tree) {
		for _, path := range []string{"/", "/" + canary + "/" + canary, p.sent} {
			content, info, err := tree.ReadInfo(ctx, path)
			p.check("ReadInfo", []any{content, info}, err)
			lines, err := tree.ReadLines(ctx, path, 1, 0)
			p.check("ReadLines", lines, err)
			list, err := tree.List(ctx, path)
			p.check("List", list, err)
			p.checkIDs("List", list)
			err = tree.Walk(ctx, path, func(f loci.FileInfo) bool { p.check("Walk", f, nil); return true })
			p.check("Walk", nil, err)
			stat, err := tree.Stat(ctx, path)
			p.check("Stat", stat.ID, err)
			versions, err := tree.Versions(ctx, path)
			p.check("Versions", versions, err)
			for version := range int64(3) {
				content, err = tree.ReadVersion(ctx, path, version)
				p.check("ReadVersion", content, err)
			}
			diff, err := tree.Diff(ctx, path, 1, 0)
			p.check("Diff", diff, err)
			found, err := tree.Search(ctx, loci.TreeQuery{Text: "words of the file", Path: path})
			p.check("Tree.Search", found, err)
		}
		files, _, err := tree.Files(ctx, loci.Page{})
		p.check("Files", files, err)
	})
	for _, thread := range []string{"", p.sent, "victim"} {
		for _, content := range []loci.ConnectorContent{loci.ContentTree, loci.ContentFull} {
			text, err := p.m.ConnectorText(ctx, loci.ConnectorOptions{Thread: thread, Content: content})
			p.check("ConnectorText", text, err)
		}
	}
}

// changeFiles calls everything that changes files; the end compares what the victim has.
func (p *probe) changeFiles(ctx context.Context) {
	path := "/" + canary + "/" + canary
	p.trees(func(tree *loci.Tree) {
		_, err := tree.Append(ctx, path, "not the victim's")
		p.check("Append", nil, err)
		_, err = tree.Update(ctx, path, "words", "other words")
		p.check("Update", nil, err)
		_, err = tree.Restore(ctx, path, 1)
		p.check("Restore", nil, err)
		p.check("Rename", nil, tree.Rename(ctx, path, "/moved"))
		_, err = tree.Delete(ctx, "/")
		p.check("Delete", nil, err)
	})
}
