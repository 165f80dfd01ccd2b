package rest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// A bound is how large a value of a request may be.
type bound struct {
	characters int // of a text, and of each text of a list
	entries    int // of a list
	members    int // of an object

	// list refuses a list of texts that costs too much, before it is decoded: that is most of what a
	// refusal costs.
	list func(value []byte) error
}

// wholeBody stands for as many characters as a body may have bytes: what the text may
// be is the library's to say, which knows the engine's options.
const wholeBody = -1

// largest is what an object may have by the limit on its bytes.
const largest = session.MaxMessageBytes / 4

// maxLines is the most that a line of an import may have, in bytes.
const maxLines = 32 << 20

// bounds are the limits of values of requests by name, unless a value declares its own.
// They are declared only here: the description shows them, and the schema refuses what is
// larger before anything looks into it.
var bounds = map[string]bound{
	"content":              {characters: wholeBody, entries: session.MaxMessageParts, members: largest},
	"old_content":          {characters: wholeBody},
	"trigger_prompt":       {characters: wholeBody}, // the first 16 KiB count
	"query":                {characters: wholeBody}, // of which a search takes 16 KiB, and says so
	"topic":                {characters: wholeBody},
	"cursor":               {characters: 20_000},
	"tag":                  {characters: 256},
	"tags":                 {characters: 256, entries: loci.MaxTags},
	"type":                 {characters: 256, entries: len(loci.EventTypes)},
	"types":                {entries: 16},
	"scopes":               {characters: loci.MaxLabelBytes, entries: loci.MaxScopes},
	"kind":                 {characters: loci.MaxLabelBytes},
	"kinds":                {entries: 16},
	"state":                {characters: 16},
	"reason":               {characters: wholeBody}, // of which 1 KiB is kept, and more is refused
	"to":                   {characters: 64},
	"tenant":               {characters: loci.MaxLabelBytes},
	"after":                {characters: loci.MaxLabelBytes},
	"expect":               {characters: loci.MaxLabelBytes},
	"vars":                 {characters: loci.MaxLabelBytes, members: 16},
	"tools":                {characters: loci.MaxLabelBytes, entries: 16},
	"note":                 {characters: 500},
	"butler":               {characters: loci.MaxLabelBytes},
	"filter":               {members: loci.MaxConditions},
	"metadata":             {characters: wholeBody, entries: largest, members: loci.MaxMetadataNames},
	"value":                {characters: wholeBody, entries: largest, members: largest},
	"messages":             {characters: wholeBody, entries: tree.MaxChatMessages, members: largest},
	"arguments":            {characters: wholeBody, entries: largest, members: largest},
	"namespace":            {characters: loci.MaxLabelBytes, entries: loci.MaxLabels},
	"namespace_prefix":     {characters: loci.MaxLabelBytes, entries: loci.MaxLabels},
	"prefix":               {characters: loci.MaxLabelBytes, entries: loci.MaxLabels},
	"suffix":               {characters: loci.MaxLabelBytes, entries: loci.MaxLabels},
	"key":                  {characters: item.MaxKeyBytes},
	"index":                {characters: item.MaxIndexPathBytes, entries: item.MaxIndexPaths},
	"thread_id":            {characters: checkpoint.MaxThreadBytes},
	"thread_ids":           {characters: checkpoint.MaxThreadBytes},
	"target_thread_id":     {characters: checkpoint.MaxThreadBytes},
	"run_ids":              {characters: checkpoint.MaxThreadBytes},
	"checkpoint_ns":        {characters: checkpoint.MaxGraphBytes},
	"checkpoint_id":        {characters: checkpoint.MaxID},
	"parent_checkpoint_id": {characters: checkpoint.MaxID},
	"before":               {characters: checkpoint.MaxID},
	"channel":              {characters: checkpoint.MaxChannelBytes},
	"channel_values":       {members: checkpoint.MaxChannels},
	"channel_versions":     {characters: checkpoint.MaxVersionBytes, members: checkpoint.MaxChannels},
	"writes":               {entries: checkpoint.MaxChannels},
	"task_id":              {characters: checkpoint.MaxTaskBytes},
	"task_path":            {characters: checkpoint.MaxTaskPathBytes},
	"data":                 {characters: (checkpoint.MaxValue + 2) / 3 * 4, members: largest},

	// Of an export, whose lines the library checks: none is longer than the body, and none weighs less than 2.
	"lines": {characters: maxLines, entries: intake.MaxWeight / 2, list: checkLines},

	// Of a message and of a session as a document; the library checks the rest.
	"id":           {characters: session.MaxMessageBytes, entries: loci.MaxLabels},
	"name":         {characters: session.MaxMessageBytes},
	"tool_call_id": {characters: session.MaxMessageBytes},
	"tool_calls":   {entries: session.MaxMessageParts, members: largest},
	"function":     {members: largest},
	"kwargs":       {members: largest},
	"session":      {members: largest},
	"document":     {members: largest},
	"lc":           {},
}

