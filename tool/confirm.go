package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// Whether a surface has a person asked before a call erases several memories at once.
const (
	ConfirmAuto     = "auto"     // by a client that can ask; a call of another one goes through
	ConfirmRequired = "required" // a call of a client that cannot ask is refused
	ConfirmOff      = "off"      // nobody is asked
)

// Confirms are these choices.
var Confirms = []string{ConfirmAuto, ConfirmRequired, ConfirmOff}

// A Toll is how many memories one call of a tool may erase.
type Toll string

// The tolls there are.
const (
	TollNone Toll = "none" // it adds, reads or marks, and earlier states are kept
	TollOne  Toll = "one"  // one memory at most
	TollMany Toll = "many" // whatever is in a place: the caller can have a person asked before
)

// tolls are those of all tools that change something. Who adds a tool decides here
// whether it asks; a test walks all tools.
var tolls = map[[2]string]Toll{
	{FamilyFacts, "manage_memory"}:            TollOne, // the memory of an id
	{FamilyNotes, "memory_save"}:              TollNone,
	{FamilyNotes, "memory_update"}:            TollNone, // the state before is kept
	{FamilyNotes, "memory_delete"}:            TollOne,  // the note of an id
	{FamilyMemory, "memory_store_episode"}:    TollNone,
	{FamilyMemory, "memory_store_fact"}:       TollNone, // what it supersedes is kept
	{FamilyMemory, "memory_store_rule"}:       TollNone,
	{FamilyMemory, "memory_confirm"}:          TollNone,
	{FamilyMemory, "memory_mark_helpful"}:     TollNone,
	{FamilyMemory, "memory_mark_harmful"}:     TollNone,
	{FamilyMemory, "memory_forget"}:           TollNone, // it is out of searches and can be read
	{FamilyFiles, "memory"}:                   TollMany, // delete of a directory; update keeps the state before
	{FamilyClaude, "memory"}:                  TollMany, // delete of a directory
	{FamilySessions, "memory_delete_session"}: TollMany, // a conversation with its messages
}

// Toll is how many memories one call of the tool may erase.
func (t *Tool) Toll() Toll {
	if t.Reads() {
		return TollNone
	}
	return tolls[[2]string{t.Family, t.Original}]
}

// confirmFrom is from how many memories on a call is confirmed. One file or message is what
// the person and the model have just spoken of, and asking about each would teach people to
// agree without reading.
const confirmFrom = 2

// An UnconfirmedError is the cause of a refused call that would erase several memories at
// once, where [Caller.Agreed] is not the mark of these. Nothing was erased.
type UnconfirmedError struct {
	Question string // to a person: what would go, and how much
	Items    int64  // how many files or messages
	Mark     string // of exactly these, for Agreed
	Instead  string // how a person does the same without a tool
	Changed  bool   // Agreed is of something else: more came, or something changed
}

// Error is for logs; surfaces make a question or a refusal of it.
func (u *UnconfirmedError) Error() string {
	return fmt.Sprintf("a question about %d memories has no answer", u.Items)
}

// confirm refuses what a person is to be asked about first.
func (c *call) confirm(u UnconfirmedError) error {
	switch {
	case !c.Confirms || u.Items < confirmFrom || c.Agreed == u.Mark:
		return nil
	case c.Agreed != "":
		u.Changed = true
		return &loci.Error{Code: loci.Conflict, Err: &u,
			Msg:      "what this would delete has changed since it was agreed to: nothing was deleted",
			Recovery: "Call again, without an answer: the user will be asked about what is there now."}
	}
	return &loci.Error{Code: loci.Forbidden, Err: &u,
		Msg:      fmt.Sprintf("this would delete %d memories at once, and nobody could be asked: nothing was deleted", u.Items),
		Recovery: "Tell the user, who can do it with " + u.Instead + "."}
}

// Refusal shows a call that a surface refused before it ran, or because nobody agreed, in the
// form in which the tool itself shows failures.
func (t *Tool) Refusal(args json.RawMessage, err error) Reply {
	if t.envelope != nil {
		return t.envelope(args, err)
	}
	r := ErrorReply(err)
	r.Err = err
	return r
}

// deleteFiles erases a file or a directory, once a person has agreed where one is to be
// asked. root is what the tool shows in place of the root of the tree.
func (c *call) deleteFiles(ctx context.Context, files *tree.Tree, path, root string) (tree.Counts, error) {
	if !c.Confirms {
		return files.Delete(ctx, path)
	}
	x, err := files.Extent(ctx, path)
	if err == nil {
		err = c.confirm(askAboutFiles(&x, root))
	}
	if err != nil {
		return tree.Counts{}, err
	}
	return files.DeleteExtent(ctx, x) // what comes from now on was not shown
}

// askAboutFiles is the question before a directory is deleted.
func askAboutFiles(x *tree.Extent, root string) UnconfirmedError {
	what, first := "the directory "+root+x.Path, make([]string, len(x.First))
	if x.Path == "/" {
		what = "everything in the memory"
	}
	for n, path := range x.First {
		first[n] = root + path
	}
	among := strings.Join(first, ", ")
	if int64(len(first)) < x.Files {
		among += " and others"
	}
	return UnconfirmedError{
		Items: x.Files, Mark: x.Mark, Instead: "loci file delete, or DELETE /v1/files over REST",
		Question: fmt.Sprintf("Delete %s with %d files (%d bytes)? They are %s. "+
			"Their earlier versions go with them, and this cannot be undone.", what, x.Files, x.Bytes, among),
	}
}

// deleteConversation erases a conversation, once a person has agreed where one is to be asked.
func (c *call) deleteConversation(ctx context.Context, talks *session.Handle, id string) error {
	if !c.Confirms {
		_, err := talks.Clear(ctx, id)
		return err
	}
	x, err := talks.Extent(ctx, id)
	if err != nil {
		return err
	}
	ask := UnconfirmedError{Items: x.Messages, Mark: x.Mark, Instead: "loci session clear, or DELETE /v1/sessions/{session_id} over REST"}
	if c.confirm(ask) != nil {
		ask.Question, err = c.askAboutConversation(ctx, talks, &x)
		if err != nil {
			return err
		}
	}
	if err := c.confirm(ask); err != nil {
		return err
	}
	_, err = talks.ClearExtent(ctx, x) // what comes from now on was not shown
	return err
}

// askAboutConversation is the question before a conversation is deleted. Its title is what a
// person knows it by. Quoted, it moves no cursor where it is shown.
func (c *call) askAboutConversation(ctx context.Context, talks *session.Handle, x *session.Extent) (string, error) {
	found, err := talks.Session(ctx, x.Session)
	if err != nil {
		return "", err
	}
	shown, err := c.showSession(ctx, talks, &found)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Delete the conversation %q (%q) with %d messages, of %s to %s? This cannot be undone.",
		shown.Title, x.Session, x.Messages, found.CreatedAt.Format(time.DateOnly),
		found.UpdatedAt.Format(time.DateOnly)), nil
}
