package leg

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// A shelf has boxes in places, each with things, and things without a box.
type shelf struct {
	places []string
	boxes  map[string][]string // of a place, by slot
	things map[string]int      // in a box
	loose  map[string][]int    // of a place
}

func page[R any](all []R, from, size int) ([]R, string, error) {
	to := min(len(all), from+size)
	if to == len(all) {
		return all[from:], "", nil
	}
	return all[from:to], fmt.Sprint(to), nil
}

func at(cursor string) (n int) {
	_, _ = fmt.Sscan(cursor, &n)
	return n
}

// leg writes one leg and returns the place of the next.
func (s *shelf) leg(out io.Writer, place string, lines, bytes, size int) (string, error) {
	w, from, err := Begin(out, place, lines, bytes)
	if err != nil {
		return "", err
	}
	n := from.Counts[0]
	write := func(text string) error {
		n++
		_, err := fmt.Fprintf(w, "%s\n", text)
		return err
	}
	boxes := func() error {
		for _, key := range s.places {
			label := func(box *string) string { return *box }
			err := Slots(w, key, label, func(from, cursor string) ([]string, string, error) {
				rest := slices.DeleteFunc(slices.Clone(s.boxes[key]), func(box string) bool { return box < from })
				return page(rest, at(cursor), size)
			}, func(box *string, inside bool) error {
				if !inside {
					if err := write("box " + *box); err != nil {
						return err
					}
				}
				slot := func(n *int) string { return fmt.Sprintf("%03d", *n) }
				return Slots(w, key, slot, func(from, cursor string) ([]int, string, error) {
					var all []int
					for n := range s.things[*box] {
						if slot(&n) >= from {
							all = append(all, n)
						}
					}
					return page(all, at(cursor), size)
				}, func(n *int, _ bool) error { return write(fmt.Sprint("thing ", *n, " of ", *box)) })
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	loose := func() error {
		same, name := func(key string) string { return key }, func(n *int) string { return fmt.Sprint(*n) }
		return Pages(w, s.places, 3, same, name, func(some []string, cursor string) ([]int, string, error) {
			var all []int
			for _, key := range some {
				all = append(all, s.loose[key]...)
			}
			n, _ := w.Room(size, 0)
			return page(all, at(cursor), n)
		}, func(page []int) error {
			for _, n := range page {
				if err := write(fmt.Sprint("loose ", n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	stages := []func() error{loose, boxes, loose}
	end := func() error { return write(fmt.Sprint("end ", n)) }
	return w.Run(from.Stage, [3]*int64{&n, new(int64), new(int64)}, stages, end)
}

// Legs of any length write what one walk does, and none is much longer than it may be.
func TestLegsWriteTheWhole(t *testing.T) {
	s := &shelf{boxes: map[string][]string{}, things: map[string]int{}, loose: map[string][]int{}}
	for i := range 8 {
		key := fmt.Sprint("place ", i)
		s.places = append(s.places, key)
		for j := range i * 2 % 7 {
			box := fmt.Sprintf("%s/%d", key, j)
			s.boxes[key], s.things[box] = append(s.boxes[key], box), (i*5+j*3)%9
			s.loose[key] = append(s.loose[key], i*100+j)
		}
	}
	var whole strings.Builder
	if next, err := s.leg(&whole, "", 0, 0, 2); next != "" || err != nil {
		t.Fatal(next, err)
	}
	for _, c := range [][3]int{
		{1, 0, 1}, {1, 0, 5}, {2, 0, 3}, {7, 0, 2}, {50, 0, 4}, {1000, 0, 9}, {0, 1, 2}, {0, 60, 2}, {9, 40, 3},
	} {
		var got strings.Builder
		place, legs := "", 0
		for {
			before := got.Len()
			next, err := s.leg(&got, place, c[0], c[1], c[2])
			if err != nil {
				t.Fatal(c, err)
			}
			if n := strings.Count(got.String()[before:], "\n"); c[0] > 0 && n > c[0]+1 {
				t.Fatalf("%v: a leg of %d lines", c, n)
			}
			if legs++; next == "" {
				break
			}
			if legs > 10_000 {
				t.Fatalf("%v: legs without end", c)
			}
			place = next
		}
		if got.String() != whole.String() {
			t.Errorf("%v, in %d legs:\n%s\nin one:\n%s", c, legs, got.String(), whole.String())
		}
	}
}

// What changes between two legs neither stops the next one nor makes it write anything twice.
func TestLegsAmongChanges(t *testing.T) {
	for gone := range 4 {
		s := &shelf{places: []string{"a", "b", "c", "d", "e"}, boxes: map[string][]string{}, things: map[string]int{}}
		for _, key := range s.places {
			// In each place the same comes first, so that one list says nothing of another.
			s.boxes[key] = []string{"1" + key, "2" + key, "3" + key}
			s.things["1"+key], s.things["2"+key], s.things["3"+key] = 3, 4, 5
		}
		seen := map[string]int{}
		for place, legs := "", 0; ; legs++ {
			var got strings.Builder
			next, err := s.leg(&got, place, 1, 0, 2)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(got.String()) {
				seen[line]++
			}
			if legs == 7 { // in the second box of a
				switch gone {
				case 0:
					s.boxes["a"] = []string{"1a", "3a"}
				case 1:
					s.boxes["a"], s.places = nil, s.places[1:]
				case 2:
					s.boxes["a"] = []string{"1a", "1z", "2a", "3a"}
				case 3:
					s.places = append([]string{"A"}, s.places...)
				}
			}
			if place = next; next == "" {
				break
			}
			if legs > 1000 {
				t.Fatalf("%d: legs without end", gone)
			}
		}
		for line, n := range seen {
			if n > 1 {
				t.Errorf("%d: %d times %s", gone, n, line)
			}
		}
		for _, want := range []string{"box 3e\n", "thing 4 of 3e\n", "box 1b\n", "thing 0 of 1b\n"} {
			if seen[want] != 1 {
				t.Errorf("%d: no %s", gone, want)
			}
		}
		if seen["box 3a\n"] != 1 && gone != 1 {
			t.Errorf("%d: no third box", gone)
		}
	}
}

// A place is what a walk wrote, and nothing else.
func TestPlacesAreChecked(t *testing.T) {
	step := Step{From: "a", To: "b", Cursor: "c", Slot: []byte{0, 255}, Inside: true}
	p := Place{Stage: 2, Steps: []Step{step}, Counts: [3]int64{1, 2, 3}}
	got, err := Parse(p.String())
	if err != nil || got.String() != p.String() || string(got.Steps[0].Slot) != "\x00\xff" {
		t.Errorf("%+v, %v", got, err)
	}
	early, few := Place{Stage: -1}, Place{Counts: [3]int64{0, -1}}
	for _, bad := range []string{"x", "!", "e30x", p.String() + "A", early.String(), few.String()} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is a place", bad)
		}
	}
	if w, _, err := Begin(io.Discard, "", 0, 0); err != nil || w.full() {
		t.Errorf("a walk without a bound is over: %v", err)
	}
}

// A leg may end within a page of which each record writes much. Nothing is missing, and nothing comes twice unless the
// record where it ended is gone.
func TestLegsEndWithinAPage(t *testing.T) {
	for _, gone := range []bool{false, true} {
		records := make([]int, 40)
		for i := range records {
			records[i] = i
		}
		seen, most := map[string]int{}, 0
		for place, legs := "", 0; ; legs++ {
			var got strings.Builder
			w, from, err := Begin(&got, place, 15, 0)
			if err != nil {
				t.Fatal(err)
			}
			w.AtOnce = 2
			same := func(key string) string { return key }
			name := func(n *int) string { return fmt.Sprint("record ", *n) }
			list := func(some []string, cursor string) ([]int, string, error) {
				var all []int
				for _, n := range records {
					if (n%2 == 0) == (some[0] == "a") {
						all = append(all, n)
					}
				}
				return page(all, at(cursor), 13)
			}
			next, err := w.Run(from.Stage, [3]*int64{new(int64), new(int64), new(int64)}, []func() error{func() error {
				return Pages(w, []string{"a", "b"}, 1, same, name, list, func(page []int) error {
					for _, n := range page {
						for line := range 10 {
							if _, err := fmt.Fprintln(w, n, line); err != nil {
								return err
							}
						}
					}
					return nil
				})
			}}, func() error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(got.String()) {
				seen[line]++
				n++
			}
			most = max(most, n)
			if legs == 1 && gone {
				i := slices.Index(records, 8) // where the next leg is to begin
				records = slices.Delete(records, i, i+1)
			}
			if place = next; next == "" {
				break
			}
			if legs > 100 {
				t.Fatal("legs without end")
			}
		}
		twice := 0
		for _, n := range seen {
			twice += n - 1
		}
		want := map[bool]int{false: 400, true: 390}[gone]
		if len(seen) != want || most > 15+2*10 || (twice > 0) != gone {
			t.Errorf("gone %v: %d lines, %d again, the longest leg has %d", gone, len(seen), twice, most)
		}
	}
}
