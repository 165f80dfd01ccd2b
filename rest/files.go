package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

type (
	// TreeParams choose a tree in the query of a request.
	TreeParams struct {
		Memory string `query:"memory" maxLength:"256" doc:"The name of the tree; absent: memory"`
		Scope  string `query:"scope" enum:"global,perThread" default:"global" doc:"perThread: the tree of the thread that the header Loci-Thread names"`
	}
	// TreeChoice chooses a tree in the body of a request.
	TreeChoice struct {
		Memory string `json:"memory,omitempty" maxLength:"256" doc:"The name of the tree; absent: memory"`
		Scope  string `json:"scope,omitempty" enum:"global,perThread" doc:"perThread: the tree of the thread that the header Loci-Thread names; absent: global"`
	}
)

// A File is a file or a directory.
type File struct {
	Path      string    `json:"path"`
	Name      string    `json:"name" doc:"The last part of the path; empty for the root"`
	Kind      string    `json:"kind" enum:"file,dir"`
	Version   int64     `json:"version" doc:"Grows with each change"`
	Bytes     int64     `json:"bytes" doc:"Of a file"`
	Lines     int64     `json:"lines" doc:"Of a file"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Unchanged bool      `json:"unchanged,omitempty" doc:"Of what a write returns: the file said that already"`
}

func showFile(f tree.FileInfo) File {
	kind := "file"
	if f.Dir {
		kind = "dir"
	}
	return File{f.Path, f.Name, kind, f.Version, f.Bytes, f.Lines, f.CreatedAt, f.UpdatedAt, f.Unchanged}
}

type fileOutput struct{ Body File }

type fileList struct {
	Files      []File `json:"files" nullable:"false"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
}

// The requests.
type (
	listFilesInput struct {
		TreeParams
		Path      string `query:"path" maxLength:"9000" default:"/" doc:"The directory"`
		Recursive bool   `query:"recursive" doc:"All files of the tree, directory by directory; path must be /"`
		Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		Cursor    string `query:"cursor" maxLength:"20000" doc:"The next_cursor of the page before"`
	}
	readFileInput struct {
		TreeParams
		Path    string `query:"path" required:"true" maxLength:"9000"`
		Version int64  `query:"version" minimum:"0" doc:"As it was in this version; 0: now"`
		First   int64  `query:"first_line" minimum:"0" doc:"Only from this line on, counted from 1; 0: the first"`
		Last    int64  `query:"last_line" minimum:"0" doc:"Only up to this line; 0: the last"`
	}
	pathInput struct {
		TreeParams
		Path string `query:"path" required:"true" maxLength:"9000"`
	}
	writeFile struct {
		TreeChoice
		Path      string `json:"path" maxLength:"9000"`
		Content   string `json:"content" doc:"All that the file says"`
		Create    bool   `json:"create,omitempty" doc:"Refuse the request if the file is there already"`
		IfVersion int64  `json:"if_version,omitempty" minimum:"1" doc:"Refuse the request unless this is the version of the file"`
	}
	appendFile struct {
		TreeChoice
		Path    string `json:"path" maxLength:"9000"`
		Content string `json:"content" doc:"What to add, on a line of its own; a missing file is made"`
	}
	updateFile struct {
		TreeChoice
		Path       string `json:"path" maxLength:"9000"`
		OldContent string `json:"old_content" doc:"Replaced wherever it occurs, as it is written"`
		Content    string `json:"content" doc:"What to put in its place"`
	}
	moveFile struct {
		TreeChoice
		Path string `json:"path" maxLength:"9000" doc:"Of the file or directory"`
		To   string `json:"target_path" maxLength:"9000" doc:"Its new path, where there is nothing"`
	}
	restoreFile struct {
		TreeChoice
		Path    string `json:"path" maxLength:"9000"`
		Version int64  `json:"version" minimum:"1" doc:"One of those kept"`
	}
	searchFiles struct {
		TreeChoice
		Query string    `json:"query" doc:"In plain words, with \"phrases\" and begin*"`
		Path  string    `json:"path,omitempty" maxLength:"9000" doc:"Only this file, or below this directory"`
		Mode  loci.Mode `json:"mode,omitempty" enum:"hybrid,keyword,semantic" doc:"Absent: hybrid"`
		Limit *int      `json:"limit,omitempty" doc:"1 to 1000; absent: 10"`

		MinScore float64 `json:"min_score,omitempty" doc:"The least score, 0 to 1: about the chance that it answers. Absent: whatever fits best"`
		Rerank   *bool   `json:"rerank,omitempty" doc:"Whether the re-ranker of the server reads the best results again. Absent: if it has one"`

		Since instant `json:"since,omitempty" doc:"Only passages written at this time or after"`
		Until instant `json:"until,omitempty" doc:"Only passages written before this time"`
	}
)

