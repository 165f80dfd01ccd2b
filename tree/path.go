package tree

import (
	"cmp"
	"errors"
	"strings"

	"github.com/loci-memory/loci"
)

// An Errno says what kind of failure a call on a [Tree] met, in the names that
// programs with files know. It is the cause of the [*loci.Error] that the call returns;
// see [ErrnoOf].
type Errno string //nolint:errname // its values are known as error numbers

// The kinds of failure there are.
const (
	ENOENT  Errno = "ENOENT"  // there is no such file
	EISDIR  Errno = "EISDIR"  // the path is a directory
	ENOTDIR Errno = "ENOTDIR" // the path leads through a file
	EEXIST  Errno = "EEXIST"  // the path is taken
	EINVAL  Errno = "EINVAL"  // the path or an argument is wrong
	EFBIG   Errno = "EFBIG"   // the file would be larger than a file may be
	ENOSPC  Errno = "ENOSPC"  // the tree or the directory would hold more than it may
	ENOTMEM Errno = "ENOTMEM" // there is no memory to use
	EACCES  Errno = "EACCES"  // the caller may not do this
	EAGAIN  Errno = "EAGAIN"  // somebody else changed it first, or a service is down: try again
	EIO     Errno = "EIO"     // a defect, or damage
)

// Error returns the name itself.
func (e Errno) Error() string { return string(e) }

// ErrnoOf returns the kind of failure of an error: the one it carries, else the one that
// fits its [loci.Code]. It returns "" for nil.
func ErrnoOf(err error) Errno {
	if err == nil {
		return ""
	}
	var carried Errno
	if errors.As(err, &carried) {
		return carried
	}
	return cmp.Or(map[loci.Code]Errno{
		loci.Invalid: EINVAL, loci.Unauthenticated: EACCES, loci.Forbidden: EACCES, loci.NotFound: ENOENT,
		loci.Conflict: EAGAIN, loci.TooLarge: EFBIG, loci.Unsupported: EINVAL, loci.Unavailable: EAGAIN,
	}[loci.AsError(err).Code], EIO)
}

// errorf makes an error of a tree.
func errorf(code loci.Code, errno Errno, recovery, format string, args ...any) *loci.Error {
	e := loci.Errorf(code, format, args...)
	e.Err, e.Recovery = errno, recovery
	return e
}

// Limits of a path in a [Tree].
const (
	MaxPathLevels    = 32  // segments of a path
	MaxPathNameBytes = 255 // bytes of a segment
)

// CleanPath brings a path of a [Tree] to its one stored form: several slashes count as
// one, the leading one is added, a trailing one removed. A backslash is refused: some
// programs take it for a separator, others for a part of a name. Each segment is 1 to 255
// of the characters A–Z, a–z, 0–9, "_", "-", space and ".", is not "." alone and not of
// spaces alone; there are at most 32. Letter case counts. "/" is the root; the empty path
// is none. An error has the Errno EINVAL.
func CleanPath(path string) (string, error) {
	if path == "" {
		return "", errorf(loci.Invalid, EINVAL, "", "path is required")
	}
	if strings.Contains(path, "..") {
		return "", errorf(loci.Invalid, EINVAL, "Write the path from the root, without \"..\".", `invalid path: ".." not allowed`)
	}
	if strings.Contains(path, "$") {
		return "", errorf(loci.Invalid, EINVAL, "", `invalid path: "$" not allowed`)
	}
	if strings.Contains(path, `\`) {
		return "", errorf(loci.Invalid, EINVAL, "Write / between names.", `invalid path: "\" not allowed`)
	}
	var clean strings.Builder
	levels := 0
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		if !validName(name) {
			return "", errorf(loci.Invalid, EINVAL, "Use letters A to Z, digits, _, -, . and spaces; at most 255 in a name.", "invalid path segment: %s", name)
		}
		if levels++; levels > MaxPathLevels {
			return "", errorf(loci.Invalid, EINVAL, "Put the file higher up.", "invalid path: more than %d levels", MaxPathLevels)
		}
		clean.WriteByte('/')
		clean.WriteString(name)
	}
	if levels == 0 {
		return "/", nil
	}
	return clean.String(), nil
}

// validName reports whether a text may be a segment of a path.
func validName(name string) bool {
	if name == "" || name == "." || len(name) > MaxPathNameBytes || strings.Trim(name, " ") == "" {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == ' ', c == '.':
		default:
			return false
		}
	}
	return true
}

// splitPath takes a clean path apart; the directory of "/a" is "/".
func splitPath(path string) (dir, name string) {
	at := strings.LastIndexByte(path, '/')
	return cmp.Or(path[:at], "/"), path[at+1:]
}

// rootSlot is the slot of the entry of the root. Slots of others hold a NUL.
const rootSlot = "/"

// entrySlot is the slot of the entry of a clean path: its directory, NUL, its name.
// So the children of a directory are one range of slots in order of name, and
// everything below them is another.
func entrySlot(path string) string {
	if path == "/" {
		return rootSlot
	}
	at := strings.LastIndexByte(path, '/')
	return path[:at] + "\x00" + path[at+1:]
}

// slotPath is the inverse of entrySlot.
func slotPath(slot string) string {
	if slot == rootSlot {
		return "/"
	}
	return strings.Replace(slot, "\x00", "/", 1)
}

// names are the paths of a list. They lie beside one another: a piece of memory for each costs more than its bytes.
type names struct{ strings.Builder }

// path is [slotPath], with the last segment.
func (n *names) path(slot string) (path, name string) {
	at := strings.IndexByte(slot, 0)
	if at < 0 {
		path = strings.Clone(slotPath(slot)) // the slot may be lent
		_, name = splitPath(path)
		return path, name
	}
	if size := n.Cap(); size-n.Len() < len(slot) {
		n.Reset()
		n.Grow(max(len(slot), 1<<10, min(2*size, 32<<10)))
	}
	begin := n.Len()
	_, _ = n.WriteString(slot[:at])
	_ = n.WriteByte('/')
	_, _ = n.WriteString(slot[at+1:])
	path = n.String()[begin:]
	return path, path[at+1:]
}

// childSlots is the range of the immediate children of a clean path.
func childSlots(path string) loci.SlotRange {
	dir := strings.TrimSuffix(path, "/")
	return loci.SlotRange{From: dir + "\x00", To: dir + "\x01"}
}

// deeperSlots is the range of what lies below the immediate children. For the root
// it would hold the root itself, which the first slash alone is.
func deeperSlots(path string) loci.SlotRange {
	dir := strings.TrimSuffix(path, "/")
	return loci.SlotRange{From: dir + "/\x00", To: dir + "0"}
}
