// Package leg divides a walk through lists, some of them within others, into legs: each ends after so much, and the
// next one goes on where it ended.
package leg

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// errPause ends a leg. Whoever is within a list returns it, unchanged.
var errPause = errors.New("the leg is over")

// errPlace is a place that no walk wrote.
var errPlace = errors.New("not a place that a walk wrote")

// A Step is a place in one list.
type Step struct {
	From   string `json:"f,omitempty"` // key of the namespace of the list; of a list of some, the first one
	To     string `json:"t,omitempty"` // the last of some
	Cursor string `json:"c,omitempty"` // of the page that is next
	Slot   []byte `json:"s,omitempty"` // of the record that is next, or in which another list is under way
	Inside bool   `json:"i,omitempty"` // the second
	Name   string `json:"r,omitempty"` // of the record that is next in the page at Cursor; "": all of it is
}

// A Place is where a walk goes on, with what came before.
type Place struct {
	Stage  int      `json:"at,omitempty"`
	Steps  []Step   `json:"steps,omitempty"` // of the list, of the one within it, and so on
	Counts [3]int64 `json:"n"`               // what was written by then, as the walker counts it
}

// String writes a place so that [Parse] reads it.
func (p *Place) String() string {
	data, _ := json.Marshal(p) // it has nothing that JSON does not
	return base64.RawURLEncoding.EncodeToString(data)
}

// Parse reads a place; "" is the start.
func Parse(text string) (p Place, err error) {
	if text == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || json.Unmarshal(data, &p) != nil || p.Stage < 0 || slices.Min(p.Counts[:]) < 0 {
		return Place{}, errPlace
	}
	return p, nil
}

// A Walk is one leg. It is the writer of its lines, each of them one call of Write. The zero value is a walk without
// an end before the last list, and writes nothing.
type Walk struct {
	out *bufio.Writer

	most, mostBytes int // after so many lines or bytes the leg is over; 0: never
	lines, bytes    int

	AtOnce int // of a page so many records are done at once, behind which the leg may end; 0: all of it

	goal  []Step // where it goes on; nil: at the start
	steps []Step // where the next leg goes on
}

// Begin begins a leg at the place where the one before ended, or at the start: "".
func Begin(w io.Writer, place string, lines, bytes int) (*Walk, Place, error) {
	from, err := Parse(place)
	return &Walk{out: bufio.NewWriter(w), most: lines, mostBytes: bytes, goal: from.Steps}, from, err
}

// Write writes a line.
func (w *Walk) Write(p []byte) (int, error) {
	w.lines, w.bytes = w.lines+1, w.bytes+len(p)
	return w.out.Write(p)
}

// Flush writes what is not written yet.
func (w *Walk) Flush() error { return w.out.Flush() }

// full reports whether the leg is over. One that wrote nothing is not.
func (w *Walk) full() bool {
	return w.most > 0 && w.lines >= w.most || w.mostBytes > 0 && w.bytes >= w.mostBytes
}

// Room is how much a page reads of what is left of a leg: so many records, so many bytes.
func (w *Walk) Room(records, bytes int) (int, int) {
	if w.most > 0 {
		records = min(records, max(1, w.most-w.lines))
	}
	if w.mostBytes > 0 {
		bytes = min(bytes, max(1, w.mostBytes-w.bytes))
	}
	return records, bytes
}

// Run runs the stages of a walk from one on, and end behind the last, and flushes what was written. It returns the place
// where the next leg goes on; "": this was the last.
func (w *Walk) Run(from int, counts [3]*int64, stages []func() error, end func() error) (next string, err error) {
	for stage := from; stage < len(stages); stage++ {
		err := stages[stage]()
		if err == nil && stage < len(stages)-1 && w.full() {
			stage, err = stage+1, errPause
		}
		if errors.Is(err, errPause) {
			place := Place{Stage: stage, Steps: w.steps, Counts: [3]int64{*counts[0], *counts[1], *counts[2]}}
			return place.String(), w.Flush()
		}
		if w.goal = nil; err != nil {
			return "", err
		}
	}
	if err := end(); err != nil {
		return "", err
	}
	return "", w.Flush()
}

