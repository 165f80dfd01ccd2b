package gaps

import "encoding/binary"

// Below are the pages right below one of an index, as SQLite's file format has them; none below a leaf, or what is
// damaged.
func Below(page []byte) (below []int64) {
	const inner, header = 2, 12 // of an index
	if len(page) < header || page[0] != inner {
		return nil
	}
	cells := int(binary.BigEndian.Uint16(page[3:]))
	for i := range cells {
		if header+2*i+2 > len(page) {
			return nil
		}
		at := int(binary.BigEndian.Uint16(page[header+2*i:]))
		if at+4 > len(page) {
			return nil
		}
		below = append(below, int64(binary.BigEndian.Uint32(page[at:])))
	}
	return append(below, int64(binary.BigEndian.Uint32(page[8:])))
}