// The replies.
type (
	fileContent struct {
		File
		Content string `json:"content"`
	}
	replaced struct {
		Replaced int `json:"replaced" doc:"How many there were"`
	}
	fileVersion struct {
		Version    int64      `json:"version"`
		Current    bool       `json:"current"`
		Bytes      int64      `json:"bytes"`
		Lines      int64      `json:"lines"`
		WrittenAt  time.Time  `json:"written_at"`
		ReplacedAt *time.Time `json:"replaced_at,omitempty" doc:"Absent: it is the current one"`
	}
	fileVersions struct {
		Versions []fileVersion `json:"versions" nullable:"false" doc:"The current one first, then newest first"`
	}
	fileMatch struct {
		File      File    `json:"file"`
		FirstLine int64   `json:"first_line" doc:"From 1"`
		LastLine  int64   `json:"last_line"`
		Passage   string  `json:"passage"`
		Score     float64 `json:"score"`
	}
	fileMatches struct {
		Matches     []fileMatch `json:"matches" nullable:"false" doc:"Best first"`
		KeywordOnly bool        `json:"keyword_only" doc:"The embedder did not answer: this is what the words found"`
		NotReranked string      `json:"not_reranked,omitempty" doc:"Why the re-ranker has not read the results though it was to"`

		Corrections []loci.Correction `json:"corrections,omitempty" doc:"Words of the query that nobody has, with those searched for instead, and roles, with themselves and the names searched for beside them"`
		Times       []loci.NamedTime  `json:"times,omitempty" doc:"Times that the query names, as of now: what speaks of then has a better score"`
	}
)

