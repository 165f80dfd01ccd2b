package index

// pageBits are those of a number that say where in a page a value lies: so many are in each.
const (
	pageBits = 12
	pageSize = 1 << pageBits
)

// A paged is a list that grows without being copied, and whose values stay where they are. Words of a large text that
// nobody has seen before come by hundreds of thousands: a slice of them is copied five times over until it holds them all,
// and the collector looks at each copy.
type paged[T any] struct {
	pages [][]T
	n     int
}

func (p *paged[T]) len() int { return p.n }

// at is where the value of a number lies.
func (p *paged[T]) at(n uint32) *T { return &p.pages[n>>pageBits][n&(pageSize-1)] }

// add adds a value. The first page grows as any slice, since most lists are short; each other one is made whole.
func (p *paged[T]) add(value T) {
	last := len(p.pages) - 1
	if p.n&(pageSize-1) == 0 {
		var page []T
		if p.n > 0 {
			page = make([]T, 0, pageSize)
		}
		p.pages, last = append(p.pages, page), last+1
	}
	p.pages[last] = append(p.pages[last], value)
	p.n++
}
