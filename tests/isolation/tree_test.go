package isolation

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tree"
)

// trees calls do with the attacker's trees, under every name and thread that an attacker can
// think of.
func (p *probe) trees(do func(*tree.Tree)) {
	places := [][2]string{{"", ""}, {"", "victim"}}
	if !strings.Contains(p.sent, canary) { // otherwise the attacker's own later events would name it
		places = append(places, [2]string{p.sent, p.sent})
	}
	for _, place := range places {
		if filed, err := tree.Of(p.m, place[0], place[1]); err == nil {
			do(filed)
		}
	}
}

// readFiles calls everything that reads files.
func (p *probe) readFiles(ctx context.Context) {
	p.trees(func(filed *tree.Tree) {
		for _, path := range []string{"/", "/" + canary + "/" + canary, p.sent} {
			content, info, err := filed.ReadInfo(ctx, path)
			p.check("ReadInfo", []any{content, info}, err)
			lines, err := filed.ReadLines(ctx, path, 1, 0)
			p.check("ReadLines", lines, err)
			list, err := filed.List(ctx, path)
			p.check("List", list, err)
			p.checkIDs("List", list)
			err = filed.Walk(ctx, path, func(f tree.FileInfo) bool { p.check("Walk", f, nil); return true })
			p.check("Walk", nil, err)
			stat, err := filed.Stat(ctx, path)
			p.check("Stat", stat.ID, err)
			versions, err := filed.Versions(ctx, path)
			p.check("Versions", versions, err)
			for version := range int64(3) {
				content, err = filed.ReadVersion(ctx, path, version)
				p.check("ReadVersion", content, err)
			}
			diff, err := filed.Diff(ctx, path, 1, 0)
			p.check("Diff", diff, err)
			found, err := filed.Search(ctx, tree.Query{Text: "words of the file", Path: path})
			p.check("Tree.Search", found, err)
		}
		files, _, err := filed.Files(ctx, loci.Page{})
		p.check("Files", files, err)
	})
	for _, thread := range []string{"", p.sent, "victim"} {
		for _, content := range []tree.ConnectorContent{tree.ContentTree, tree.ContentFull} {
			text, err := tree.ConnectorText(ctx, p.m, tree.ConnectorOptions{Thread: thread, Content: content})
			p.check("ConnectorText", text, err)
		}
	}
}

// changeFiles calls everything that changes files; the end compares what the victim has.
func (p *probe) changeFiles(ctx context.Context) {
	path := "/" + canary + "/" + canary
	p.trees(func(filed *tree.Tree) {
		_, err := filed.Append(ctx, path, "not the victim's")
		p.check("Append", nil, err)
		_, err = filed.Update(ctx, path, "words", "other words")
		p.check("Update", nil, err)
		_, err = filed.Restore(ctx, path, 1)
		p.check("Restore", nil, err)
		p.check("Rename", nil, filed.Rename(ctx, path, "/moved"))
		_, err = filed.Delete(ctx, "/")
		p.check("Delete", nil, err)
	})
}
