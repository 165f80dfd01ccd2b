package condition

import "slices"

// Slots is a half-open range of slots, From included and To excluded, in the order of
// their bytes. The zero range is no condition: it holds any slot, and none. Every other
// range leaves out records without a slot.
type Slots struct {
	From string
	To   string // "": no end
}

// SlotsBeginning is the range of the slots that begin with a prefix; "" is the zero range.
func SlotsBeginning(prefix string) Slots {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff { // no byte comes after these
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return Slots{From: prefix, To: string(end)}
}

// IsZero reports whether the range is no condition.
func (s Slots) IsZero() bool { return s == Slots{} }

// Contains reports whether the range holds a slot.
func (s Slots) Contains(slot string) bool {
	return s.IsZero() || slot != "" && slot >= s.From && (s.To == "" || slot < s.To)
}

// HasAll reports whether have contains every one of want.
func HasAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

// Among reports whether a value is one of those allowed. None allowed means all are.
func Among[T comparable](allowed []T, value T) bool {
	return len(allowed) == 0 || slices.Contains(allowed, value)
}
