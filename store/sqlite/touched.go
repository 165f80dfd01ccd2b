package sqlite

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// A wiping that looked at every page of the file would cost what is stored, not what is
// erased. So once a file was wiped as a whole, its pages are followed: what no
// transaction has written since has nothing in its gaps, and what was written is in the
// write-ahead log, whose frames have the pages as they are then: most have nothing to
// wipe. Whenever it is not sure that every frame was seen, the whole file is wiped again.

// touched are the pages that have something to wipe since they were last wiped. The writer alone uses it,
// except for the counts of cuts.
type touched struct {
	following bool               // every frame since the beginning was seen
	whole     bool               // and each page was wiped once since
	pages     map[int64]struct{} // whose last frame has something to wipe, by number
	wiped     []int64            // in the transaction under way
	token     []byte             // in the file as long as nobody else writes to it
	version   int64              // of the data, which changes when others write
	log       *os.File           // the write-ahead log
	place     logPlace           // up to which its frames were seen
	frames    []byte             // room to read some
	asked     int64              // for how many pages SQLite was asked

	cut, seen atomic.Int64 // how often this process began or ended to cut the log, and how much of that was noticed
}

// logPlace is a place in a write-ahead log.
type logPlace struct {
	salts  [8]byte
	frames int64
	last   [frameHeader]byte // of the frame before the place
}

// The layout of a write-ahead log, from SQLite's file format: a header with the size of a
// page at 8 and the salts at 16, then frames, each of a header and a page. A frame's header
// has the page's number at 0, the size of the file if it ends a commit at 4, the salts at 8.
const (
	logHeader   = 32
	frameHeader = 24
)

// follow begins again: a wiping of the file is about to start. Where the log cannot
// be read nothing is followed.
func (p *touched) follow(t *tx) error {
	if p.token == nil {
		p.token = make([]byte, 16)
		_, _ = rand.Read(p.token) // never fails
	}
	if p.log == nil {
		log, err := os.Open(t.f.path + "-wal")
		if err != nil {
			t.f.log.Debug("the log is not followed", "file", t.f.path, "error", err)
			return nil
		}
		p.log = log
	}
	p.following, p.whole, p.pages, p.place = true, false, map[int64]struct{}{}, logPlace{}
	return t.exec("INSERT INTO meta (key, value) VALUES ('follower', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1", p.token)
}

// lose forgets all: it is not sure any more what was written.
func (p *touched) lose() { p.following, p.whole, p.pages, p.wiped = false, false, nil, nil }

// check looks at the beginning of a transaction whether this process alone has written
// since the last one. Every build that follows pages takes the token of another one away
// when it writes; an older build changes the version of the data, as cutting the log does.
func (p *touched) check(t *tx, token []byte, version int64) error {
	mine := p.token != nil && string(token) == string(p.token)
	cut := p.cut.Load()
	if p.following && (!mine || version != p.version && cut == p.seen.Load()) {
		p.lose()
	}
	p.version = version
	p.seen.Store(cut)
	if len(token) > 0 && !mine {
		return t.exec("UPDATE meta SET value = x'' WHERE key = 'follower'")
	}
	return nil
}

// committed takes in what a commit wrote.
func (p *touched) committed() {
	if !p.following {
		return
	}
	for _, n := range p.wiped {
		delete(p.pages, n)
	}
	p.wiped = p.wiped[:0]
	if err := p.harvest(); err != nil {
		p.lose()
	}
}

// errLog says that a log is not as it was left.
var errLog = errors.New("the write-ahead log is not the one that was followed")

// harvest reads the frames that came to the log.
func (p *touched) harvest() error {
	var header [logHeader]byte
	if n, err := p.log.ReadAt(header[:], 0); n == 0 && errors.Is(err, io.EOF) {
		return nil // it was cut, and the commit had nothing to write
	} else if err != nil {
		return err
	}
	size := frameHeader + int64(binary.BigEndian.Uint32(header[8:]))
	if salts := [8]byte(header[16:24]); salts != p.place.salts {
		p.place = logPlace{salts: salts} // the commit began the log again
	}
	var frame [frameHeader]byte
	if p.place.frames > 0 {
		_, err := p.log.ReadAt(frame[:], logHeader+(p.place.frames-1)*size)
		if err != nil || frame != p.place.last {
			return errors.Join(errLog, err)
		}
	}
	if int64(len(p.frames)) != readFrames*size {
		p.frames = make([]byte, readFrames*size)
	}
	written := map[int64]bool{} // what the commit under way wrote, and whether it has anything to wipe
	for n := p.place.frames; ; {
		got, err := p.log.ReadAt(p.frames, logHeader+n*size)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for frames := p.frames[:got]; ; frames = frames[size:] {
			if int64(len(frames)) < size {
				break
			}
			if [8]byte(frames[8:16]) != p.place.salts {
				return nil
			}
			n++
			number := int64(binary.BigEndian.Uint32(frames))
			written[number] = needsWipe(number, frames[frameHeader:size])
			if binary.BigEndian.Uint32(frames[4:]) == 0 {
				continue
			}
			for number, unwiped := range written {
				if unwiped {
					p.pages[number] = struct{}{}
				} else {
					delete(p.pages, number)
				}
			}
			clear(written)
			p.place.frames, p.place.last = n, [frameHeader]byte(frames)
		}
		if err != nil {
			return nil // the end
		}
	}
}

// readFrames is how many frames of the log are read at once: about as many as one small change writes.
const readFrames = 8

func (p *touched) close() error {
	if p.log == nil {
		return nil
	}
	return p.log.Close()
}
