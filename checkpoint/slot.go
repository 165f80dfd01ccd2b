package checkpoint

import (
	"cmp"
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// The bounds of what names a checkpoint and what belongs to it, in bytes.
const (
	MaxThreadBytes    = 1024
	MaxGraphBytes     = 4096 // of a checkpoint namespace; nested subgraphs make it long
	MaxID             = 256
	MaxChannelBytes   = 1024
	MaxVersionBytes   = 256
	MaxTaskBytes      = 256
	MaxTaskPathBytes  = 4096
	MaxValueTypeBytes = 256
)

// slotOf joins parts to a slot. Slots compare as their parts do, one after the other
// and byte by byte, and no two lists of parts have the same slot: a zero byte of a
// part is written 00 FF, and 00 01 ends a part. So what begins with some parts is
// one range of slots.
func slotOf(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strings.ReplaceAll(p, "\x00", "\x00\xff"))
		b.WriteString("\x00\x01")
	}
	return b.String()
}

// indexSlot writes an index so that bytes compare as the numbers do, below zero too.
func indexSlot(index int) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(int64(index))^(1<<63)))
}

// checkName refuses what cannot name a part of a checkpoint.
func checkName(field, value string, limit int, optional bool) error {
	switch {
	case value == "" && !optional:
		return loci.Errorf(loci.Invalid, "%s must not be empty", field)
	case len(value) > limit:
		return loci.Errorf(loci.Invalid, "%s has %d bytes; the limit is %d: shorten it", field, len(value), limit)
	case !utf8.ValidString(value):
		return loci.Errorf(loci.Invalid, "%s is not valid UTF-8", field)
	}
	return nil
}

func checkThread(thread string) error { return checkName("thread_id", thread, MaxThreadBytes, false) }

// checkPlace checks what names a checkpoint. With optional, an empty id means the latest
// one.
func checkPlace(thread, namespace, id string, optional bool) error {
	return cmp.Or(checkThread(thread), checkName("checkpoint_ns", namespace, MaxGraphBytes, true),
		checkName("checkpoint_id", id, MaxID, optional))
}

// checkTyped refuses a value that is too large to keep, or has no type.
func checkTyped(field string, v Typed, optional bool) error {
	if len(v.Data) > MaxValue {
		return loci.Errorf(loci.TooLarge, "%s has %d bytes; the limit is %d: keep large things elsewhere and a reference to them in the state", field, len(v.Data), MaxValue)
	}
	return checkName(field+".type", v.Type, MaxValueTypeBytes, optional && len(v.Data) == 0)
}

func checkIndex(index int) error {
	if index < math.MinInt32 || index > math.MaxInt32 {
		return loci.Errorf(loci.Invalid, "idx is %d; it must fit in 32 bits", index)
	}
	return nil
}
