package follow

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// A Shard is a kind of record in a namespace of a tenant, by its number.
type Shard struct {
	Namespace int64
	Kind      loci.Kind
}

// An Image is the index of a shard as the database keeps it: segments, which lie there in
// pieces, and the state that they show (docs/adr/0080). It is derived and never trusted.
type Image struct {
	Shard    Shard     `json:"-"`
	Mark     []byte    `json:"-"`     // tells it from every other one, also of its own shard
	Seq      int64     `json:"seq"`   // the state of the tenant that it shows
	Token    string    `json:"token"` // of the tenant, as long as it is not erased, and the shard
	Model    string    `json:"model,omitempty"`
	Dims     int       `json:"dims,omitempty"`
	Segments []Kept    `json:"segments"`
	Above    string    `json:"above,omitempty"` // of a group: its [index.Joined].Mark, and Apart
	Apart    []int64   `json:"apart,omitempty"`
	Plan     *Plan     `json:"plan,omitempty"`
	_        [0]func() // not to be compared
}

// Kept is a segment of an image.
type Kept struct {
	Name  string   `json:"name"`
	Sum   uint32   `json:"sum"`   // see [segment.Segment]
	Size  int64    `json:"size"`  // bytes
	Low   []byte   `json:"low"`   // the lowest id in it
	High  []byte   `json:"high"`  // the highest
	Wiped int64    `json:"wiped"` // what was erased up to here is not in it
	Gone  []uint32 `json:"gone,omitempty"`
}

// Gone is an erased record as the list of changes has it. It is written in the transaction
// of the erase, and so it marks the segments that may hold the record: nobody takes one up
// again whose range of ids it is in.
type Gone struct {
	Seq   int64
	ID    loci.ID
	Shard Shard
	Mark  *loci.Mark // of its namespace, where groups need it; nil: not known
}

// PieceBytes is how much of a segment a piece holds.
const PieceBytes = 1 << 20

// An ImageSource is a [Source] of a database that keeps images.
type ImageSource interface {
	Source

	// Images calls take for the images of some shards; nil: of all.
	Images(of []Shard, take func(*Image)) error

	// Pieces calls take for the pieces of segments, those of each in order.
	Pieces(names []string, take func(name string, piece []byte)) error

	// Erased calls take for what was erased since a counter.
	Erased(since int64, take func(Gone)) error

	// ByRange is ByShard for the records whose ids are from low to high; namespace 0: of all namespaces.
	ByRange(space, namespace int64, kind loci.Kind, low, high loci.ID, take Take) error

	// ByShards is ByShard for all records of a kind in some namespaces, in whatever order.
	ByShards(space int64, namespaces []int64, kind loci.Kind, take Take) error

	// Counts calls take for the kept counts of searchable records, and of the bytes of live ones, in some namespaces;
	// nil: in all. A shard may come several times. known: they are right.
	Counts(namespaces []int64, take func(namespace int64, kind loci.Kind, records, bytes int64)) (known bool, err error)

	// Named calls take for namespaces by their numbers, with their marks, also for those that have no name now.
	Named(numbers []int64, take func(batch.Place)) error

	// Within calls take with the key of a named namespace for each of some beginnings of marks, none of which is
	// empty, if there is one.
	Within(marks []string, take func(mark, key string)) error
}

// ReadImage makes an image of what [Image.Value] has written; one that says nothing useful has
// no segments.
func ReadImage(shard Shard, mark, value []byte) *Image {
	m := &Image{}
	if json.Unmarshal(value, m) != nil {
		m = &Image{}
	}
	m.Shard, m.Mark = shard, slices.Clone(mark)
	return m
}

// Value is the image as a row of the database has it, beside its shard and mark.
func (m *Image) Value() ([]byte, error) { return json.Marshal(m) }

// Names are those of its segments.
func (m *Image) Names() (names []string) {
	for i := range m.Segments {
		names = append(names, m.Segments[i].Name)
	}
	return names
}

func (m *Image) space() loci.Space { return loci.Space{Model: m.Model, Dims: m.Dims} }

// nameBytes is how long marks and names are.
const nameBytes = 12

// newMark is a name that nobody else gives.
func newMark() []byte {
	mark := make([]byte, nameBytes)
	_, _ = rand.Read(mark) // never fails
	return mark
}

// newImage is an image without segments of what a tenant's shard is in a state.
func newImage(nameKey loci.NameKey, shard Shard, space loci.Space, seq int64) *Image {
	token := tokenOf(nameKey, shard)
	return &Image{Shard: shard, Mark: newMark(), Seq: seq, Token: hex.EncodeToString(token[:]),
		Model: space.Model, Dims: space.Dims, Segments: []Kept{}}
}

