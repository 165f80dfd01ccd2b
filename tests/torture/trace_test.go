package torture

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A step is one thing that a traced program did, in order.
type step struct {
	call  string // create, write, truncate, unlink, rename, sync, synced; request, reply
	path  string
	to    string // where a rename leads
	off   int64  // of a write; the new length of truncate
	data  []byte
	match int // sync and synced of one call have the same; of request and reply: the number of the op
}

// A parser makes steps from what strace -f -y -xx prints.
type parser struct {
	dir     string
	waiting map[string]string // by thread: the beginning of a call that has not returned
	syncs   map[string]int    // by thread: its fsync that runs
	asked   map[string]int    // by socket: the number of the op it carries
	steps   []step
}

var (
	callPattern    = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\((.*)$`)
	resumedPattern = regexp.MustCompile(`^(\d+) +<\.\.\. ([a-z0-9_]+) resumed>(.*)$`)
	agentPattern   = regexp.MustCompile(`User-Agent: op-(\d+)\.`)
)

// parse reads a trace of a program whose files are in dir.
func parse(r io.Reader, dir string) ([]step, error) {
	p := &parser{dir: dir, waiting: map[string]string{}, syncs: map[string]int{}, asked: map[string]int{}}
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return p.steps, nil
		}
		if err != nil {
			return nil, err
		}
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("%.200q: %w", line, err)
		}
	}
}

func (p *parser) line(line string) error {
	if m := resumedPattern.FindStringSubmatch(line); m != nil {
		begin, ok := p.waiting[m[1]]
		if !ok {
			return fmt.Errorf("it goes on with a call that did not begin")
		}
		delete(p.waiting, m[1])
		return p.call(m[1], m[2], begin+m[3])
	}
	m := callPattern.FindStringSubmatch(line)
	if m == nil {
		return nil // a signal, or the end of a thread
	}
	if begin, ok := strings.CutSuffix(m[3], " <unfinished ...>"); ok {
		p.waiting[m[1]] = begin
		return p.begin(m[1], m[2], begin)
	}
	if err := p.begin(m[1], m[2], m[3]); err != nil {
		return err
	}
	return p.call(m[1], m[2], m[3])
}

// begin handles what counts from the moment a call is made: which writes an fsync covers, and
// that an answer was given.
func (p *parser) begin(thread, name, rest string) error {
	switch name {
	case "fsync", "fdatasync":
		_, path := descriptor(rest)
		if p.ours(path) {
			p.syncs[thread] = len(p.steps)
			p.steps = append(p.steps, step{call: "sync", path: path, match: len(p.steps)})
		}
	case "write":
		socket, path := descriptor(rest)
		if n, ok := p.asked[socket]; ok && strings.HasPrefix(path, "socket:") {
			data, err := quoted(rest, 0)
			if err != nil {
				return err
			}
			if bytes.HasPrefix(data, []byte("HTTP/1.1 2")) {
				p.steps = append(p.steps, step{call: "reply", match: n})
				delete(p.asked, socket)
			}
		}
	}
	return nil
}

// call handles a call that has returned.
func (p *parser) call(thread, name, rest string) error {
	at := strings.LastIndex(rest, " = ")
	if at < 0 {
		return fmt.Errorf("a call without a result")
	}
	args, result := strings.TrimSuffix(strings.TrimRight(rest[:at], " "), ")"), rest[at+len(" = "):]
	if strings.HasPrefix(result, "-1 ") || strings.HasPrefix(result, "?") { // ? : the program ended during the call
		delete(p.syncs, thread)
		return nil
	}
	switch name {
	case "fsync", "fdatasync":
		if match, ok := p.syncs[thread]; ok {
			delete(p.syncs, thread)
			_, path := descriptor(args)
			p.steps = append(p.steps, step{call: "synced", path: path, match: match})
		}
		return nil
	case "read":
		return p.request(args)
	}
	return p.change(name, args, result)
}

// request remembers which op a socket carries.
func (p *parser) request(args string) error {
	socket, path := descriptor(args)
	if !strings.HasPrefix(path, "socket:") {
		return nil
	}
	data, err := quoted(args, 0)
	if err != nil {
		return err
	}
	if m := agentPattern.FindSubmatch(data); m != nil {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return err
		}
		p.asked[socket] = n
		p.steps = append(p.steps, step{call: "request", match: n})
	}
	return nil
}

// change handles a call that may have changed a file.
func (p *parser) change(name, args, result string) error {
	switch name {
	case "open", "openat":
		path, err := quoted(args, 0)
		if err != nil || !p.ours(string(path)) {
			return err
		}
		if strings.Contains(args, "O_CREAT") {
			p.steps = append(p.steps, step{call: "create", path: string(path)})
		}
		if strings.Contains(args, "O_TRUNC") {
			p.steps = append(p.steps, step{call: "truncate", path: string(path)})
		}
		return nil
	case "unlink", "unlinkat":
		path, err := quoted(args, 0)
		if err == nil && p.ours(string(path)) {
			p.steps = append(p.steps, step{call: "unlink", path: string(path)})
		}
		return err
	case "rename", "renameat", "renameat2":
		from, err := quoted(args, 0)
		if err != nil {
			return err
		}
		to, err := quoted(args, 1)
		if err == nil && (p.ours(string(from)) || p.ours(string(to))) {
			p.steps = append(p.steps, step{call: "rename", path: string(from), to: string(to)})
		}
		return err
	}
	_, path := descriptor(args)
	if !p.ours(path) {
		return nil
	}
	if name != "pwrite64" && name != "ftruncate" {
		return fmt.Errorf("%s of a file of ours: this reader knows no such change", name)
	}
	last, err := strconv.ParseInt(args[strings.LastIndex(args, " ")+1:], 10, 64)
	if err != nil {
		return err
	}
	if name == "ftruncate" {
		p.steps = append(p.steps, step{call: "truncate", path: path, off: last})
		return nil
	}
	data, err := quoted(args, 0)
	if err != nil {
		return err
	}
	written, err := strconv.Atoi(strings.Fields(result)[0])
	if err == nil && written > len(data) {
		err = fmt.Errorf("%d bytes were written and %d are in the trace", written, len(data))
	}
	if err == nil {
		p.steps = append(p.steps, step{call: "write", path: path, off: last, data: data[:written]})
	}
	return err
}

// ours reports whether a path is the directory or in it. The index of the log in shared
// memory is made again after a crash, and the ballast holds nothing.
func (p *parser) ours(path string) bool {
	if strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "/loci.ballast") {
		return false
	}
	return path == p.dir || strings.HasPrefix(path, p.dir+"/")
}

// descriptor takes the first argument apart, such as 7</path> or 8<socket:[1]>.
func descriptor(args string) (number, path string) {
	number, rest, _ := strings.Cut(args, "<")
	path, _, _ = strings.Cut(rest, ">")
	if strings.HasPrefix(path, `\x`) {
		if raw, err := unhex(path); err == nil {
			path = string(raw)
		}
	}
	return number, path
}

// quoted decodes the text of \x00 between the nth pair of quotation marks.
func quoted(args string, n int) ([]byte, error) {
	parts := strings.SplitN(args, `"`, 2*n+3)
	if len(parts) < 2*n+3 {
		return nil, fmt.Errorf("there is no text %d", n)
	}
	if strings.HasPrefix(parts[2*n+2], "...") {
		return nil, fmt.Errorf("text %d was cut short", n)
	}
	return unhex(parts[2*n+1])
}

func unhex(text string) ([]byte, error) { return hex.DecodeString(strings.ReplaceAll(text, `\x`, "")) }

// TestTraceIsRead reads a trace as strace prints it, with calls of two threads between
// one another.
func TestTraceIsRead(t *testing.T) {
	x := func(text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return b.String()
	}
	text := `1 openat(AT_FDCWD<` + x("/") + `>, "` + x("/d/f") + `", O_RDWR|O_CREAT, 0600) = 5<` + x("/d/f") + `>
1 --- SIGURG {si_signo=SIGURG} ---
1 read(8<` + x("socket:[7]") + `>, "` + x("POST / HTTP/1.1\r\nUser-Agent: op-12.\r\n") + `", 4096) = 40
1 pwrite64(5<` + x("/d/f") + `>, "` + x("ab") + `", 2, 10) = 2
1 fdatasync(5<` + x("/d/f") + `> <unfinished ...>
2 pwrite64(5<` + x("/d/f") + `>, "` + x("c") + `", 1, 12 <unfinished ...>
2 <... pwrite64 resumed>)           = 1
1 <... fdatasync resumed>)          = 0
1 write(8<` + x("socket:[7]") + `>, "` + x("HTTP/1.1 200 OK") + `", 15) = 15
2 fsync(6<` + x("/d") + `>) = 0
2 ftruncate(5<` + x("/d/f") + `>, 0) = 0
2 unlink("` + x("/d/f") + `") = -1 ENOENT (No such file or directory)
2 pwrite64(9<` + x("/e/f") + `>, "` + x("c") + `", 1, 12) = 1
2 +++ exited with 0 +++
`
	got, err := parse(strings.NewReader(text), "/d")
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{call: "create", path: "/d/f"},
		{call: "request", match: 12},
		{call: "write", path: "/d/f", off: 10, data: []byte("ab")},
		{
			call:  "sync",
			path:  "/d/f",
			match: 3,
		},
		{call: "write", path: "/d/f", off: 12, data: []byte("c")},
		{call: "synced", path: "/d/f", match: 3},
		{
			call:  "reply",
			match: 12,
		},
		{call: "sync", path: "/d", match: 7},
		{call: "synced", path: "/d", match: 7},
		{call: "truncate", path: "/d/f"},
	}
	if !slices.EqualFunc(got, want, func(a, b step) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, unknown := range []string{`1 fallocate(5<` + x("/d/f") + `>, 0, 0, 4096) = 0`, `1 writev(5<` + x("/d/f") + `>, [], 0) = 0`} {
		if _, err := parse(strings.NewReader(unknown+"\n"), "/d"); err == nil {
			t.Errorf("%s was passed over", unknown)
		}
	}
}
