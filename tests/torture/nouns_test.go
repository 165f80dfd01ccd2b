package torture

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// An op is one write over HTTP. Only one worker changes its key, one write at a time, so it is
// known what may be there after a crash: the value last acknowledged, or the one under way.
type op struct {
	n      int    // counts from 0 over all workers; the request says it in its User-Agent
	key    string // "item/…", "file/…", "session/…", "thread/…"; a note's is known when it is saved
	value  string // what observe returns afterwards; empty: nothing is there
	method string
	path   string
	body   any
	done   func() // changes what the worker knows
}

// A worker makes ops over every noun.
type worker struct {
	name    string
	rng     *rand.Rand
	notes   []string // keys
	item    string
	file    string
	talk    []string // names of the messages in the session
	session int      // which one: a cleared session is followed by another
	thread  []saved  // oldest first
}

// saved is a checkpoint with how many pending writes it has.
type saved struct {
	id, name string
	writes   int
}

func newWorker(name string, seed uint64) *worker {
	return &worker{name: name, rng: rand.New(rand.NewPCG(seed, 1))}
}

// next makes the write with number n.
func (w *worker) next(n int) *op {
	name := fmt.Sprintf("%s-n%d", w.name, n)
	kinds := []func(string) *op{w.note, w.putItem, w.writeFile, w.append, w.checkpoint}
	o := kinds[w.rng.IntN(len(kinds))](name)
	o.n = n
	return o
}

func (w *worker) note(name string) *op {
	text := content(name)
	if len(w.notes) > 2 {
		key := w.notes[w.rng.IntN(len(w.notes))]
		path := "/v1/notes/" + strings.TrimPrefix(key, "note/")
		switch w.rng.IntN(3) {
		case 0:
			return &op{key: key, value: text, method: "PATCH", path: path, body: map[string]any{"content": text}}
		case 1:
			return &op{key: key, method: "DELETE", path: path,
				done: func() { w.notes = slices.DeleteFunc(w.notes, func(k string) bool { return k == key }) }}
		}
	}
	return &op{value: text, method: "POST", path: "/v1/notes", body: map[string]any{"content": text}}
}

func (w *worker) putItem(name string) *op {
	key, at := "item/"+w.name, map[string]any{"namespace": []string{"torture"}, "key": w.name}
	if w.item != "" && w.rng.IntN(4) == 0 {
		return &op{key: key, method: "POST", path: "/v1/items/delete", body: at, done: func() { w.item = "" }}
	}
	at["value"] = map[string]string{"text": content(name)}
	return &op{
		key:    key,
		value:  content(name),
		method: "PUT",
		path:   "/v1/items",
		body:   at,
		done:   func() { w.item = name },
	}
}

func (w *worker) writeFile(name string) *op {
	path := "/" + w.name + ".md"
	o := &op{key: "file" + path, value: content(name), method: "PUT", path: "/v1/files/content",
		body: map[string]any{"path": path, "content": content(name)}}
	switch choice := w.rng.IntN(4); {
	case w.file == "" || choice == 0:
	case choice == 1:
		o.value, o.method, o.path, o.body = "", "DELETE", "/v1/files?path="+url.QueryEscape(path), nil
	default: // part of it: the file is cut into blocks
		o.value = strings.ReplaceAll(w.file, "ends.", "ends there. "+name+" ends.")
		if len(o.value) > 20_000 {
			o.value = content(name)
			break
		}
		o.method, o.path = "POST", "/v1/files/update"
		o.body = map[string]any{"path": path, "old_content": "ends.", "content": "ends there. " + name + " ends."}
	}
	o.done = func() { w.file = o.value }
	return o
}

func (w *worker) append(name string) *op {
	id := fmt.Sprintf("%s-s%d", w.name, w.session)
	path := "/v1/sessions/" + id
	if len(w.talk) > 8 {
		return &op{
			key:    "session/" + id,
			method: "DELETE",
			path:   path,
			done:   func() { w.talk, w.session = nil, w.session+1 },
		}
	}
	talk := append(slices.Clone(w.talk), content(name+"a"), content(name+"b"))
	message := func(text string) map[string]string { return map[string]string{"role": "user", "content": text} }
	return &op{
		key:    "session/" + id,
		value:  strings.Join(talk, "\n"),
		method: "POST",
		path:   path + "/messages",
		body: map[string]any{
			"messages": []any{message(content(name + "a")), message(content(name + "b"))},
		},
		done: func() { w.talk = talk },
	}
}

func (w *worker) checkpoint(name string) *op {
	thread := slices.Clone(w.thread)
	o := &op{key: "thread/" + w.name, done: func() { w.thread = thread }}
	typed := func(text string) map[string]string {
		return map[string]string{"type": "bytes", "data": base64.StdEncoding.EncodeToString([]byte(text))}
	}
	switch choice := w.rng.IntN(4); {
	case len(thread) > 0 && choice == 0:
		thread[len(thread)-1].writes++
		last := thread[len(thread)-1]
		o.method, o.path = "POST", "/v1/checkpoints/writes"
		o.body = map[string]any{"thread_id": w.name, "checkpoint_id": last.id, "writes": []any{
			map[string]any{
				"task_id": fmt.Sprintf("task%d", last.writes),
				"idx":     0,
				"channel": "text",
				"value":   typed(content(name)),
			},
		}}
	case (choice == 1 || len(thread) > 5) && w.mayDelete(thread):
		o.method, o.path = "DELETE", "/v1/threads/"+w.name+"/checkpoints"
		thread = nil
	default:
		c := saved{id: fmt.Sprintf("%06d", len(thread)), name: name}
		body := map[string]any{
			"thread_id":     w.name,
			"checkpoint_id": c.id,
			"checkpoint":    typed(name),
			"metadata":      map[string]any{"name": name},
			"channel_versions": map[string]string{
				"text": name,
			},
			"channel_values": map[string]any{"text": typed(content(name))},
		}
		if len(thread) > 0 {
			body["parent_checkpoint_id"] = thread[len(thread)-1].id
		}
		thread = append(thread, c)
		o.method, o.path, o.body = "PUT", "/v1/checkpoints", body
	}
	o.value = showThread(thread)
	return o
}