func (a *API) fileRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/files", id: "list_files", summary: "List a directory", scope: loci.ScopeRead,
		detail: "A path that is missing, or a file, has no entries."}, a.listFiles)
	route(a, endpoint{method: http.MethodDelete, path: "/v1/files", id: "delete_files", summary: "Erase a file, or a directory with all that is in it", scope: loci.ScopeDelete,
		writes: true, detail: "Earlier versions go, too. A path that is missing is no error; / is everything."},
		func(ctx context.Context, c *caller, in *pathInput) (*struct{ Body tree.Counts }, error) {
			return inTree(a, c, in.Memory, in.Scope, func(t *tree.Tree) (tree.Counts, error) {
				return t.Delete(ctx, in.Path)
			})
		})
	route(a, endpoint{method: http.MethodGet, path: "/v1/files/content", id: "read_file", summary: "Read a file", scope: loci.ScopeRead}, a.readFile)
	route(a, endpoint{method: http.MethodPut, path: "/v1/files/content", id: "write_file", summary: "Create a file, or replace all of it", scope: loci.ScopeWrite,
		writes: true, value: true, status: http.StatusOK},
		func(ctx context.Context, c *caller, in *struct{ Body writeFile }) (*fileOutput, error) {
			b := &in.Body
			return a.changeFile(c, b.TreeChoice, func(t *tree.Tree) (tree.FileInfo, error) {
				return t.Write(ctx, b.Path, b.Content, &tree.WriteOptions{Create: b.Create, IfVersion: b.IfVersion})
			})
		})
	route(a, endpoint{
		method:  http.MethodPost,
		path:    "/v1/files/append",
		id:      "append_file",
		summary: "Add to the end of a file",
		scope:   loci.ScopeWrite,
		writes:  true,
		value:   true,
	},
		func(ctx context.Context, c *caller, in *struct{ Body appendFile }) (*fileOutput, error) {
			return a.changeFile(c, in.Body.TreeChoice, func(t *tree.Tree) (tree.FileInfo, error) {
				return t.Append(ctx, in.Body.Path, in.Body.Content)
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/files/update", id: "update_file", summary: "Replace a text wherever it occurs in a file", scope: loci.ScopeWrite,
		writes: true, value: true},
		func(ctx context.Context, c *caller, in *struct{ Body updateFile }) (*struct{ Body replaced }, error) {
			b := &in.Body
			return inTree(a, c, b.Memory, b.Scope, func(t *tree.Tree) (replaced, error) {
				n, err := t.Update(ctx, b.Path, b.OldContent, b.Content)
				return replaced{n}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/files/move", id: "move_file", summary: "Move a file or a directory", scope: loci.ScopeWrite, writes: true,
		status: http.StatusNoContent},
		func(ctx context.Context, c *caller, in *struct{ Body moveFile }) (*struct{}, error) {
			b := &in.Body
			_, err := inTree(a, c, b.Memory, b.Scope, func(t *tree.Tree) (bool, error) {
				return true, t.Rename(ctx, b.Path, b.To)
			})
			return nil, err
		})
	route(a, endpoint{method: http.MethodGet, path: "/v1/files/versions", id: "list_file_versions", summary: "List the versions of a file that are kept", scope: loci.ScopeRead},
		func(ctx context.Context, c *caller, in *pathInput) (*struct{ Body fileVersions }, error) {
			return inTree(a, c, in.Memory, in.Scope, func(t *tree.Tree) (fileVersions, error) {
				return versionsOf(ctx, t, in.Path)
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/files/restore", id: "restore_file", summary: "Give a file the content of an earlier version again", scope: loci.ScopeWrite,
		writes: true},
		func(ctx context.Context, c *caller, in *struct{ Body restoreFile }) (*fileOutput, error) {
			return a.changeFile(c, in.Body.TreeChoice, func(t *tree.Tree) (tree.FileInfo, error) {
				return t.Restore(ctx, in.Body.Path, in.Body.Version)
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/files/search", id: "search_files", summary: "Find passages in files", scope: loci.ScopeRead}, a.searchFiles)
}

// tree opens the tree that a request chooses.
func (a *API) tree(c *caller, memory, scope string) (*tree.Tree, error) {
	thread := ""
	if scope == tool.ScopePerThread {
		if thread = c.Principal.Var(loci.VarThread); thread == "" {
			return nil, &loci.Error{Code: loci.Invalid, Err: tree.ENOTMEM, Msg: "threadId is required for perThread scope", Recovery: "Name the thread in the header Loci-Thread."}
		}
	}
	m, err := a.memory(c)
	if err != nil {
		return nil, err
	}
	return tree.Of(m, memory, thread)
}

// inTree runs do with the tree that a request chooses.
func inTree[O any](a *API, c *caller, memory, scope string, do func(*tree.Tree) (O, error)) (*struct{ Body O }, error) {
	t, err := a.tree(c, memory, scope)
	if err != nil {
		return nil, err
	}
	out, err := do(t)
	return &struct{ Body O }{out}, err
}

// changeFile is inTree for what replies with the file.
func (a *API) changeFile(c *caller, b TreeChoice, do func(*tree.Tree) (tree.FileInfo, error)) (*fileOutput, error) {
	t, err := a.tree(c, b.Memory, b.Scope)
	if err != nil {
		return nil, err
	}
	info, err := do(t)
	return &fileOutput{showFile(info)}, err
}

func (a *API) listFiles(ctx context.Context, c *caller, in *listFilesInput) (*struct{ Body fileList }, error) {
	return inTree(a, c, in.Memory, in.Scope, func(t *tree.Tree) (fileList, error) {
		page := loci.Page{Limit: in.Limit, Cursor: in.Cursor}
		list := func() ([]tree.FileInfo, string, error) { return t.ListPage(ctx, in.Path, page) }
		if in.Recursive {
			if in.Path != "/" {
				return fileList{}, loci.Errorf(loci.Invalid, "path is %.64q; with recursive it must be /", in.Path)
			}
			list = func() ([]tree.FileInfo, string, error) { return t.Files(ctx, page) }
		}
		infos, next, err := list()
		out := fileList{Files: make([]File, len(infos)), NextCursor: next}
		for i := range infos {
			out.Files[i] = showFile(infos[i])
		}
		return out, err
	})
}

func (a *API) readFile(ctx context.Context, c *caller, in *readFileInput) (*struct{ Body fileContent }, error) {
	if in.Version > 0 && (in.First > 0 || in.Last > 0) {
		return nil, loci.Errorf(loci.Invalid, "lines are those of the current version: leave out version, or first_line and last_line")
	}
	return inTree(a, c, in.Memory, in.Scope, func(t *tree.Tree) (out fileContent, err error) {
		if in.Version == 0 && in.First == 0 && in.Last == 0 {
			content, info, err := t.ReadInfo(ctx, in.Path)
			return fileContent{showFile(info), content}, err
		}
		info, err := t.Stat(ctx, in.Path)
		if err != nil {
			return out, err
		}
		out.File = showFile(info)
		if in.Version > 0 {
			return readVersion(ctx, t, out, in.Version)
		}
		out.Content, err = t.ReadLines(ctx, in.Path, max(in.First, 1), in.Last)
		return out, err
	})
}

// readVersion reads a file as it was.
func readVersion(ctx context.Context, t *tree.Tree, out fileContent, version int64) (fileContent, error) {
	kept, err := t.Versions(ctx, out.Path)
	if err != nil {
		return out, err
	}
	for _, v := range kept {
		if v.Version == version {
			out.Version, out.Bytes, out.Lines, out.UpdatedAt = v.Version, v.Bytes, v.Lines, v.WrittenAt
		}
	}
	out.Content, err = t.ReadVersion(ctx, out.Path, version)
	return out, err
}

func versionsOf(ctx context.Context, t *tree.Tree, path string) (fileVersions, error) {
	list, err := t.Versions(ctx, path)
	out := fileVersions{Versions: make([]fileVersion, len(list))}
	for i, v := range list {
		out.Versions[i] = fileVersion{
			Version:   v.Version,
			Current:   v.Current,
			Bytes:     v.Bytes,
			Lines:     v.Lines,
			WrittenAt: v.WrittenAt,
		}
		if !v.ReplacedAt.IsZero() {
			out.Versions[i].ReplacedAt = &v.ReplacedAt
		}
	}
	return out, err
}

func (a *API) searchFiles(
	ctx context.Context, c *caller, in *struct{ Body searchFiles },
) (*struct{ Body fileMatches }, error) {
	b := &in.Body
	limit, err := limitOf(b.Limit, loci.MaxSearchLimit)
	if err != nil {
		return nil, err
	}
	return inTree(a, c, b.Memory, b.Scope, func(t *tree.Tree) (fileMatches, error) {
		found, err := t.Search(ctx, tree.Query{
			Text: b.Query, Path: b.Path, Mode: b.Mode, Limit: limit, MinScore: b.MinScore,
			Rerank: b.Rerank, Since: b.Since.at, Until: b.Until.at,
		})
		out := fileMatches{Matches: make([]fileMatch, len(found.Matches)), KeywordOnly: found.KeywordOnly,
			NotReranked: found.NotReranked, Corrections: found.Corrections, Times: found.Times}
		for i := range found.Matches {
			m := &found.Matches[i]
			out.Matches[i] = fileMatch{showFile(m.File), m.First, m.Last, m.Passage, m.Score}
		}
		return out, err
	})
}
