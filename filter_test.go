package loci_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

func parseFilter(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var filter map[string]any
	if err := d.Decode(&filter); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return filter
}

// TestWhere compares as LangGraph's stores do, and shows where ours is stricter.
func TestWhere(t *testing.T) {
	const vast = "1234567890123456789012345678901234567890123456789012345678901234567890" // longer than what is compared by value
	const doc = `{"s":"abc","n":5,"f":5.0,"big":9007199254740993,"t":true,"z":null,"date":"2026-03-01","num":"10",
		"o":{"a":1,"b":{"c":[1,2]}},"l":[1,"x",{"k":2}],"e":[],"$weird":1,"a.b":2,"x'; DROP TABLE record; --":3,
		"huge":12345678901234567890123456789012345678901234567890,"exp":1e400,"vast":` + vast + `}`
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{`{}`, true},
		{`{"s":"abc"}`, true}, {`{"s":"ABC"}`, false}, {`{"s":"ab"}`, false}, {`{"s":"%"}`, false}, {`{"s":"*"}`, false},
		{`{"n":5}`, true}, {`{"n":5.0}`, true}, {`{"n":50e-1}`, true}, {`{"f":5}`, true}, {`{"n":"5"}`, false}, {`{"num":10}`, false},
		{`{"big":9007199254740993}`, true}, {`{"big":9007199254740992}`, false}, {`{"big":{"$gt":9007199254740992}}`, true},
		{`{"huge":12345678901234567890123456789012345678901234567890}`, true},
		{`{"huge":12345678901234567890123456789012345678901234567891}`, false},
		{`{"vast":` + vast + `}`, true}, {`{"vast":` + vast + `0}`, false}, {`{"vast":{"$ne":` + vast + `}}`, false},
		{`{"vast":{"$gte":` + vast + `}}`, false}, // no order
		{`{"exp":1e400}`, true}, {`{"exp":{"$gt":1e399}}`, true}, {`{"exp":{"$lt":1e999999999}}`, true},
		{`{"t":true}`, true}, {`{"t":1}`, false}, {`{"t":false}`, false}, {`{"t":"true"}`, false},
		{`{"z":null}`, true}, {`{"missing":null}`, true}, {`{"missing":1}`, false}, {`{"z":0}`, false}, {`{"z":false}`, false}, {`{"z":""}`, false},
		{`{"o":{"a":1}}`, true}, {`{"o":{"a":2}}`, false}, {`{"o":{"b":{"c":[1,2]}}}`, true}, {`{"o":{"b":{"c":[1]}}}`, false},
		{`{"o":{"q":null}}`, true}, {`{"o":{}}`, true}, {`{"s":{}}`, false}, {`{"missing":{}}`, false}, {`{"o":1}`, false},
		{`{"l":[1,"x",{"k":2}]}`, true}, {`{"l":[1,"x",{}]}`, true}, {`{"l":[{"$gt":0},"x",{"k":{"$lte":2}}]}`, true},
		{`{"l":["x",1,{"k":2}]}`, false}, {`{"l":[1,"x"]}`, false}, {`{"l":"x"}`, false}, {`{"e":[]}`, true}, {`{"e":null}`, false},
		{`{"n":{"$eq":5}}`, true}, {`{"n":{"$eq":"5"}}`, false}, {`{"n":{"$ne":5}}`, false}, {`{"n":{"$ne":"5"}}`, true},
		{`{"missing":{"$ne":1}}`, true}, {`{"missing":{"$eq":null}}`, true}, {`{"missing":{"$gt":0}}`, false}, {`{"missing":{"$lt":0}}`, false},
		{`{"n":{"$gt":4}}`, true}, {`{"n":{"$gt":5}}`, false}, {`{"n":{"$gte":5}}`, true}, {`{"n":{"$lt":5}}`, false}, {`{"n":{"$lte":5}}`, true},
		{`{"n":{"$gt":4,"$lt":6}}`, true}, {`{"n":{"$gt":4,"$lt":5}}`, false},
		{`{"num":{"$gt":9}}`, true}, {`{"n":{"$lt":"10"}}`, true}, {`{"num":{"$gt":"9"}}`, false}, {`{"s":{"$gt":1}}`, false},
		{`{"date":{"$gte":"2026-01-01","$lt":"2027"}}`, true}, {`{"date":{"$gt":"2026-03-01T00:00"}}`, false},
		{`{"t":{"$gt":0}}`, false}, {`{"l":{"$gt":0}}`, false}, {`{"o":{"$gt":0}}`, false}, {`{"z":{"$gte":null}}`, false},
		{`{"o":{"$eq":{"a":1,"b":{"c":[1,2]}}}}`, true}, {`{"o":{"$eq":{"a":1}}}`, false}, {`{"l":{"$ne":[1]}}`, true},
		{`{"o":{"a":{"$gte":1}}}`, true},
		{`{"a.b":2}`, true}, {`{"o.a":1}`, false}, {`{"x'; DROP TABLE record; --":3}`, true}, {`{"' OR 1=1 --":null}`, true}, {`{"$.o":1}`, false},
		{`{"s":"abc","n":6}`, false},
	} {
		w, err := loci.ParseWhere(parseFilter(t, c.filter))
		if strings.HasPrefix(c.filter, `{"$`) {
			locitest.WantCode(t, err, loci.Invalid)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		r := loci.Record{Kind: item.Kind, Attributes: json.RawMessage(doc)}
		if got := w.Match(&r); got != c.want {
			t.Errorf("%s matches: %v", c.filter, got)
		}
	}
}

