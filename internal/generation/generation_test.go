package generation

import "testing"

// TestChoiceOfAnotherProcess: a space that somebody else makes active is followed; the
// first one seen is no such choice, nor is the process's own, nor none at all.
func TestChoiceOfAnotherProcess(t *testing.T) {
	var w Watch[string]
	if _, known := w.Active(); known {
		t.Error("a new watch knows a space")
	}
	for i, step := range []struct {
		active  string
		own     bool
		adopted bool
	}{
		{"old", false, false}, // was there before the process came
		{"old", false, false},
		{"other", false, true},
		{"other", false, true},
		{"mine", true, false},
		{"third", false, true},
		{"", false, false}, // the tenant was erased
		{"first again", false, true},
	} {
		w.See(step.active, step.own)
		if active, known := w.Active(); !known || active != step.active || w.Adopted() != step.adopted {
			t.Errorf("step %d: active %q, known %v, adopted %v", i, active, known, w.Adopted())
		}
	}
	if w.Stay(); w.Adopted() {
		t.Error("a process that stays with its own space has adopted another")
	}
}

// TestGapsThatCount: missing vectors count in the active space, and in any while none is
// active; a space that is being built finds its own.
func TestGapsThatCount(t *testing.T) {
	of := func(space string) func(string) bool { return func(s string) bool { return s == space } }
	var w Watch[string]
	if w.Lag(of("any")); !w.Lagging() {
		t.Error("without an active space a gap went unnoticed")
	}
	if w.SetLagging(false); w.Lagging() {
		t.Error("gaps that are filled still count")
	}
	w.See("active", true)
	if w.Lag(of("being built")); w.Lagging() {
		t.Error("a gap in a space that is being built counts")
	}
	if w.Lag(of("active")); !w.Lagging() {
		t.Error("a gap in the active space went unnoticed")
	}
}
