package generation

import "testing"

// TestChoiceOfAnotherProcess: a space that another process makes active is followed. The first
// space seen, the process's own space, and the lack of any are no such choice.
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

// TestGapsThatCount: missing vectors count in the active space, and in every space while none
// is active. A space that is being built finds its own gaps.
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