func TestWhereOnFacts(t *testing.T) {
	where := func(filter string) loci.Where {
		w, err := loci.ParseWhere(parseFilter(t, filter))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	plain := loci.Record{Kind: loci.KindFact, Text: "likes tea"}
	structured := loci.Record{Kind: loci.KindFact, Attributes: json.RawMessage(`{"content":{"kind":"drink","n":1},"n":2}`)}
	for _, c := range []struct {
		filter string
		r      *loci.Record
		want   bool
	}{
		{`{"content":"likes tea"}`, &plain, true},
		{`{"content":"likes"}`, &plain, false},
		{`{"kind":"drink"}`, &structured, true},
		{`{"n":2}`, &structured, true}, // metadata comes before content
		{`{"n":1}`, &structured, false},
		{`{"content":{"kind":"drink"}}`, &structured, true},
	} {
		if got := where(c.filter).Match(c.r); got != c.want {
			t.Errorf("%s matches: %v", c.filter, got)
		}
	}
	item := loci.Record{Kind: item.Kind, Text: "likes tea", Attributes: json.RawMessage(`{"content":{"kind":"drink"}}`)}
	if where(`{"content":"likes tea"}`).Match(&item) || where(`{"kind":"drink"}`).Match(&item) {
		t.Error("an item is read as a fact")
	}
	for _, damaged := range []string{`[]`, `1`, `{`, `null`, `{"a":1} x`} {
		r := loci.Record{Kind: item.Kind, Attributes: json.RawMessage(damaged)}
		if where(`{"a":null}`).Match(&r) {
			t.Errorf("attributes %s match", damaged)
		}
	}
}

func TestWhereRefuses(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20)
	for filter, want := range map[string]string{
		`{"a":{"$regex":".*"}}`:           "Unsupported operator: $regex. Must be one of $eq, $ne, $gt, $gte, $lt, $lte",
		`{"a":{"$gt":1,"b":2}}`:           "Unsupported operator: b. Must be one of $eq, $ne, $gt, $gte, $lt, $lte",
		`{"a":{"b":[{"$in":[1]}]}}`:       "Unsupported operator: $in. Must be one of $eq, $ne, $gt, $gte, $lt, $lte",
		`{"a":{"$eq":{"$where":"1==1"}}}`: "Unsupported operator: $where. Must be one of $eq, $ne, $gt, $gte, $lt, $lte",
		`{"$or":[]}`:                      `filter: operator $or needs a field, as in {"field": {"$or": value}}`,
		deep:                              "filter is nested deeper than 16 levels: flatten it",
	} {
		_, err := loci.ParseWhere(parseFilter(t, filter))
		locitest.WantCode(t, err, loci.Invalid)
		if err == nil || err.Error() != want {
			t.Errorf("%.60s: error %v, want %s", filter, err, want)
		}
	}
	_, err := loci.ParseWhere(map[string]any{"a": func() {}})
	locitest.WantCode(t, err, loci.Invalid)
}