// tokenOf names a shard of a tenant as long as it is not erased: its key of names is secret
// and random, so no other tenant has the same.
func tokenOf(nameKey loci.NameKey, shard Shard) (token [16]byte) {
	form := "%x/%d:%s"
	if shard.Namespace <= 0 { // builds that know no groups take it for that of another tenant, and remove it
		form = "%x/above:%d:%s"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, form, []byte(nameKey), shard.Namespace, shard.Kind))
	return [16]byte(sum[:16])
}

func originOf(nameKey loci.NameKey, shard Shard, space loci.Space) segment.Origin {
	return index.OriginOf(tokenOf(nameKey, shard), space)
}

// of reports whether an image is of a tenant as it is, and not of one that was erased.
func (m *Image) of(st *batch.State) bool {
	token := tokenOf(st.NameKey, m.Shard)
	if m.Shard.Namespace < 0 && numberOf(&index.Joined{Mark: m.Above, Apart: m.Apart}) != m.Shard.Namespace {
		return false
	}
	return m.Token == hex.EncodeToString(token[:])
}

// follows reports whether what changed since the image can be taken in.
func (m *Image) follows(st *batch.State, dropped int64) bool {
	return m.of(st) && m.Seq <= st.Seq && m.Seq >= max(st.Floor, dropped)
}

// readable reports whether an image says what segments it has, as we would write it.
func (m *Image) readable() bool {
	return len(m.Segments) > 0 && !slices.ContainsFunc(m.Segments, func(k Kept) bool {
		name, err := hex.DecodeString(k.Name) // it may become that of a file
		return err != nil || len(name) != nameBytes || len(k.Low) != len(loci.ID{}) || len(k.High) != len(loci.ID{})
	})
}

// stale reports whether a segment may hold what was erased.
func (m *Image) stale(k *Kept, gone []Gone, st *batch.State) bool {
	return k.Wiped < st.Floor || slices.ContainsFunc(gone, func(g Gone) bool {
		return g.Seq > k.Wiped && m.held(&g) && k.spans(g.ID)
	})
}

// held reports whether an image may have held an erased record. The name of its
// namespace may be gone, so the mark tells whether it was in a group.
func (m *Image) held(g *Gone) bool {
	if m.Shard.Namespace >= 0 {
		return g.Shard == m.Shard
	}
	if g.Shard.Kind != m.Shard.Kind || slices.Contains(m.Apart, g.Shard.Namespace) {
		return false
	}
	above := index.Joined{Mark: m.Above}
	begin, _ := above.BeginOf()
	return g.Mark == nil || strings.HasPrefix(string(*g.Mark), begin)
}

// readGone reads what was erased since some images were made.
func readGone(r ImageSource, images []*Image) (gone []Gone, err error) {
	if err := r.Erased(leastWiped(images), func(g Gone) { gone = append(gone, g) }); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(images, func(m *Image) bool { return m.Shard.Namespace < 0 }) || len(gone) == 0 {
		return gone, nil
	}
	marks := map[int64]*loci.Mark{}
	for i := range gone {
		marks[gone[i].Shard.Namespace] = nil
	}
	err = r.Named(slices.Collect(maps.Keys(marks)), func(place batch.Place) { marks[place.N] = &place.Mark })
	for i := range gone {
		gone[i].Mark = marks[gone[i].Shard.Namespace]
	}
	return gone, err
}

// spans reports whether an id is in the range of a segment.
func (k *Kept) spans(id loci.ID) bool {
	return bytes.Compare(id[:], k.Low) >= 0 && bytes.Compare(id[:], k.High) <= 0
}

// leastWiped is the counter since which erases matter to some images.
func leastWiped(images []*Image) int64 {
	least := int64(-1)
	for _, m := range images {
		for i := range m.Segments {
			if w := m.Segments[i].Wiped; least < 0 || w < least {
				least = w
			}
		}
	}
	return max(least, 0)
}

// A book is a segment in use: what a shard of the index refers to.
type book struct {
	Kept
	segment *segment.Segment
	bytes   []byte
	keeper  any  // keeps the bytes where they lie
	erased  bool // something in its range was erased since
	stored  bool // its pieces are in the database
}

// HeapBytes implements [index.Heaped]: what has no room in the folder lies on the heap.
func (b *book) HeapBytes() int64 {
	if m, ok := b.keeper.(*files.Mapping); ok {
		return m.HeapBytes()
	}
	return b.Size
}

// newBook describes a segment.
func newBook(name string, g *segment.Segment, data []byte, keeper any) *book {
	b := &book{segment: g, bytes: data, keeper: keeper}
	b.Name, b.Sum, b.Size = name, g.Sum, int64(len(data))
	if n := g.Len(); n > 0 {
		b.Low, b.High = bytes.Clone(g.ByID(0).ID[:]), bytes.Clone(g.ByID(n - 1).ID[:])
	}
	return b
}