// maxValues is how many values may lie in a body, at all levels together: each costs
// hundreds of times what its bytes do, once it is decoded.
const maxValues = largest

// longestEscape is how many bytes JSON may write one character with: \ud83d\ude00.
const longestEscape = 12

// maxUnknown is how many members that are not known huma may name one by one.
const maxUnknown = 100

// checkSizes refuses a body, which is valid JSON, with more in it than its schemas say,
// before anything is made of it. Huma decodes all of it first, and then has a complaint
// about each member that is too many.
func (a *API) checkSizes(described *huma.RequestBody, body []byte) error {
	if described == nil || described.Content["application/json"] == nil {
		return nil
	}
	s := a.resolve(described.Content["application/json"].Schema)
	if n := jsonguard.CountValues(body); n > maxValues {
		return loci.Errorf(loci.TooLarge, "the body has %d values; the limit is %d: send less at once", n, maxValues)
	}
	return a.checkSize("body", s, bytes.TrimLeft(body, " \t\r\n"))
}

func (a *API) resolve(s *huma.Schema) *huma.Schema {
	if s.Ref == "" {
		return s
	}
	return a.huma.OpenAPI().Components.Schemas.SchemaFromRef(s.Ref)
}

// checkSize is checkSizes for the value at a place. What is of another type than it should
// be is left to huma.
func (a *API) checkSize(place string, s *huma.Schema, value []byte) error {
	switch s = a.resolve(s); {
	case value[0] == '"' && s.MaxLength != nil && len(value) > longestEscape*(*s.MaxLength)+len(`""`):
		return loci.Errorf(loci.Invalid, "%s has more than %d characters: shorten it", place, *s.MaxLength)
	case value[0] == '[' && s.MaxItems != nil && jsonguard.Count(value) > *s.MaxItems:
		return loci.Errorf(loci.Invalid, "%s has too many entries: send at most %d", place, *s.MaxItems)
	case value[0] == '[' && s.Items != nil && s.Items.Type == huma.TypeString:
		if check := bounds[place[strings.LastIndexByte(place, '.')+1:]].list; check != nil {
			return check(value)
		}
	case value[0] == '[' && s.Items != nil:
		i := -1
		return jsonguard.Each(value, func(_ string, element []byte) error {
			i++
			return a.checkSize(fmt.Sprintf("%s[%d]", place, i), s.Items, element)
		})
	case value[0] == '{' && s.MaxProperties != nil && jsonguard.Count(value) > *s.MaxProperties:
		return loci.Errorf(loci.Invalid, "%s has too many members: send at most %d", place, *s.MaxProperties)
	case value[0] == '{' && s.AdditionalProperties == false && jsonguard.Count(value) > len(s.Properties)+maxUnknown:
		return loci.Errorf(loci.Invalid, "%s has too many members: send at most %d, the known ones", place, len(s.Properties))
	case value[0] == '{':
		each, _ := s.AdditionalProperties.(*huma.Schema)
		return jsonguard.Each(value, func(name string, member []byte) error {
			p := s.Properties[name]
			if p == nil {
				p = each
			}
			if p == nil {
				return nil
			}
			return a.checkSize(place+"."+name, p, member)
		})
	}
	return nil
}

