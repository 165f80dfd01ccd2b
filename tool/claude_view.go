package tool

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/tree"
)

// claudeMaxLines is how many lines a file may have to be viewed: more would not fit
// into the column of their numbers.
const claudeMaxLines = 999_999

// claudeView shows a file with line numbers, or what is in a directory.
func (c *call) claudeView(ctx context.Context, files *tree.Tree, in claudeInput, path string) (string, error) {
	content, err := files.Read(ctx, path)
	switch tree.ErrnoOf(err) {
	case "":
	case tree.EISDIR:
		return claudeDirectory(ctx, files, in.Path, path)
	case tree.ENOENT:
		return "", claudeNoFile(err, in.Path)
	default:
		return "", err
	}
	lines := strings.Split(c.tool.base.scrub(content), "\n")
	if len(lines) > claudeMaxLines {
		return "", invalidFile("File " + in.Path + " exceeds maximum line limit of 999,999 lines.")
	}
	first := 1
	if len(in.ViewRange) == 2 {
		first = max(1, in.ViewRange[0])
		lines = cutRange(lines, first-1, in.ViewRange[1])
	}
	return "Here's the content of " + in.Path + " with line numbers:\n" + numbered(lines, first), nil
}

// cutRange is what a slice of Python takes, in which an end below zero counts from
// the end of the list; here -1 is the end itself.
func cutRange(lines []string, from, to int) []string {
	switch {
	case to == -1:
		to = len(lines)
	case to < 0:
		to += len(lines)
	}
	to = min(to, len(lines))
	if from >= to {
		return nil
	}
	return lines[from:to]
}

// numbered writes lines with their numbers, in a column six wide and a tab.
func numbered(lines []string, first int) string {
	var out strings.Builder
	for i, line := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%6d\t%s", first+i, line)
	}
	return out.String()
}

// claudeDirectory lists what is in a directory, two levels deep, each with its size. The
// size of a directory counts all files below it. Hidden entries are left out. The root
// always exists.
func claudeDirectory(ctx context.Context, files *tree.Tree, shown, path string) (string, error) {
	shown = "/" + strings.Trim(shown, "/")
	if path != "/" {
		path += "/"
	}
	type item struct {
		segments []string
		dir      bool
	}
	var items []item
	sizes := map[string]int64{} // by path below the directory, "" being itself
	err := files.Walk(ctx, path, func(f tree.FileInfo) bool {
		segments := strings.Split(strings.TrimPrefix(f.Path, path), "/")
		sizes[""] += f.Bytes
		for depth := 1; depth <= min(2, len(segments)); depth++ {
			sizes[strings.Join(segments[:depth], "/")] += f.Bytes
		}
		hidden := slices.ContainsFunc(segments, func(name string) bool { return strings.HasPrefix(name, ".") })
		if len(segments) <= 2 && !hidden {
			items = append(items, item{segments, f.Dir})
		}
		return true
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(items, func(a, b item) int { return slices.Compare(a.segments, b.segments) })
	var out strings.Builder
	fmt.Fprintf(&out, "Here're the files and directories up to 2 levels deep in %s, excluding hidden items:\n%s\t%s", shown, sizeText(sizes[""]), shown)
	for _, it := range items {
		name := strings.Join(it.segments, "/")
		fmt.Fprintf(&out, "\n%s\t%s/%s", sizeText(sizes[name]), shown, name)
		if it.dir {
			out.WriteByte('/')
		}
	}
	return out.String(), nil
}

// sizeText writes a number of bytes in units of 1024 each, with one decimal unless it
// is whole.
func sizeText(n int64) string {
	unit := min(max(bits.Len64(uint64(n))-1, 0)/10, 3) // sizes are not negative
	if n&(1<<(10*unit)-1) == 0 {
		return strconv.FormatInt(n>>(10*unit), 10) + "BKMG"[unit:unit+1]
	}
	return fmt.Sprintf("%.1f%c", float64(n)/float64(int64(1)<<(10*unit)), "BKMG"[unit])
}
