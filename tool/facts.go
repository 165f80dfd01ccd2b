package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

// The actions of manage_memory.
const (
	actionCreate = "create"
	actionUpdate = "update"
	actionDelete = "delete"
)

var (
	allActions   = []string{actionCreate, actionUpdate, actionDelete}
	actionScopes = map[string]loci.Scope{
		actionCreate: loci.ScopeWrite, actionUpdate: loci.ScopeWrite, actionDelete: loci.ScopeDelete,
	}
)

type manageInput struct {
	Content  content        `json:"content,omitzero" jsonschema:"What to remember: one self-contained statement, or a JSON object"`
	Action   string         `json:"action,omitempty"`
	ID       string         `json:"id,omitempty" jsonschema:"UUID of the memory to update or delete"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"Labels for filters, such as {\"category\":\"preference\"}"`
}

// managed is the structured reply of manage_memory.
type managed struct {
	Action  string `json:"action"`
	ID      string `json:"id"`
	Message string `json:"message"`

	// Outcome tells of a create that stored nothing. The words of the message are fixed.
	Outcome loci.Outcome `json:"outcome,omitempty"`
	neighbours
}

// notCreated is the outcome of a create that stored nothing; "" of any other.
func notCreated(stored loci.Stored) loci.Outcome {
	if stored.Outcome == loci.DuplicateOf {
		return stored.Outcome
	}
	return ""
}

func manageMemory(b *base, t Tool, i Instance) *Tool {
	actions := i.ActionsPermitted
	if actions == nil {
		actions = allActions
	}
	preset := actions[0]
	if slices.Contains(actions, actionCreate) {
		preset = actionCreate
	}
	changes := slices.Contains(actions, actionUpdate) || slices.Contains(actions, actionDelete)
	t.Title = "Manage memory"
	t.Description = manageDescription(actions, i.Instructions)
	t.Tier, t.Timeout = SideEffecting, time.Duration(b.cfg.WriteTimeout)
	t.Annotations = Annotations{Destructive: changes, Idempotent: slices.Equal(actions, []string{actionDelete})}
	for _, a := range actions {
		if s := actionScopes[a]; !slices.Contains(t.scopes, s) {
			t.scopes = append(t.scopes, s)
		}
	}
	t.choice = &choice{"action", actionScopes, func(actions []string) string {
		return manageDescription(actions, i.Instructions)
	}, unusedBy}
	text := &jsonschema.Schema{Type: "string"}
	s := spec{
		Tool: t,
		output: append([]result{
			{name: "action", schema: text},
			{name: "id", schema: text},
			{name: "message", schema: text},
			duplicate,
		}, near()...),
	}
	s.adjust = func(properties map[string]*jsonschema.Schema) {
		action := properties["action"]
		for _, a := range actions {
			action.Enum = append(action.Enum, a)
		}
		action.Default = json.RawMessage(fmt.Sprintf("%q", preset))
	}
	manages := declare(s, func(ctx context.Context, c *call, in manageInput) (Reply, error) {
		if err := checkManage(actions, in); err != nil {
			return Reply{}, err
		}
		if err := c.require(actionScopes[in.Action]); err != nil {
			return Reply{}, err
		}
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		return manage(ctx, m, in)
	})
	manages.InputSchema = t.choice.schema(*manages.arguments, actions)
	return manages
}

// unusedBy names the argument of manage_memory that none of some actions takes; "": all are
// taken. A call that gives it is told that it must not.
func unusedBy(actions []string) string {
	if slices.Equal(actions, []string{actionCreate}) {
		return "id"
	}
	return ""
}