// A binder puts bounds into the schemas of requests.
type binder struct {
	schemas map[string]*huma.Schema
	most    int // characters of a text, for wholeBody
	done    map[*huma.Schema]bool
	missing []string // names without a bound
}

// bind puts bounds into what every request may hold. A value without one is a mistake
// in this package.
func (a *API) bind() error {
	api := a.huma.OpenAPI()
	b := &binder{schemas: api.Components.Schemas.Map(), most: a.opts.MaxValueBody, done: map[*huma.Schema]bool{}}
	for _, entry := range api.Paths {
		for _, op := range operationsOf(entry) {
			for _, p := range op.Parameters {
				describeQuery(p)
				b.schema(p.Name, p.Schema)
			}
			if op.RequestBody == nil {
				continue
			}
			for _, m := range op.RequestBody.Content {
				b.schema("arguments", m.Schema) // a body with names of its own is the only one beside them
			}
		}
	}
	if len(b.missing) > 0 {
		slices.Sort(b.missing)
		return loci.Errorf(loci.Internal, "no bound is declared for %s", strings.Join(slices.Compact(b.missing), ", "))
	}
	return nil
}

// of returns a limit of a name.
func (b *binder) of(name string, limit func(bound) int) *int {
	n := limit(bounds[name])
	switch n {
	case wholeBody:
		n = b.most
	case 0:
		b.missing = append(b.missing, name)
	}
	return &n
}

func characters(b bound) int { return b.characters }
func entries(b bound) int    { return b.entries }
func members(b bound) int    { return b.members }

func (b *binder) schema(name string, s *huma.Schema) {
	if s != nil && s.Ref != "" {
		s = b.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s == nil || b.done[s] {
		return
	}
	b.done[s] = true
	b.limit(name, s)
	b.schema(name, s.Items)
	if each, ok := s.AdditionalProperties.(*huma.Schema); ok && (each.Type != "" || each.Ref != "") {
		b.schema(name, each)
	}
	for member, p := range s.Properties {
		b.schema(member, p)
	}
	for _, form := range s.OneOf {
		b.schema(name, form)
	}
	b.described(name, s.Extensions)
	s.PrecomputeMessages()
}

// limit writes the bound of a name into a schema that has no bound yet.
func (b *binder) limit(name string, s *huma.Schema) {
	_, typed := s.Extensions["properties"]
	switch {
	case s.Type == huma.TypeString && s.MaxLength == nil && s.Enum == nil && s.Format != "uuid" && s.Format != "date-time":
		s.MaxLength = b.of(name, characters)
	case s.Type == huma.TypeArray && s.MaxItems == nil && s.Extensions["maxItems"] == nil:
		s.MaxItems = b.of(name, entries)
	case s.Type == huma.TypeObject && s.MaxProperties == nil && (s.AdditionalProperties != false || typed):
		s.MaxProperties = b.of(name, members)
	case s.Type == "" && s.OneOf == nil && s.MaxLength == nil: // anything
		s.MaxLength, s.MaxItems, s.MaxProperties = b.of(name, characters), b.of(name, entries), b.of(name, members)
	}
}

// described is schema for what is only described, and checked by the library.
func (b *binder) described(name string, s map[string]any) {
	switch s["type"] {
	case "string":
		if s["enum"] == nil && s["format"] == nil {
			s["maxLength"] = *b.of(name, characters)
		}
	case "array":
		if s["maxItems"] == nil {
			s["maxItems"] = *b.of(name, entries)
		}
	case "object":
		s["maxProperties"] = *b.of(name, members)
	}
	if items, ok := s["items"].(map[string]any); ok {
		b.described(name, items)
	}
	properties, _ := s["properties"].(map[string]any)
	for member, p := range properties {
		if p, ok := p.(map[string]any); ok {
			b.described(member, p)
		}
	}
	forms, _ := s["oneOf"].([]any)
	for _, form := range forms {
		if form, ok := form.(map[string]any); ok {
			b.described(name, form)
		}
	}
}
