package mcpclient

import (
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/entry"
)

// displaced returns the backup of a file if an entry of somebody else stands in it that ours
// has taken the place of; nil if there is none.
func (c Client) displaced(now *file, to Target) *file {
	value, found, err := c.format.Get(now.text, c.at()...)
	if err != nil || !found || !c.ours(value, to) {
		return nil
	}
	backup, err := readFile(now.backup())
	if err != nil {
		return nil
	}
	theirs, found, err := c.format.Get(backup.text, c.at()...)
	if err != nil || !found || c.ours(theirs, to) {
		return nil
	}
	return backup
}

// hasDisplaced is displaced for a path. The client's own command would not put the entry back.
func (c Client) hasDisplaced(path string, to Target) bool {
	now, err := readFile(path)
	return err == nil && c.displaced(now, to) != nil
}

// takeBack returns the file with the entry that ours has taken the place of.
func (c Client) takeBack(now, backup *file) ([]byte, error) {
	changed, err := c.format.Take(now.text, backup.text, c.at()...)
	if errors.Is(err, entry.ErrUneditable) {
		return nil, &loci.Error{
			Code: loci.Unsupported,
			Msg: fmt.Sprintf("%s has changed, and the entry that was there before cannot be put back as it was; nothing was changed",
				now.path),
			Err:      err,
			Recovery: "Put the entry back by hand: it is in " + backup.path + ". Then remove that file.",
		}
	}
	return changed, err
}
