package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	sequences "github.com/loci-memory/loci/internal/sequence"
)

// A sequence is what the records of one conversation, or another list, have in common.
// It is searched as one document beside them: a question often names in one message
// what the next one answers.
type sequence struct {
	name    string
	members []member // by position, then by id; may name entries that are gone
	gone    int      // of members
	alive   int      // entries, those in segments too
	length  uint64   // of the passages alive
	talk    uint32   // see [search.isTalk]; what comes or leaves makes it unknown
	stored  []stored // the same sequence in segments
}

// stored is a sequence of a segment.
type stored struct {
	in *mapped
	n  uint32
}

// member is an entry at its place.
type member struct {
	position int64
	id       loci.ID
	entry    uint32
}

func (m member) compare(o member) int {
	return cmp.Or(cmp.Compare(m.position, o.position), bytes.Compare(m.id[:], o.id[:]))
}

// placeOf is where a record stands: where it says, else in the conversation that its
// attributes name, by the time when it was made. So what was stored before memories had
// a place has one, too.
func placeOf(r *loci.Record) (name string, position int64) {
	if r.Sequence != "" {
		return r.Sequence, r.Position
	}
	if name = sequences.Named(r.Attributes); name == "" && r.Kind == loci.KindEpisode {
		name = sequences.Named(r.Body)
	}
	if name == "" {
		return "", 0
	}
	return name, sequences.At(r.CreatedAt)
}

// speakers are the names that chats give to the two sides.
var speakers = map[string]loci.Speaker{
	"user": loci.SpeakerPerson, "human": loci.SpeakerPerson,
	"assistant": loci.SpeakerAssistant, "agent": loci.SpeakerAssistant, "ai": loci.SpeakerAssistant,
	"model": loci.SpeakerAssistant, "bot": loci.SpeakerAssistant,
}

// speakerOf finds out who speaks in a record: its attributes say so, or its text begins
// with a name such as "user:", or it has the form of what assistants say.
func speakerOf(r *loci.Record) loci.Speaker {
	if saysWho(r.Attributes) {
		var said struct {
			Role any `json:"role"`
			Type any `json:"type"`
		}
		if json.Unmarshal(r.Attributes, &said) == nil {
			for _, v := range []any{said.Role, said.Type} {
				if name, ok := v.(string); ok && speakers[strings.ToLower(name)] != loci.SpeakerUnknown {
					return speakers[strings.ToLower(name)]
				}
			}
		}
	}
	if name := sequences.SaidBy(r.Text); name != "" {
		return speakers[name]
	}
	// Only notes: files and items are seldom a chat, and messages say who speaks.
	if r.Kind == loci.KindFact && sequences.LikelyAssistant(r.Text) {
		return loci.SpeakerLikelyAssistant
	}
	return loci.SpeakerUnknown
}

// saysWho reports whether attributes may have a role or a type: most have neither, and
// are not worth reading.
func saysWho(attributes json.RawMessage) bool {
	if len(attributes) == 0 {
		return false
	}
	lower := bytes.ToLower(attributes) // as the reader of JSON compares names
	return bytes.Contains(lower, []byte(`"role"`)) || bytes.Contains(lower, []byte(`"type"`))
}

// nameOf is the name of a sequence; "" of 0.
func (s *shard) nameOf(sequence uint32) string { return s.nameIn(s.placedName(sequence)) }

// placedName is the name by which a shard knows a sequence: see [shard.inPlace].
func (s *shard) placedName(sequence uint32) string {
	if sequence == 0 {
		return ""
	}
	return s.sequences[sequence].name
}

// join puts an entry at its place in a sequence and returns the number of the
// sequence; 0: it is in none.
func (s *shard) join(name string, entry uint32) uint32 {
	n := s.sequenceNamed(name, 1)
	if n != 0 {
		s.sequences[n].put(s.memberOf(entry))
	}
	return n
}

// sequenceNamed returns the number of a sequence that some entries come to; 0 of "".
func (s *shard) sequenceNamed(name string, entries int) uint32 {
	if name == "" {
		return 0
	}
	n, ok := s.sequenceOf[name]
	if !ok {
		if len(s.sequences) == 0 {
			s.sequences = append(s.sequences, sequence{}) // 0 stands for none
		}
		n = uint32(len(s.sequences))
		s.sequences = append(s.sequences, sequence{name: strings.Clone(name)})
		s.sequenceOf[s.sequences[n].name] = n
	}
	q := &s.sequences[n]
	if q.alive == 0 {
		s.liveSequences++
	}
	q.alive += entries
	q.talk = unknownTalk
	return n
}

func (s *shard) memberOf(entry uint32) member {
	e := &s.entries[entry]
	return member{e.position, e.record.ID, entry}
}

// put inserts a member; most come last. Where one stands depends on its record alone, so
// it is the same in every store and process. One that is gone may have the same place.
func (q *sequence) put(m member) {
	at := len(q.members)
	if at > 0 && q.members[at-1].compare(m) > 0 {
		at, _ = slices.BinarySearchFunc(q.members, m, member.compare)
	}
	q.members = slices.Insert(q.members, at, m)
}

// leave takes an entry that is gone out of its sequence. Its member goes when half of
// the members have.
func (s *shard) leave(n uint32) {
	q := &s.sequences[n]
	q.alive--
	q.talk = unknownTalk
	if q.alive == 0 {
		s.liveSequences--
		delete(s.sequenceOf, q.name)
		*q = sequence{}
		return
	}
	if q.gone > 16 && q.gone > len(q.members)/2 {
		q.members = slices.DeleteFunc(q.members, func(m member) bool { return !s.entries[m.entry].alive })
		q.gone = 0
	}
}

