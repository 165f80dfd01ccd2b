package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/loci-memory/loci"
)

// A key is "loci_", the id, "_", 32 random bytes and a checksum, in small letters and
// digits: a double click selects it whole, and nothing in it needs quotes.
const (
	tokenPrefix = "loci_"
	secretBytes = 32
)

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// The lengths of the parts, in letters.
var (
	idLetters     = letters.EncodedLen(len(loci.ID{}))
	secretLetters = letters.EncodedLen(secretBytes)
	sumLetters    = letters.EncodedLen(crc32.Size)
	tokenLetters  = len(tokenPrefix) + idLetters + len("_") + secretLetters + sumLetters
)

// newToken makes the text of a key with a new secret, and what is kept of that.
func newToken(id loci.ID) (token string, hash [sha256.Size]byte) {
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // never fails
	token = tokenPrefix + letters.EncodeToString(id[:]) + "_" + letters.EncodeToString(secret[:])
	return token + checksum(token), sha256.Sum256(secret[:])
}

// checksum tells a key that was copied badly from one that is unknown, without a look
// into the store.
func checksum(text string) string {
	return letters.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}

// parseToken takes a key apart. It accepts exactly the texts that newToken can make.
func parseToken(token string) (id loci.ID, hash [sha256.Size]byte, ok bool) {
	if len(token) != tokenLetters || !strings.HasPrefix(token, tokenPrefix) {
		return id, hash, false
	}
	body, sum := token[:tokenLetters-sumLetters], token[tokenLetters-sumLetters:]
	if checksum(body) != sum {
		return id, hash, false
	}
	name, secret := body[len(tokenPrefix):][:idLetters], body[len(body)-secretLetters:]
	var random [secretBytes]byte
	if !decode(id[:], name) || !decode(random[:], secret) || body[len(tokenPrefix)+idLetters] != '_' {
		return loci.ID{}, hash, false
	}
	return id, sha256.Sum256(random[:]), true
}

// decode reads letters; one text alone stands for some bytes, so bits that mean nothing
// must be zero.
func decode(to []byte, text string) bool {
	n, err := letters.Decode(to, []byte(text))
	return err == nil && n == len(to) && letters.EncodeToString(to) == text
}