// manageDescription tells the model what the tool does, how ids work and when to call.
func manageDescription(actions []string, instructions string) string {
	verbs := actions[0]
	switch n := len(actions); n {
	case 1:
	case 2:
		verbs += " or " + actions[1]
	default:
		verbs = strings.Join(actions[:n-1], ", ") + ", or " + actions[n-1]
	}
	lines := []string{strings.ToUpper(verbs[:1]) + verbs[1:] + " a memory to persist across conversations."}
	var ids []string
	if slices.Contains(actions, actionCreate) {
		ids = append(ids, "Omit id when you create a memory: the reply names the new one.")
	}
	var later []string
	for _, a := range actions {
		if a != actionCreate {
			later = append(later, a)
		}
	}
	if len(later) > 0 {
		ids = append(ids, "To "+strings.Join(later, " or ")+" one, pass its id from a search or an earlier reply.")
	}
	return strings.Join(append(lines, strings.Join(ids, " "), cmp.Or(instructions, defaultInstructions(actions))), "\n\n")
}

// defaultInstructions tell the model when to call, as far as it may.
func defaultInstructions(actions []string) string {
	var when []string
	if slices.Contains(actions, actionCreate) {
		when = append(when, "the user states a preference, a fact about themselves or a decision",
			"the user asks you to remember something", "your work brings up context that later conversations need")
	}
	if slices.Contains(actions, actionUpdate) {
		when = append(when, "a stored memory turns out to be wrong or outdated; correct it instead of adding another")
	}
	if slices.Contains(actions, actionDelete) {
		when = append(when, "the user asks you to forget something")
	}
	return "Call this tool whenever:\n- " + strings.Join(when, "\n- ") +
		"\nNever store passwords, keys or other secrets."
}

// checkManage refuses what does not fit the action, in the order and the words
// that callers of such tools rely on.
func checkManage(actions []string, in manageInput) error {
	switch {
	case !slices.Contains(actions, in.Action):
		return loci.Errorf(loci.Invalid, "Invalid action %s. Must be one of %s.", clip(in.Action, 64), tuple(actions))
	case in.Action == actionCreate && in.ID != "":
		return loci.Errorf(loci.Invalid, "You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.")
	case in.Action != actionCreate && in.ID == "":
		return loci.Errorf(loci.Invalid, "You must provide a MEMORY ID when deleting or updating a MEMORY.")
	case in.Action == actionUpdate && !in.Content.given && in.Metadata == nil:
		return loci.Errorf(loci.Invalid, "nothing to update: pass content, metadata or both")
	}
	return nil
}

// tuple writes names as Python writes a tuple of strings.
func tuple(names []string) string {
	if len(names) == 1 {
		return "('" + names[0] + "',)"
	}
	return "('" + strings.Join(names, "', '") + "')"
}

func manage(ctx context.Context, m *loci.Memory, in manageInput) (Reply, error) {
	var id loci.ID
	if in.Action != actionCreate {
		var err error
		if id, err = loci.ParseID(in.ID); err != nil {
			return Reply{}, unknownMemory(in.ID) // what is no id names no memory
		}
	}
	var err error
	var stored loci.Stored
	message := in.Action + "d memory "
	switch in.Action {
	case actionCreate:
		stored, err = m.StoreFact(ctx, loci.NewFact{
			Content:  in.Content.text,
			Value:    in.Content.object,
			Metadata: in.Metadata,
		})
		id = stored.ID
	case actionUpdate:
		revision := loci.FactRevision{Value: in.Content.object}
		if in.Content.given && in.Content.object == nil {
			revision.Content = &in.Content.text
		}
		if in.Metadata != nil {
			revision.Metadata = &in.Metadata
		}
		_, err = m.ReviseFact(ctx, id, revision)
	case actionDelete:
		message = "Deleted memory "
		err = m.EraseFact(ctx, id)
	}
	if err != nil {
		if loci.AsError(err).Code == loci.NotFound {
			err = unknownMemory(in.ID)
		}
		return Reply{}, err
	}
	message += id.String()
	near := nearTo(stored, loci.ID.String)
	structured, err := encode(managed{in.Action, id.String(), message, notCreated(stored), near})
	return Reply{Text: message, Structured: structured}, err
}

func unknownMemory(id string) error {
	return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("no memory with id %q", clip(id, 100)),
		Recovery: "Search for the memory and use its id exactly as the search returns it."}
}
