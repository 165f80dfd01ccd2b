package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// hashOf is the SHA-256 of a key that may be longer than what an index takes.
func hashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// slotHash tells the slots of a tenant apart: what at most one record may hold per
// namespace and kind. "" for no slot.
func slotHash(r *loci.Record) string {
	if r.Slot == "" {
		return ""
	}
	h := sha256.New()
	for _, part := range []string{r.Namespace.Key(), string(r.Kind), r.Slot} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return string(h.Sum(nil))
}

// encodeKinds writes kinds as a length and a name each.
func encodeKinds(kinds []loci.Kind) []byte {
	out := []byte{}
	for _, k := range kinds {
		out = append(binary.AppendUvarint(out, uint64(len(k))), k...)
	}
	return out
}

// decodeKinds is the inverse of encodeKinds; damaged bytes end the list.
func decodeKinds(b []byte) (kinds []loci.Kind) {
	for len(b) > 0 {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return kinds
		}
		kinds = append(kinds, loci.Kind(b[n:n+int(length)]))
		b = b[n+int(length):]
	}
	return kinds
}

func joinOr(parts []string) string { return strings.Join(parts, " OR ") }

// sorted lists the keys of a set in order.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// compact lists numbers in order, each once.
func compact(numbers []int64) []int64 {
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