// enter begins a list of a namespace, or of several: then key is "". It returns the step at which the list goes on;
// passed: it was walked through before.
func (w *Walk) enter(key string) (at Step, passed bool) {
	switch {
	case len(w.goal) == 0:
		return Step{}, false
	case key != "" && key < w.goal[0].From:
		return Step{}, true
	case key != "" && key > w.goal[0].From: // the one it was in is gone
		w.goal = nil
		return Step{}, false
	}
	at, w.goal = w.goal[0], w.goal[1:]
	return at, false
}

// pause says where the next leg goes on: at a step of a list and, if that is inside of a record, the steps that lists
// within it have said.
func (w *Walk) pause(s Step) error {
	w.steps = append([]Step{s}, w.steps...)
	return errPause
}

// Slots calls do for each record of a list by slot, of one namespace: list reads a page of what begins at a slot. A leg
// may end before a record, or inside of it: in a list that do walks through. Then the next one calls do again, inside.
// Lists of several namespaces come in the order of their keys. What do returns as an error goes back as it is.
func Slots[R any](
	w *Walk, key string, slot func(*R) string,
	list func(from, cursor string) (page []R, next string, err error), do func(r *R, inside bool) error,
) error {
	at, passed := w.enter(key)
	if passed {
		return nil
	}
	from := string(at.Slot)
	for cursor := ""; ; {
		page, next, err := list(from, cursor)
		if err != nil {
			return err
		}
		for i := range page {
			here := slot(&page[i])
			inside := at.Inside && here == from
			if at = (Step{}); !inside {
				if w.goal = nil; w.full() {
					return w.pause(Step{From: key, Slot: []byte(here)})
				}
			}
			if err := do(&page[i], inside); errors.Is(err, errPause) {
				return w.pause(Step{From: key, Slot: []byte(here), Inside: true})
			} else if err != nil {
				return err
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
}

// Pages calls do with each page of lists, one list for some namespaces after another for others, in the order of their
// keys. A leg may end after each page, and within one if w does less at once. If the record where it ended is gone by
// then, all of its page is done again.
func Pages[N, R any](
	w *Walk, all []N, most int, key func(N) string, name func(*R) string,
	list func(some []N, cursor string) (page []R, next string, err error), do func(page []R) error,
) error {
	at, _ := w.enter("")
	all = slices.DeleteFunc(slices.Clone(all), func(n N) bool { return key(n) < at.From })
	for ; len(all) > 0; at = (Step{}) {
		n := min(len(all), most)
		if at.To != "" { // those that were together stay together, whatever came between
			if n = slices.IndexFunc(all, func(n N) bool { return key(n) > at.To }); n < 0 {
				n = len(all)
			}
		}
		some := all[:n]
		all = all[n:]
		for cursor := at.Cursor; n > 0; {
			page, next, err := list(some, cursor)
			if i := slices.IndexFunc(page, func(r R) bool { return name(&r) == at.Name }); at.Name != "" && i > 0 {
				page = page[i:]
			}
			at.Name = ""
			for err == nil && len(page) > 0 {
				k := len(page)
				if w.AtOnce > 0 {
					k = min(k, w.AtOnce)
				}
				err = do(page[:k])
				if page = page[k:]; err == nil && len(page) > 0 && w.full() {
					return w.pause(Step{From: key(some[0]), To: key(some[n-1]), Cursor: cursor, Name: name(&page[0])})
				}
			}
			switch {
			case err != nil:
				return err
			case next != "" && w.full():
				return w.pause(Step{From: key(some[0]), To: key(some[n-1]), Cursor: next})
			}
			if cursor = next; next == "" {
				break
			}
		}
		if len(all) > 0 && w.full() {
			return w.pause(Step{From: key(all[0])})
		}
	}
	return nil
}
