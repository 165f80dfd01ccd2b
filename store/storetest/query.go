package storetest

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
)

var queryCases = []testCase{
	{"no query text is an error", func(b *bench) {
		b.put(record(1, "walrus"), record(2, "tenant:x NEAR(walrus telescope)"), record(3, "日本 🦭"))
		for _, q := range hostileQueries() {
			f := loci.Filter{Within: everywhere}
			if _, err := b.store.Match(b.Context(), b.tenant, words(q), f, 10); err != nil {
				b.Errorf("query %.60q: %v", q, err)
			}
			if _, err := b.store.Match(b.Context(), b.tenant, both(q, spaceA), f, 10); err != nil {
				b.Errorf("query %.60q with a vector: %v", q, err)
			}
		}
	}},
	{"no stored text is an error", func(b *bench) {
		var hostile []loci.Record
		for i, text := range hostileQueries() {
			hostile = append(hostile, record(i+1, text))
		}
		b.apply(creation(hostile...))
		b.put(record(1000, "walrus unharmed"))
		b.same("hits", b.found(words("unharmed")), ids(1000))
		b.apply(erasure(hostile...))
		b.same("hits after erasing the rest", b.found(words("unharmed")), ids(1000))
	}},
	{"operators are words like others", func(b *bench) {
		b.put(record(1, "walrus"), record(2, "telescope"), record(3, "walrus telescope"))
		for _, q := range []string{`walrus NOT telescope`, `walrus -telescope`, `walrus" "telescope`, `(walrus) & !telescope`, `walrus* telescope*`,
			`{walrus} {telescope}`, `walrus + telescope`, `^walrus ^telescope`, `$walrus $telescope`, `walrus <-> telescope`, `\walrus \telescope`} {
			b.same("hits of "+q, b.found(words(q)), ids(3, 2, 1))
		}
	}},
	{"a query names no column and no tenant", func(b *bench) {
		b.put(record(1, "walrus"))
		mine := b.tenant
		b.tenant = tenant(b, "other")
		b.put(record(2, "walrus secret"))
		b.tenant = mine
		for _, q := range []string{"tenant:other secret", "text:secret", "rowid:1 secret", "secret OR 1=1", `secret" OR "walrus`, "acme other user ada fact"} {
			for _, found := range b.found(words(q)) {
				if found == id(2) {
					b.Errorf("query %q crossed to another tenant", q)
				}
			}
		}
		b.same("hits of what is no text", b.found(words("acme other user ada fact model live")), nil)
	}},
	{"a query of thousands of words still finds", func(b *bench) {
		b.put(record(1, "walrus"))
		b.same("hits", b.found(words("walrus "+strings.Repeat("telescope ", 1500))), ids(1))
	}},
}

func hostileQueries() []string {
	queries := []string{" ", "\t\n", "'", `"`, `""`, `"""`, `'"'`, `\`, `\\"`, "(", ")", "((((", "NEAR(", "NEAR(a b, 2)", "NEAR/2", "AND", "OR", "NOT", "AND OR NOT",
		"a AND", "OR b", "*", "a*", "**", "^a", "+", "-", "-walrus", ":", "tenant:x", "{a b}:c", "text : walrus", "a:b:c", "%", "_", "?", "??", "$1", "@", ";", "--", "/*", "*/",
		"'; DROP TABLE records; --", "&", "|", "!", "<->", "a & | b", "!!!", ".", "…", "。", "、", "?!.,;:-()[]{}", "the", "the and of to", "a an the is it",
		"\x01", "\x01\x02\x03\x1f\x7f", "a\x01b", "\u0085", "\u2028", "\u202e", "\u200b", "\ufeff", "\ufffd", "\uffff", "\U0010ffff", "\u0301", "a\u0301\u0301\u0301",
		"🦭", "🦭🔭", "👩‍👩‍👧‍👦", "🇩🇪", "日", "日本", "ｗａｌｒｕｓ", "İ", "ß", "ﬁ", "ͅ", "١٢٣", "walrus\r\nwalrus", "NULL", "null", "true", "0", "1e309", "NaN",
		"$where", "{$ne: 1}", "../../etc/passwd", "<script>", "%00", "%s%n", "{{x}}", "${x}"}
	for _, part := range []string{"a", "walrus ", "\"", "(", "a b ", "日", "🦭", "\u0301", "*", "x-", "\x01 "} {
		queries = append(queries, strings.Repeat(part, 10_000/len(part)))
	}
	var distinct strings.Builder
	for n := range 1500 {
		fmt.Fprintf(&distinct, "w%d ", n)
	}
	return append(queries, distinct.String())
}
