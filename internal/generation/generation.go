// Package generation knows which vector space a process has seen active for a tenant,
// and whether it follows the choice of another process.
package generation

import "sync"

// A Watch is what a process has seen of a tenant's vector spaces; the zero S is no space.
// The zero Watch has seen nothing. It is safe for concurrent use.
type Watch[S comparable] struct {
	mu     sync.Mutex
	known  bool
	active S

	// adopted: while the process was running, somebody else made a space active that is
	// not its own. It then writes only that one and does not switch back: otherwise two
	// processes of different configurations would undo each other's work for ever.
	adopted bool

	lagging bool // a write went without its vectors in the active space
}

// Active returns the active space as it was when last looked at. known is false if nobody
// has looked yet.
func (w *Watch[S]) Active() (active S, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active, w.known
}

// See notes which space is active. own says that it is the process's own space. A change
// to another one is somebody else's choice, which the process adopts.
func (w *Watch[S]) See(active S, own bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var none S
	switch {
	case active == none || own:
		w.adopted = false
	case w.known && active != w.active:
		w.adopted = true
	}
	w.known, w.active = true, active
}

// Adopted reports whether the process follows another's choice of a space.
func (w *Watch[S]) Adopted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.adopted
}

// Stay makes the process keep its own space again.
func (w *Watch[S]) Stay() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.adopted = false
}

// Lag notes that a write was stored without its vectors in a space. made says which
// spaces those vectors belong to. A space that is being built finds its gaps by itself.
func (w *Watch[S]) Lag(made func(S) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var none S
	if w.active == none || made(w.active) {
		w.lagging = true
	}
}

// SetLagging notes whether vectors that search needs are missing.
func (w *Watch[S]) SetLagging(lagging bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lagging = lagging
}

// Lagging reports whether a write was stored without vectors that search needs.
func (w *Watch[S]) Lagging() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lagging
}

// Rank orders the generations of vectors in a list: the active one, then the wanted one,
// then what is left over.
func Rank(active, wanted bool) int {
	switch {
	case active:
		return 0
	case wanted:
		return 1
	}
	return 2
}
