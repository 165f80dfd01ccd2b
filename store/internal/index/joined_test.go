package index

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// labelled stands for a mark: one letter a label, as long as those of a label are.
func labelled(labels string) (mark string) {
	for _, l := range labels {
		mark += strings.Repeat(string(l), loci.MarkBytes)
	}
	return mark
}

// Groups are the deepest namespaces with enough small shards; the rest counts for those above. What was planned stays
// as it was, until something above it is a group.
func TestShardsAreJoined(t *testing.T) {
	t.Parallel()
	var all []Small
	add := func(kind loci.Kind, at string, n int, records int64, large bool) {
		for i := range n {
			s := int64(len(all) + 1)
			mark := labelled(at + string(rune('A'+i)))
			all = append(all, Small{Shard: s, Place: 100 + s, Kind: kind, Mark: mark, Records: records, Large: large})
		}
	}
	short := func(groups []Joined) (out []string) {
		for _, g := range groups {
			mark, name := g.bytes(), ""
			for i := 0; i < len(mark); i += loci.MarkBytes {
				name += mark[i : i+1]
			}
			out = append(out, fmt.Sprint(g.Kind, " ", name, " ", g.Apart))
		}
		return out
	}
	look := func(before []Joined, want []string, rest ...int64) []Joined {
		t.Helper()
		groups, left := Join(all, before, 3, 10)
		if got := short(groups); !reflect.DeepEqual(got, want) || !slices.Equal(left, rest) {
			t.Fatalf("groups %q and rest %v; want %q and %v", got, left, want, rest)
		}
		return groups
	}
	add("fact", "u", 2, 5, false) // 1, 2: too few
	look(nil, nil, 1, 2)
	add("fact", "v", 3, 1, false) // 3 to 5: too few records
	add("fact", "v", 1, 50, true) // 6
	look(nil, []string{"fact  [106]"}, 6)
	add("fact", "vw", 3, 9, false) // 7 to 9
	add("rule", "v", 3, 9, false)  // 10 to 12
	groups := look(nil, []string{"fact  [106]", "rule v []"}, 6)
	all[2].Large = true // since: it stays
	if again := look(groups, []string{"fact  [106]", "rule v []"}, 6); !reflect.DeepEqual(again, groups) {
		t.Errorf("planned again: %+v, want %+v", again, groups)
	}
	add("rule", "x", 2, 9, false) // 13, 14: left over
	look(groups, []string{"fact  [106]", "rule v []"}, 6, 13, 14)
	add("rule", "y", 1, 9, true) // 15
	add("rule", "z", 1, 9, false)
	look(groups, []string{"fact  [106]", "rule  [115]"}, 6, 15)
}
