package embedcall

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// lacking is a store of items without vectors.
type lacking struct {
	items []Item[int]
	puts  int
	err   error
	onPut func()
}

func (s *lacking) Lacking(_ context.Context, after, limit int) (out []Item[int], err error) {
	for _, item := range s.items {
		if item.Key > after && len(out) < limit {
			out = append(out, item)
		}
	}
	return out, nil
}

func (s *lacking) Put(_ context.Context, made []Made[int]) error {
	s.puts++
	for _, m := range made {
		if len(m.Rows) != len(m.Item.Texts) {
			return errors.New("rows and texts differ")
		}
		for i, row := range m.Rows {
			if int(row[0]) != len(m.Item.Texts[i]) {
				return errors.New("a row of another text")
			}
		}
		s.items = slices.DeleteFunc(s.items, func(i Item[int]) bool { return i.Key == m.Item.Key })
	}
	if s.onPut != nil {
		s.onPut()
	}
	return s.err
}

func filler(e Embedder, s *lacking) *Filler[int] {
	return &Filler[int]{
		Caller: For(e), Store: s, Batch: 10,
		OnRefusal: func(context.Context, *Item[int], error) {},
		AfterStep: func(context.Context, time.Time, int64) error { return nil },
	}
}

// lack makes n items of two texts each.
func lack(n int) (items []Item[int]) {
	for i := 1; i <= n; i++ {
		items = append(items, Item[int]{i, 1, []string{strings.Repeat("x", i), strings.Repeat("y", 2*i)}})
	}
	return items
}

// refusing embeds no text that begins with "bad".
func refusing() *counting {
	e := &counting{}
	e.embed = func(texts []string) ([][]float32, error) {
		e.dims = 2
		out := make([][]float32, len(texts))
		for i, text := range texts {
			if strings.HasPrefix(text, "bad") {
				return nil, errors.New("not this one")
			}
			out[i] = []float32{float32(len(text)), 1}
		}
		return out, nil
	}
	return e
}

func TestFill(t *testing.T) {
	s := &lacking{items: lack(25)}
	f := filler(&counting{}, s)
	var steps []int64
	f.AfterStep = func(_ context.Context, _ time.Time, n int64) error { steps = append(steps, n); return nil }
	if err := f.Fill(t.Context()); err != nil || f.Embedded != 25 || len(s.items) > 0 || s.puts != 3 {
		t.Errorf("%d embedded by %d puts, %d left, %v", f.Embedded, s.puts, len(s.items), err)
	}
	if !slices.Equal(steps, []int64{10, 20, 25}) {
		t.Errorf("steps %v", steps)
	}
}

// TestRefusedTextsHoldUpNoOther: refused texts are noted with their version, and a newer
// version is tried.
func TestRefusedTextsHoldUpNoOther(t *testing.T) {
	s := &lacking{items: lack(12)}
	s.items[3].Texts[1], s.items[10].Texts[0] = "bad", "bad, too"
	f := filler(refusing(), s)
	var told []int
	f.OnRefusal = func(_ context.Context, item *Item[int], cause error) {
		told = append(told, item.Key)
		if cause.Error() != "not this one" {
			t.Errorf("the cause is %v", cause)
		}
	}
	err := f.Fill(t.Context())
	if err != nil || f.Embedded != 10 || !maps.Equal(f.Refused, map[int]int64{4: 1, 11: 1}) {
		t.Errorf("%d embedded, refused %v, %v", f.Embedded, f.Refused, err)
	}
	if !slices.Equal(told, []int{4, 11}) {
		t.Errorf("told of %v", told)
	}
	s.items[0] = Item[int]{4, 2, []string{"good"}}
	f.OnRefusal = func(_ context.Context, item *Item[int], _ error) { t.Errorf("%d is tried again", item.Key) }
	if err := f.Fill(t.Context()); err != nil || f.Embedded != 11 || len(s.items) != 1 {
		t.Errorf("a newer version: %d embedded, %d left, %v", f.Embedded, len(s.items), err)
	}
}

// TestDownIsNotRefused: an embedder that does not answer marks no text as refused.
func TestDownIsNotRefused(t *testing.T) {
	down := errors.New("connection refused")
	s := &lacking{items: lack(3)}
	f := filler(&counting{dims: 2, embed: func([]string) ([][]float32, error) { return nil, down }}, s)
	err := f.Fill(t.Context())
	if !errors.Is(err, ErrNoAnswer) || !errors.Is(err, down) || len(f.Refused) > 0 || len(s.items) != 3 {
		t.Errorf("%v, refused %v", err, f.Refused)
	}
}

// TestDownInTheMiddle: what was made is kept, and the third refusal in a row asks whether
// the embedder is still there.
func TestDownInTheMiddle(t *testing.T) {
	s := &lacking{items: lack(10)}
	for i := range 10 {
		if i >= 4 {
			s.items[i].Texts[0] = "bad"
		}
	}
	e := refusing()
	embed, refused := e.embed, 0
	e.embed = func(texts []string) ([][]float32, error) {
		if len(texts) == 2 && texts[0] == "bad" {
			refused++
		}
		if refused >= 3 {
			return nil, errors.New("gone")
		}
		return embed(texts)
	}
	f := filler(e, s)
	err := f.Fill(t.Context())
	if !errors.Is(err, ErrNoAnswer) || f.Embedded != 4 || len(f.Refused) != 2 || len(s.items) != 6 {
		t.Errorf("%v, %d embedded, refused %v, %d left", err, f.Embedded, f.Refused, len(s.items))
	}
}

// TestRefusesEverything: after so many texts in a row it counts as down whatever it says.
func TestRefusesEverything(t *testing.T) {
	s := &lacking{items: lack(100)}
	for i := range s.items {
		s.items[i].Texts[0] = "bad"
	}
	f := filler(refusing(), s)
	if err := f.Fill(t.Context()); !errors.Is(err, ErrNoAnswer) || len(f.Refused) != maxRefusalsInARow-1 {
		t.Errorf("%v after %d", err, len(f.Refused))
	}
}

// TestOthersStoreFaster: it gives up rather than go on for ever.
func TestOthersStoreFaster(t *testing.T) {
	s := &lacking{items: lack(1)}
	s.onPut = func() { s.items = lack(1) }
	f := filler(&counting{}, s)
	if err := f.Fill(t.Context()); !errors.Is(err, ErrTooBusy) || s.puts > maxRounds {
		t.Errorf("%v after %d puts", err, s.puts)
	}
}

// TestFillEnds with the first error of the store, of a step, and with the context.
func TestFillEnds(t *testing.T) {
	full := errors.New("disk full")
	s := &lacking{items: lack(25), err: full}
	if err := filler(&counting{}, s).Fill(t.Context()); !errors.Is(err, full) || s.puts != 1 {
		t.Errorf("%v after %d puts", err, s.puts)
	}
	s = &lacking{items: lack(25)}
	f := filler(&counting{}, s)
	f.AfterStep = func(context.Context, time.Time, int64) error { return full }
	if err := f.Fill(t.Context()); !errors.Is(err, full) || f.Embedded != 10 {
		t.Errorf("%v after %d", err, f.Embedded)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = &lacking{items: lack(25)}
	if f := filler(&counting{}, s); !errors.Is(f.Fill(ctx), context.Canceled) || len(f.Refused) > 0 {
		t.Errorf("refused %v", f.Refused)
	}
}
