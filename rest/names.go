package rest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// publishedNames are the names of schemas in the description of the interface. Clients
// are generated from them, so they are written down here: a type that is renamed or
// moved keeps the name it is published under.
var publishedNames = map[reflect.Type]string{
	reflect.TypeFor[agentShown]():              "Agent",
	reflect.TypeFor[tool.Annotations]():        "Annotations",
	reflect.TypeFor[appendFile]():              "AppendFile",
	reflect.TypeFor[appended]():                "Appended",
	reflect.TypeFor[changeNote]():              "ChangeNote",
	reflect.TypeFor[changeSession]():           "ChangeSession",
	reflect.TypeFor[wireCheckpoint]():          "Checkpoint",
	reflect.TypeFor[checkpointWrite]():         "CheckpointWrite",
	reflect.TypeFor[session.Cleared]():         "Cleared",
	reflect.TypeFor[loci.ContextBlock]():       "ContextBlock",
	reflect.TypeFor[loci.ContextItem]():        "ContextItem",
	reflect.TypeFor[contextRequest]():          "ContextRequest",
	reflect.TypeFor[copiedCheckpoints]():       "CopiedCheckpoints",
	reflect.TypeFor[copyThread]():              "CopyThread",
	reflect.TypeFor[deleteForRuns]():           "DeleteForRuns",
	reflect.TypeFor[DeleteItem]():              "DeleteItem",
	reflect.TypeFor[deleteOperation]():         "DeleteOperation",
	reflect.TypeFor[document]():                "Document",
	reflect.TypeFor[due]():                     "Due",
	reflect.TypeFor[entry]():                   "MemoryEntry",
	reflect.TypeFor[loci.Episode]():            "Episode",
	reflect.TypeFor[view.EpisodeStats]():       "EpisodeStats",
	reflect.TypeFor[view.FactStats]():          "FactStats",
	reflect.TypeFor[harmfulMemory]():           "HarmfulMemory",
	reflect.TypeFor[eraseRequest]():            "EraseRequest",
	reflect.TypeFor[view.LifecycleStats]():     "LifecycleStats",
	reflect.TypeFor[loci.Link]():               "Link",
	reflect.TypeFor[linkMemory]():              "LinkMemory",
	reflect.TypeFor[origin]():                  "Provenance",
	reflect.TypeFor[past]():                    "Past",
	reflect.TypeFor[place]():                   "Place",
	reflect.TypeFor[restoreMemory]():           "RestoreMemory",
	reflect.TypeFor[loci.Revision]():           "Revision",
	reflect.TypeFor[view.RuleStats]():          "RuleStats",
	reflect.TypeFor[supersedeMemory]():         "SupersedeMemory",
	reflect.TypeFor[erasedCheckpoints]():       "ErasedCheckpoints",
	reflect.TypeFor[loci.Event]():              "Event",
	reflect.TypeFor[loci.Explain]():            "Explain",
	reflect.TypeFor[exported]():                "Export",
	reflect.TypeFor[loci.ImportReport]():       "ImportReport",
	reflect.TypeFor[loci.Fact]():               "Fact",
	reflect.TypeFor[File]():                    "File",
	reflect.TypeFor[fileContent]():             "FileContent",
	reflect.TypeFor[fileList]():                "FileList",
	reflect.TypeFor[fileMatch]():               "FileMatch",
	reflect.TypeFor[fileMatches]():             "FileMatches",
	reflect.TypeFor[fileVersion]():             "FileVersion",
	reflect.TypeFor[fileVersions]():            "FileVersions",
	reflect.TypeFor[foundItems]():              "FoundItems",
	reflect.TypeFor[getCheckpoint]():           "GetCheckpoint",
	reflect.TypeFor[GetItem]():                 "GetItem",
	reflect.TypeFor[getOperation]():            "GetOperation",
	reflect.TypeFor[given]():                   "Given",
	reflect.TypeFor[history]():                 "History",
	reflect.TypeFor[importSession]():           "ImportSession",
	reflect.TypeFor[session.ImportedSession](): "ImportedSession",
	reflect.TypeFor[instant]():                 "Instant",
	reflect.TypeFor[info]():                    "Info",
	reflect.TypeFor[wireItem]():                "Item",
	reflect.TypeFor[listCheckpoints]():         "ListCheckpoints",
	reflect.TypeFor[ListNamespaces]():          "ListNamespaces",
	reflect.TypeFor[listedCheckpoints]():       "ListedCheckpoints",
	reflect.TypeFor[listedSessions]():          "ListedSessions",
	reflect.TypeFor[match]():                   "Match",
	reflect.TypeFor[messages]():                "Messages",
	reflect.TypeFor[moveFile]():                "MoveFile",
	reflect.TypeFor[namespaces]():              "Namespaces",
	reflect.TypeFor[namespacesOperation]():     "NamespacesOperation",
	reflect.TypeFor[newCheckpoint]():           "NewCheckpoint",
	reflect.TypeFor[newSession]():              "NewSession",
	reflect.TypeFor[note]():                    "Note",
	reflect.TypeFor[operation]():               "Operation",
	reflect.TypeFor[outcome]():                 "Outcome",
	reflect.TypeFor[problem.Part]():            "Part",
	reflect.TypeFor[problem.Problem]():         "Problem",
	reflect.TypeFor[popped]():                  "Popped",
	reflect.TypeFor[pruneThreads]():            "PruneThreads",
	reflect.TypeFor[putCheckpointWrites]():     "PutCheckpointWrites",
	reflect.TypeFor[PutItem]():                 "PutItem",
	reflect.TypeFor[putOperation]():            "PutOperation",
	reflect.TypeFor[loci.RecallExplain]():      "RecallExplain",
	reflect.TypeFor[recallReply]():             "RecallReply",
	reflect.TypeFor[recallRequest]():           "RecallRequest",
	reflect.TypeFor[loci.RecallWeights]():      "RecallWeights",
	reflect.TypeFor[recalled]():                "Recalled",
	reflect.TypeFor[session.Reminder]():        "Reminder",
	reflect.TypeFor[replaced]():                "Replaced",
	reflect.TypeFor[restoreFile]():             "RestoreFile",
	reflect.TypeFor[session.Retrieved]():       "Retrieved",
	reflect.TypeFor[loci.Rule]():               "Rule",
	reflect.TypeFor[saveNote]():                "SaveNote",
	reflect.TypeFor[savedNote]():               "SavedNote",
	reflect.TypeFor[searchFiles]():             "SearchFiles",
	reflect.TypeFor[SearchItems]():             "SearchItems",
	reflect.TypeFor[searchMessages]():          "SearchMessages",
	reflect.TypeFor[searchOperation]():         "SearchOperation",
	reflect.TypeFor[searchReply]():             "SearchReply",
	reflect.TypeFor[searchRequest]():           "SearchRequest",
	reflect.TypeFor[wireSession]():             "Session",
	reflect.TypeFor[session.Hit]():             "SessionHit",
	reflect.TypeFor[session.Hits]():            "SessionHits",
	reflect.TypeFor[shownMessage]():            "TakenMessage",
	reflect.TypeFor[loci.Correction]():         "Correction",
	reflect.TypeFor[loci.NamedTime]():          "NamedTime",
	reflect.TypeFor[loci.Source]():             "Source",
	reflect.TypeFor[session.Summarised]():      "Summarised",
	reflect.TypeFor[session.Summary]():         "Summary",
	reflect.TypeFor[toolReply]():               "ToolReply",
	reflect.TypeFor[toolShown]():               "ToolShown",
	reflect.TypeFor[tree.Counts]():             "TreeCounts",
	reflect.TypeFor[session.Trimmed]():         "Trimmed",
	reflect.TypeFor[typed]():                   "Typed",
	reflect.TypeFor[updateFile]():              "UpdateFile",
	reflect.TypeFor[admin.Key]():               "Key",
	reflect.TypeFor[admin.Tenant]():            "Tenant",
	reflect.TypeFor[admin.Use]():               "TenantUse",
	reflect.TypeFor[admin.Quota]():             "TenantQuota",
	reflect.TypeFor[admin.Limits]():            "KeyLimits",
	reflect.TypeFor[admin.TenantLimits]():      "TenantLimits",
	reflect.TypeFor[limitTenant]():             "LimitTenant",
	reflect.TypeFor[rateLimitTenant]():         "RateLimitTenant",
	reflect.TypeFor[eraseTenant]():             "EraseTenant",
	reflect.TypeFor[newKey]():                  "NewKey",
	reflect.TypeFor[newTenant]():               "NewTenant",
	reflect.TypeFor[limitKey]():                "LimitKey",
	reflect.TypeFor[rotateKey]():               "RotateKey",
	reflect.TypeFor[suspendTenant]():           "SuspendTenant",
	reflect.TypeFor[writeFile]():               "WriteFile",
}

// publishedName names a schema: a type of ours as the table says, a type without a name
// by its nameHint, and what is not ours as huma does. A type of ours that the table
// lacks is a mistake of the program.
func publishedName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := publishedNames[t]; ok {
		return name
	}
	if t.Kind() == reflect.Struct && t.Name() != "" && strings.HasPrefix(t.PkgPath(), "github.com/loci-memory/loci") {
		panic(fmt.Sprintf("rest: %s has no published name: add it to publishedNames", t))
	}
	return huma.DefaultSchemaNamer(t, hint)
}
