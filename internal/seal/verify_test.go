package seal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// chained makes a log of n sealed events, the oldest first. Each is about an entity of its own.
func chained(n int) []*Line {
	var lines []*Line
	var before Hash
	for i := 1; i <= n; i++ {
		l := &Line{Seq: int64(i)}
		l.ID, l.Entity, l.Type = [16]byte{1, byte(i)}, [16]byte{2, byte(i)}, "created"
		l.Nonce, l.Payload = []byte("nonce"), fmt.Append(nil, "payload ", i)
		l.Digest = l.PayloadDigest()
		l.Hash = l.After(before)
		before = l.Hash
		lines = append(lines, l)
	}
	return lines
}

// reseal makes the chain whole again from a place on, as after a change that nobody is to notice.
func reseal(lines []*Line, from int) {
	for i := from; i < len(lines); i++ {
		var before Hash
		if i > 0 {
			before = lines[i-1].Hash
		}
		lines[i].Hash = lines[i].After(before)
	}
}

func empty(l *Line) { l.Nonce, l.Payload = nil, nil }

// verified reads lines, the newest first, as an engine does.
func verified(v *Verifier, lines []*Line, later ...*Line) *Verifier {
	for _, l := range slices.Backward(lines) {
		v.Check(l)
	}
	if v.End() {
		for _, l := range slices.Backward(append(slices.Clone(lines), later...)) {
			if !v.Later(l) {
				break
			}
		}
	}
	v.Settle()
	return v
}

func TestWholeLog(t *testing.T) {
	lines := chained(4)
	v := verified(&Verifier{Head: lines[3].Hash, Known: lines[1].Hash}, lines)
	if len(v.Problems) > 0 || v.Events != 4 || v.Older != 0 || v.Emptied != 0 || !v.Found {
		t.Errorf("%+v", v)
	}
	if v := verified(&Verifier{}, nil); len(v.Problems) > 0 || v.Events != 0 {
		t.Errorf("of no event: %+v", v)
	}
	v = verified(&Verifier{Head: lines[3].Hash, Start: 2}, lines)
	if len(v.Problems) != 1 || v.Events != 2 || v.Older != 2 { // the third follows what the chain does not cover
		t.Errorf("%+v", v)
	}
}

// TestChangedLogs: whatever somebody does to a log is told, and in which place.
func TestChangedLogs(t *testing.T) {
	const changed = "it was changed, or an event before it was changed, removed or put in"
	for name, c := range map[string]struct {
		change func(lines []*Line) []*Line
		want   string
	}{
		"a field":            {func(l []*Line) []*Line { l[1].Actor = "x"; return l }, "event 2 (01020000-0000-0000-0000-000000000000): " + changed},
		"a payload":          {func(l []*Line) []*Line { l[1].Payload = []byte("x"); return l }, "event 2 (01020000-0000-0000-0000-000000000000): its payload was changed"},
		"an emptied payload": {func(l []*Line) []*Line { empty(l[1]); return l }, "event 2 (01020000-0000-0000-0000-000000000000): its payload was changed"},
		"a namespace":        {func(l []*Line) []*Line { l[1].Renamed = true; return l }, "event 2 (01020000-0000-0000-0000-000000000000): its namespace was changed"},
		"removed":            {func(l []*Line) []*Line { return slices.Delete(l, 1, 2) }, "event 3 (01030000-0000-0000-0000-000000000000): " + changed},
		"the first":          {func(l []*Line) []*Line { return l[1:] }, "event 2 (01020000-0000-0000-0000-000000000000): " + changed},
		"the last":           {func(l []*Line) []*Line { return l[:3] }, "the last event is missing: the log was cut short"},
		"put in": {func(l []*Line) []*Line {
			return slices.Insert(l, 1, &Line{Seq: 2, Entry: Entry{Digest: (&Entry{}).PayloadDigest()}})
		}, "event 2 (00000000-0000-0000-0000-000000000000): " + changed},
		"two places": {func(l []*Line) []*Line { l[1], l[2] = l[2], l[1]; return l }, changed},
		"all":        {func(l []*Line) []*Line { return nil }, "the last event is missing: the log was cut short"},
	} {
		lines := chained(4)
		v := &Verifier{Head: lines[3].Hash}
		if verified(v, c.change(lines)); len(v.Problems) == 0 || !strings.Contains(strings.Join(v.Problems, "\n"), c.want) {
			t.Errorf("%s: %q", name, v.Problems)
		}
	}
}

// TestRewrittenLog: whoever makes all hashes again is caught by one that was noted earlier.
func TestRewrittenLog(t *testing.T) {
	lines := chained(4)
	known := lines[2].Hash
	lines[1].Actor = "x"
	reseal(lines, 1)
	if v := verified(&Verifier{Head: lines[3].Hash}, lines); len(v.Problems) > 0 {
		t.Errorf("without a hash of before: %q", v.Problems)
	}
	v := verified(&Verifier{Head: lines[3].Hash, Known: known}, lines)
	if v.Found || len(v.Problems) != 1 || !strings.HasPrefix(v.Problems[0], "no event has the hash ") {
		t.Errorf("%v, %q", v.Found, v.Problems)
	}
}