func TestWhereKeepsNoCallerMemory(t *testing.T) {
	list := []any{"a"}
	filter := map[string]any{"k": list}
	w, err := loci.ParseWhere(filter)
	if err != nil {
		t.Fatal(err)
	}
	list[0], filter["k"] = "b", "c"
	if !w.Match(&loci.Record{Attributes: json.RawMessage(`{"k":["a"]}`)}) {
		t.Error("the condition changed with its source")
	}
}

func FuzzWhere(f *testing.F) {
	f.Add(`{"a":{"$gt":1}}`, `{"a":2}`)
	f.Add(`{"a":[1,{"b":null}]}`, `{"a":[1,{"c":"1e99999999999"}]}`)
	f.Add(`{"a":{"$lte":"Inf"}}`, `{"a":-1e2147483648}`)
	f.Fuzz(func(t *testing.T, filter, doc string) {
		var in map[string]any
		d := json.NewDecoder(strings.NewReader(filter))
		d.UseNumber()
		if d.Decode(&in) != nil {
			return
		}
		w, err := loci.ParseWhere(in)
		if err != nil {
			return
		}
		r := loci.Record{Kind: loci.KindFact, Text: filter, Attributes: json.RawMessage(doc)}
		first := w.Match(&r)
		if again := w.Match(&r); first != again {
			t.Errorf("%s on %s: %v, then %v", filter, doc, first, again)
		}
	})
}

func TestSlotRanges(t *testing.T) {
	for _, c := range []struct {
		r       loci.SlotRange
		in, out []string
	}{
		{loci.SlotRange{}, []string{"", "a", "\xff"}, nil},
		{loci.SlotRange{From: "a"}, []string{"a", "a\x00", "b", "\xff"}, []string{"", "A"}},
		{loci.SlotRange{To: "b"}, []string{"\x00", "a", "a\xff"}, []string{"", "b", "ba"}},
		{loci.SlotRange{From: "b", To: "a"}, nil, []string{"", "a", "b"}},
		{loci.SlotsBeginning(""), []string{"", "a"}, nil},
		{loci.SlotsBeginning("a/"), []string{"a/", "a/\x00", "a/1", "a/\xff\xff"}, []string{"", "a", "a.", "a0", "b"}},
		{loci.SlotsBeginning("a\xff"), []string{"a\xff", "a\xff\xff"}, []string{"a", "a\xfe", "b"}},
		{loci.SlotsBeginning("a\xfe"), []string{"a\xfe", "a\xfe\xff"}, []string{"a", "a\xfd", "a\xff"}},
		{loci.SlotsBeginning("\xff"), []string{"\xff", "\xff\xff"}, []string{"", "\xfe"}},
	} {
		for _, slot := range c.in {
			if !c.r.Contains(slot) {
				t.Errorf("%q leaves out %q", c.r, slot)
			}
		}
		for _, slot := range c.out {
			if c.r.Contains(slot) {
				t.Errorf("%q contains %q", c.r, slot)
			}
		}
	}
}

// TestFactsAreFilteredByTheirKey: subject and predicate are conditions like metadata, for a
// list and for a search. For a fact with a key they mean the key, whatever its metadata say.
func TestFactsAreFilteredByTheirKey(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		old := locitest.StoreFact(t, m, loci.NewFact{Content: "red", Subject: "user", Predicate: "favorite_color"}).ID
		blue := locitest.StoreFact(t, m, loci.NewFact{Content: "blue", Subject: "user", Predicate: "favorite_color",
			Metadata: map[string]any{"subject": "shadow"}}).ID
		note := locitest.StoreFact(t, m, loci.NewFact{Content: "blue whales", Metadata: map[string]any{"subject": "whale"}}).ID
		for _, c := range []struct {
			filter  string
			history bool
			want    []loci.ID
		}{
			{`{"subject":"user"}`, false, []loci.ID{blue}},
			{`{"subject":"user"}`, true, []loci.ID{blue, old}},
			{`{"subject":"user","predicate":"favorite_color"}`, false, []loci.ID{blue}},
			{`{"subject":"user","predicate":"home"}`, false, nil},
			{`{"subject":"User"}`, false, nil},
			{`{"subject":"shadow"}`, false, nil},
			{`{"subject":"whale"}`, false, []loci.ID{note}},
			{`{"predicate":{"$gte":"f"}}`, false, []loci.ID{blue}},
			{`{"subjects":"user"}`, false, nil},
		} {
			where, err := loci.ParseWhere(parseFilter(t, c.filter))
			if err != nil {
				t.Fatal(err)
			}
			facts, _, err := m.Facts(t.Context(), loci.FactQuery{Where: where, History: c.history}, loci.Page{})
			var listed, searched []loci.ID
			for _, f := range facts {
				listed = append(listed, f.ID)
			}
			if err != nil || !sameIDs(listed, c.want) {
				t.Errorf("list by %s: %v, %v; want %v", c.filter, listed, err, c.want)
			}
			if c.history {
				continue
			}
			for _, match := range locitest.Search(t, m, loci.Query{Text: "blue", Where: where}).Matches {
				searched = append(searched, match.Record.ID)
			}
			if !sameIDs(searched, c.want) {
				t.Errorf("search by %s: %v; want %v", c.filter, searched, c.want)
			}
		}
	})
}