// near implements part.
func (s *shard) near(q *sequence, at member, visit func(side int, m member)) {
	i, _ := slices.BinarySearchFunc(q.members, at, member.compare)
	nearest(i, len(q.members), func(i int) (m member, alive bool) {
		m = q.members[i]
		return m, s.entries[m.entry].alive && m.id != at.id
	}, visit)
}

// nearest visits up to two of those alive on each side of what stands, or would stand, at i.
func nearest(i, n int, get func(i int) (m member, alive bool), visit func(side int, m member)) {
	for _, side := range []int{-1, 1} {
		at := i
		if side < 0 {
			at--
		}
		for found := 0; at >= 0 && at < n && found < 2; at += side {
			if m, alive := get(at); alive {
				found++
				visit(side, m)
			}
		}
	}
}

// A neighbour stands beside an entry in its sequence.
type neighbour struct {
	member
	place
}

// neighbours are up to two on each side of an entry, the nearest first.
type neighbours [2]struct {
	list [2]neighbour
	n    int
}

// put takes in one of a side, if it is among the two nearest. toward is 1 where those that stand later
// are nearer.
func (n *neighbours) put(side, toward int, one neighbour) {
	in := &n[side]
	at := in.n
	for at > 0 && toward*one.compare(in.list[at-1].member) > 0 {
		at--
	}
	if at == len(in.list) {
		return
	}
	in.n = min(in.n+1, len(in.list))
	copy(in.list[at+1:], in.list[at:])
	in.list[at] = one
}

// around are the entries next to one in its sequence; nil: it is in none. They are asked for again.
func (s *search) around(at place) *neighbours {
	sh := &s.parts[at.part]
	e := sh.seen(at.entry)
	if e.sequence == 0 {
		return nil
	}
	if n := s.beside[at]; n != nil {
		return n
	}
	if len(s.moreBeside) == 0 {
		s.moreBeside = make([]neighbours, 64)
	}
	n, q := &s.moreBeside[0], &sh.shard.sequences[e.sequence]
	for i := sh.first; i < len(s.parts) && s.parts[i].first == sh.first; i++ {
		s.parts[i].near(q, member{position: e.position, id: e.id}, func(side int, m member) {
			n.put(max(side, 0), -side, neighbour{m, place{int32(i), m.entry}})
		})
	}
	if s.moreBeside = s.moreBeside[1:]; s.beside == nil {
		s.beside = map[place]*neighbours{}
	}
	s.beside[at] = n
	return n
}

// each calls visit for each of them: −1 is the one before, 1 the one after.
func (n *neighbours) each(visit func(distance int, at place)) {
	if n == nil {
		return
	}
	for side, sign := range [2]int{-1, 1} {
		for i, one := range n[side].list[:n[side].n] {
			visit(sign*(i+1), one.place)
		}
	}
}

// addNeighbours adds what stands next to the best hits in their sequences, where the
// filter selects it, then what stands next to those, for their sake alone: what a hit
// gets of its neighbours does not depend on how many hits are asked for. It says of each
// hit that may be a result who its neighbours are.
func (s *search) addNeighbours(hits map[place]*loci.Hit, best []place) error {
	beside, err := s.addBeside(hits, best, false)
	if err == nil {
		_, err = s.addBeside(hits, beside, true)
	}
	if err != nil {
		return err
	}
	s.hearNames(hits)
	for at, h := range hits {
		if h.Lifter {
			continue
		}
		around := s.around(at)
		around.each(func(distance int, beside place) {
			if _, found := hits[beside]; found {
				i := distance + 2
				if i > 2 {
					i--
				}
				h.Neighbours[i] = s.parts[beside.part].seen(beside.entry).id
			}
		})
		s.echo(hits, at, h, around)
		if h.Signer != "" && h.Signer != loci.SomebodyElse && h.Embedded {
			s.together(hits, at, h, around)
		}
	}
	return nil
}

// together compares what somebody said, with what stands beside it, with the query. The vectors are
// summed in the order in which they stand, so that the bits are the same in every store.
func (s *search) together(hits map[place]*loci.Hit, at place, h *loci.Hit, beside *neighbours) {
	query := s.parts[at.part].query
	sum := resize(s.sum, s.parts[at.part].matrix.Dims())
	clear(sum)
	s.sum = sum
	n := 0
	add := func(at place) {
		if other := hits[at]; other != nil && other.Embedded {
			sh := &s.parts[at.part]
			row := sh.passages[sh.firstOf(at.entry)+uint32(other.VectorSpan)].Row
			sh.matrix.AddTo(sum, int(row))
			n++
		}
	}
	for i := beside[0].n - 1; i >= 0; i-- {
		add(beside[0].list[i].place)
	}
	add(at)
	for i := range beside[1].n {
		add(beside[1].list[i].place)
	}
	if n > 1 {
		h.Together = query.Cosine(sum)
	}
}

// addBeside adds what stands next to some hits and is none yet, and returns it.
func (s *search) addBeside(hits map[place]*loci.Hit, of []place, lifters bool) (added []place, err error) {
	for _, at := range of {
		s.around(at).each(func(_ int, beside place) {
			if hits[beside] != nil || err != nil {
				return
			}
			var ok bool
			if ok, err = s.selected(beside); ok && err == nil {
				s.hit(hits, beside).Lifter = lifters
				added = append(added, beside)
			}
		})
	}
	return added, err
}