// TestErasedPayload: a payload may go with its record, and only with it.
func TestErasedPayload(t *testing.T) {
	lines := chained(4)
	lines[3].Erases, lines[3].Entity = true, lines[0].Entity
	reseal(lines, 3)
	empty(lines[0])
	v := verified(&Verifier{Head: lines[3].Hash}, lines)
	if len(v.Problems) > 0 || v.Emptied != 1 {
		t.Errorf("%+v", v)
	}
	lines[0].Payload = []byte("x")
	if v := verified(&Verifier{Head: lines[3].Hash}, lines); len(v.Problems) != 1 || v.Emptied != 0 {
		t.Errorf("a payload that came back: %+v", v)
	}
}

// TestErasedWhileItIsRead: the event of an erase may come after the first one that was read.
func TestErasedWhileItIsRead(t *testing.T) {
	lines := chained(5)
	lines[4].Erases, lines[4].Entity = true, lines[1].Entity
	reseal(lines, 4)
	empty(lines[1])
	v := verified(&Verifier{Head: lines[3].Hash}, lines[:4], lines[4])
	if len(v.Problems) > 0 || v.Emptied != 1 {
		t.Errorf("%+v", v)
	}
	lines[4].Actor = "x"
	if v := verified(&Verifier{Head: lines[3].Hash}, lines[:4], lines[4]); len(v.Problems) != 1 {
		t.Errorf("the event of the erase was changed: %q", v.Problems)
	}
	lines[4].Actor, lines[4].Erases = "", false
	if v := verified(&Verifier{Head: lines[3].Hash}, lines[:4], lines[4]); len(v.Problems) != 1 {
		t.Errorf("nothing erased it: %q", v.Problems)
	}
}

// TestPartsThatOlderBuildsErased are cleared by what the store says, one by one, if an event
// of their family may have taken them along.
func TestPartsThatOlderBuildsErased(t *testing.T) {
	read := func(least int, acquit bool, change func([]*Line)) (v *Verifier, asked [][16]byte) {
		lines := chained(4)
		lines[1].Part, lines[1].Family = true, "thread"
		lines[2].Ends, lines[2].Family = true, "thread"
		change(lines)
		reseal(lines, 0)
		empty(lines[1])
		v = &Verifier{Head: lines[3].Hash}
		for _, l := range slices.Backward(lines) {
			v.Check(l)
		}
		asked = v.Quiet(least)
		if len(asked) > 0 && len(v.Quiet(least)) > 0 {
			t.Error("asked twice about one")
		}
		if acquit {
			v.Acquit(asked)
		}
		v.End()
		v.Settle()
		return v, asked
	}
	as := func([]*Line) {}
	if v, asked := read(1, true, as); len(asked) != 1 || len(v.Problems) > 0 || v.Emptied != 1 {
		t.Errorf("%v, %+v", asked, v)
	}
	if v, asked := read(2, true, as); len(asked) != 0 || len(v.Problems) != 1 {
		t.Errorf("fewer than asked for: %v, %q", asked, v.Problems)
	}
	if v, asked := read(1, false, as); len(asked) != 1 || len(v.Problems) != 1 {
		t.Errorf("not acquitted: %v, %q", asked, v.Problems)
	}
	for name, change := range map[string]func([]*Line){
		"another family": func(l []*Line) { l[2].Family = "other" },
		"no part":        func(l []*Line) { l[1].Part = false },
		"no end":         func(l []*Line) { l[2].Ends = false },
		"an end before":  func(l []*Line) { l[2].Ends = false; l[0].Ends, l[0].Family = true, "thread" },
	} {
		if v, asked := read(1, true, change); len(asked) != 0 || len(v.Problems) != 1 {
			t.Errorf("%s: %v, %q", name, asked, v.Problems)
		}
	}
}

// TestFormerHashes prove a log from before there were marks, while its names are there.
func TestFormerHashes(t *testing.T) {
	lines := chained(3)
	var former Hash
	for _, l := range lines {
		l.Place = "user/ada"
		l.Former = l.FormerAfter(former, l.Place)
		former = l.Former
	}
	reseal(lines, 0)
	v := verified(&Verifier{Head: lines[2].Hash, Known: lines[1].Former}, lines)
	if len(v.Problems) > 0 || !v.Found {
		t.Errorf("%+v", v)
	}
	lines[1].Place = "user/bob"
	if v := verified(&Verifier{Head: lines[2].Hash}, lines); len(v.Problems) != 1 {
		t.Errorf("another place: %q", v.Problems)
	}
	lines[1].Unnamed = true
	if v := verified(&Verifier{Head: lines[2].Hash}, lines); len(v.Problems) != 0 {
		t.Errorf("a place without a name: %q", v.Problems)
	}
}

// TestProblemsAreBounded: a log that is wrong everywhere does not fill the memory.
func TestProblemsAreBounded(t *testing.T) {
	lines := chained(50)
	for _, l := range lines {
		l.Renamed, l.Actor, l.Payload = true, "x", nil
	}
	if v := verified(&Verifier{}, lines); len(v.Problems) != MaxProblems {
		t.Errorf("%d problems", len(v.Problems))
	}
}