// TestWhenAFilterSelects: what a filter says of a moment decides together with what each record
// is at that moment.
func TestWhenAFilterSelects(t *testing.T) {
	now := locitest.NewClock().Now()
	in := now.Add
	records := map[string]loci.Record{
		"fresh":   {Live: true},
		"steady":  {Live: true, Decay: loci.Decay{Confidence: 0.1}}, // faint, and stays so
		"later":   {Live: true, DueAt: in(time.Hour), EndsAt: in(2 * time.Hour)},
		"due":     {Live: true, DueAt: now, EndsAt: in(time.Hour)},
		"fading":  {Live: true, DueAt: in(time.Hour), EndsAt: in(time.Hour)},
		"ended":   {Live: true, DueAt: now, EndsAt: now},
		"gone":    {},
		"expired": {Live: true, ExpiresAt: now},
	}
	for want, f := range map[string]loci.Filter{
		"due fading fresh later steady":               {At: now},
		"due ended expired fading fresh later steady": {},
		"due ended fading fresh gone later steady":    {At: now, NotLive: true},
		"gone":                    {At: now, NotLive: true, Gone: true},
		"due fading steady":       {At: now, Waning: true},
		"due ended fading steady": {At: now, NotLive: true, Waning: true},
		"ended":                   {At: now, NotLive: true, Ended: true},
		"expired":                 {At: now, Expired: true},
		"due fading fresh later":  {At: now, MinConfidence: 0.2},
		"due ended":               {At: now, NotLive: true, Due: now},
		"due ended expired fading fresh gone later": {At: in(-time.Minute), NotLive: true, Until: in(1), MinConfidence: 0.2, Statuses: []string{"", "x"}},
		"": {At: now, NotLive: true, Since: in(1)},
	} {
		f.Within = []loci.Namespace{{"u"}}
		var selected []string
		for name, r := range records {
			if r.Namespace, r.CreatedAt = (loci.Namespace{"u"}), now; f.Selects(&r) {
				selected = append(selected, name)
			}
		}
		slices.Sort(selected)
		if got := strings.Join(selected, " "); got != want {
			t.Errorf("%+v selects %q; want %q", f, got, want)
		}
	}
}

// TestTraceOfAMember: a store can leave out records whose body cannot have the member that is asked for.
func TestTraceOfAMember(t *testing.T) {
	for _, name := range []string{"", "harmful_count"} {
		f := loci.Filter{Where: loci.Where{Member: name}}
		if got := f.Trace().Member; got != name {
			t.Errorf("the trace has the member %q; want %q", got, name)
		}
	}
}

// A record that cannot meet a condition is told by the bytes of its attributes: its JSON is not read.
func TestWhatCannotBeSelectedIsNotRead(t *testing.T) {
	r := loci.Record{Kind: loci.KindFact, Attributes: json.RawMessage(`{"colour":"red","n":17,"name":"a longer text beside it"}`)}
	for _, filter := range []map[string]any{
		{"colour": "blue"}, {"n": -1}, {"n": map[string]any{"$gt": 20}}, {"size": "red"}, {"name": map[string]any{"$lt": "a"}},
	} {
		where, err := loci.ParseWhere(filter)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if where.Match(&r) {
				t.Errorf("%v selects %s", filter, r.Attributes)
			}
		}); n > 0 {
			t.Errorf("%v is looked for in JSON: %v allocations", filter, n)
		}
	}
}
