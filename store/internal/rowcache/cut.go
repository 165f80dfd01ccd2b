package rowcache

import "encoding/binary"

// A State tells one state of a file from every other one.
type State [12]uint32

// Places in a State of what SQLite's file format says is there.
const (
	changes = 2 // a number that each commit raises by one
	frames  = 4 // in the log
	pages   = 5 // of the file
	sums    = 6 // of these, two
	cuts    = 8 // a number that is raised by one where the log begins again, big-endian, and one at random
)

// Changes is a number that each commit, whoever makes it, raises by one.
func (s State) Changes() uint32 { return s[changes] }

// Frames is how many the log has.
func (s State) Frames() uint32 { return s[frames] }

// Pages is how many the file has.
func (s State) Pages() uint32 { return s[pages] }

// Log tells one log of a file from the others, as the log's header does.
func (s State) Log() (l [8]byte) {
	binary.NativeEndian.PutUint32(l[:], s[cuts])
	binary.NativeEndian.PutUint32(l[4:], s[cuts+1])
	return l
}

// isCut reports whether one state became another one because the log was merged into the file and begun again, and
// nothing else: the file says the same.
func isCut(before, after State) bool {
	same := before
	same[frames], same[cuts] = 0, bigEndian(bigEndian(before[cuts])+1)
	for _, place := range []int{sums, sums + 1, cuts + 1, len(same) - 2, len(same) - 1} {
		same[place] = after[place] // checksums, and what is at random
	}
	return same == after
}

// bigEndian is a number whose bytes lie as those of another one do, big-endian.
func bigEndian(n uint32) uint32 {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], n)
	return binary.BigEndian.Uint32(b[:])
}

// Cut runs what merges the log into the file and begins it again: that changes the state of the file and not what it
// says, so that what is kept stays, unless somebody commits meanwhile.
func (f *File) Cut(run func() error) error {
	f.mu.Lock()
	_, _, _ = f.stands(true)
	f.cutting++
	f.mu.Unlock()
	err := run()
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _, _ = f.stands(true) // a commit under way compares changes alone
	f.cutting--
	return err
}