func (*worker) mayDelete(thread []saved) bool {
	return len(thread) > 0
}

func showThread(thread []saved) string {
	var b strings.Builder
	for _, c := range thread {
		fmt.Fprintf(&b, "%s=%s+%d ", c.id, c.name, c.writes)
	}
	return b.String()
}

// acknowledged is called with the reply of an op: a saved note gets its key.
func (w *worker) acknowledged(o *op, reply []byte) error {
	if o.key == "" {
		var note struct{ ID string }
		if err := json.Unmarshal(reply, &note); err != nil || note.ID == "" {
			return fmt.Errorf("a saved note was answered with %.200s: %w", reply, err)
		}
		o.key = "note/" + note.ID
		w.notes = append(w.notes, o.key)
	}
	if o.done != nil {
		o.done()
	}
	return nil
}

// observe reads what a key holds, in the form of [op.value].
func observe(ctx context.Context, m *loci.Memory, key string) (string, error) {
	kind, name, _ := strings.Cut(key, "/")
	read := map[string]func(context.Context, *loci.Memory, string) (string, error){
		"note": readNote, "item": readItem, "file": readFile, "session": readSession, "thread": readThread}[kind]
	value, err := read(ctx, m, name)
	if errors.Is(err, loci.ErrNotFound) {
		return "", nil
	}
	return value, err
}

func readNote(ctx context.Context, m *loci.Memory, name string) (string, error) {
	id, err := loci.ParseID(strings.TrimPrefix(name, "note-"))
	if err != nil {
		return "", err
	}
	f, err := m.Fact(ctx, id)
	return f.Content, err
}

func readItem(ctx context.Context, m *loci.Memory, name string) (string, error) {
	it, err := item.Of(m).Get(ctx, append(slices.Clone(m.View().Namespace), "torture"), name, false)
	if err != nil {
		return "", err
	}
	var value struct{ Text string }
	return value.Text, json.Unmarshal(it.Value, &value)
}

func readFile(ctx context.Context, m *loci.Memory, name string) (string, error) {
	files, err := tree.Of(m, "memory", "")
	if err != nil {
		return "", err
	}
	return files.Read(ctx, "/"+name)
}

func readSession(ctx context.Context, m *loci.Memory, name string) (string, error) {
	h, err := session.Of(m).History(ctx, name, session.HistoryQuery{Limit: 1000})
	if err != nil {
		return "", err
	}
	texts := make([]string, len(h.Messages))
	for i, message := range h.Messages {
		texts[i] = message.Text()
	}
	return strings.Join(texts, "\n"), nil
}

func readThread(ctx context.Context, m *loci.Memory, name string) (string, error) {
	page, err := checkpoint.Of(m).List(ctx, checkpoint.Query{Thread: name, Limit: 1000})
	if err != nil {
		return "", err
	}
	var thread []saved
	for _, c := range slices.Backward(page.Checkpoints) { // the greatest id comes first
		if name := string(c.State.Data); string(c.Values["text"].Data) == content(name) {
			thread = append(thread, saved{c.ID, name, len(c.Writes)})
		} else {
			thread = append(thread, saved{c.ID, name + " with the value of another", len(c.Writes)})
		}
	}
	return showThread(thread), nil
}

// expected is what each key may hold.
type expected map[string]map[string]bool

// begin takes down that an op is under way, and is called before [expected.done].
func (x expected) begin(o *op) {
	if o.key == "" {
		return // its key is not known yet
	}
	if x[o.key] == nil {
		x[o.key] = map[string]bool{"": true}
	}
	x[o.key][o.value] = true
}

func (x expected) done(o *op) { x[o.key] = map[string]bool{o.value: true} }

// verify compares a store with what is expected, and proves its audit log.
func (x expected) verify(ctx context.Context, e *loci.Engine, m *loci.Memory) (wrong []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(x)) {
		got, err := observe(ctx, m, key)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s cannot be read: %v", key, err))
		} else if !x[key][got] {
			wrong = append(wrong, fmt.Sprintf("%s holds %q; it may hold %q", key, brief(got), briefs(x[key])))
		}
	}
	report, err := e.VerifyEvents(ctx, m.View().Tenant, loci.Hash{})
	if err != nil {
		return wrong, err
	}
	for _, problem := range report.Problems {
		wrong = append(wrong, "the audit log: "+problem)
	}
	return wrong, nil
}

func brief(value string) string {
	if len(value) > 120 {
		return fmt.Sprintf("%s … (%d bytes)", value[:120], len(value))
	}
	return value
}

func briefs(values map[string]bool) (out []string) {
	for _, value := range slices.Sorted(maps.Keys(values)) {
		out = append(out, brief(value))
	}
	return out
}
