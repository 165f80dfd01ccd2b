package secret

import "strings"

// A format is a kind of token that is told by its prefix.
type format struct {
	prefix   string
	alphabet uint16 // classes of what follows the prefix
	min      int    // bytes that follow
	max      int    // 0: any number; else only for alphabets of letters and digits
	run      int    // the token holds a digit and this many letters and digits in a row
	keep     int    // bytes of the prefix that stay readable
}

// formats lists the formats, most special prefix first where one begins another.
func formats() []format {
	list := []format{
		{prefix: "eyJ"}, // JSON web token: see jwt
		{prefix: "AIza", alphabet: url64, min: 35},
		{prefix: "GOCSPX-", alphabet: url64, min: 24},
		{prefix: "ya29.", alphabet: url64 | dot, min: 20},
		{prefix: "github_pat_", alphabet: ident, min: 22},
		{prefix: "sk-ant-", alphabet: url64, min: 20},
		{prefix: "sk-lf-", alphabet: hex | dash, min: 36},
		{prefix: "sk-proj-", alphabet: url64, min: 35},
		{prefix: "sk-svcacct-", alphabet: url64, min: 35},
		{prefix: "sk-admin-", alphabet: url64, min: 35},
		{prefix: "sk-", alphabet: url64, min: 20, run: 20},
		{prefix: "loci_", alphabet: ident, min: 86}, // our own keys
		{prefix: "sk_", alphabet: word, min: 40},
		{prefix: "SG.", alphabet: url64 | dot, min: 50},
		{prefix: "SK", alphabet: hex, min: 32, max: 32},
		{prefix: "pypi-AgE", alphabet: url64, min: 50},
		{prefix: "dapi", alphabet: hex, min: 32, max: 32},
		{prefix: "v1.0-", alphabet: hex | dash, min: 150}, // Cloudflare origin CA
		{prefix: "dp.", alphabet: word | dot, min: 40},
		{prefix: "hvs.", alphabet: url64, min: 24},
		{prefix: "hvb.", alphabet: url64, min: 24},
		{prefix: "dt0c01.", alphabet: word | dot, min: 80},
		{prefix: "ATATT3", alphabet: url64 | equals, min: 60},
		{prefix: "ATBB", alphabet: word, min: 32, max: 40},
		{prefix: "LTAI", alphabet: word, min: 20, max: 20},
		{prefix: "AGE-SECRET-KEY-1", alphabet: upper | digit, min: 58, max: 58},
		{prefix: "key-", alphabet: hex, min: 32, max: 32}, // Mailgun
		{prefix: "xkeysib-", alphabet: word | dash, min: 64},
		{prefix: "PMAK-", alphabet: hex | dash, min: 50},
		{prefix: "sq0atp-", alphabet: url64, min: 22},
		{prefix: "sq0csp-", alphabet: url64, min: 40},
		{prefix: "FlyV1 fm2_", alphabet: std64 | underscore, min: 60},
	}
	group := func(alphabet uint16, least, most int, prefixes ...string) {
		for _, p := range prefixes {
			list = append(list, format{prefix: p, alphabet: alphabet, min: least, max: most})
		}
	}
	group(upper|digit, 16, 16, "AKIA", "ASIA", "ABIA", "ACCA")
	group(word, 36, 0, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "glc_", "tfp_")
	group(url64, 20, 0, "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-")
	group(word|dash, 10, 0, "xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-")
	group(word, 16, 0, "sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_")
	group(word, 30, 0, "hf_", "gsk_", "r8_", "pplx-", "xai-", "lin_api_", "ntn_", "rubygems_", "cio", "fly_", "nfp_")
	group(ident|dash, 24, 0, "tvly-", "lsv2_pt_", "lsv2_sk_", "pcsk_", "sbp_", "sb_secret_", "figd_", "dckr_pat_", "pscale_tkn_", "pscale_pw_", "HRKU-", "glsa_", "sntrys_")
	group(hex, 64, 64, "dop_v1_", "doo_v1_", "dor_v1_")
	group(hex, 32, 32, "shpat_", "shpss_", "shpca_", "shppa_")
	group(word, 40, 0, "cfk_", "cfut_", "cfat_")
	for _, p := range []string{"Bearer ", "bearer ", "BEARER "} {
		list = append(list, format{prefix: p, alphabet: token68, min: 20, run: 8, keep: len(p)})
	}
	for _, p := range []string{"hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"} {
		list = append(list, format{prefix: p, alphabet: url64 | slash, min: 24, run: 8, keep: len(p)})
	}
	return list
}

// token returns the token that starts at i.
func (s *scanner) token(i int) (Span, bool) {
	if i+1 >= len(s.text) || s.pairs[uint(s.text[i])<<2|uint(s.text[i+1])>>6]&(1<<(s.text[i+1]&63)) == 0 {
		return Span{}, false
	}
	list := s.formats[s.text[i]]
	for n := range list {
		f := &list[n]
		if !strings.HasPrefix(s.text[i:], f.prefix) {
			continue
		}
		if f.min == 0 {
			return s.jwt(i)
		}
		start := i + len(f.prefix)
		end := s.look(start, f.alphabet)
		if n := end - start; n < f.min || f.max != 0 && n > f.max || !s.random(start, end, f) {
			continue
		}
		if end = s.run(end, f.alphabet); s.tokenEnd(end) {
			return Span{i + f.keep, end}, true
		}
	}
	return Span{}, false
}

// tokenEnd reports whether a token that ends at end is not cut out of a word.
func (s *scanner) tokenEnd(end int) bool {
	return end == len(s.text) || s.class[s.text[end]]&word == 0
}

// random tells tokens from names that happen to begin alike: a token mixes at
// least two of small letters, capitals and digits.
func (s *scanner) random(start, end int, f *format) bool {
	classes := s.all(start, end)
	kinds := 0
	for _, c := range []uint16{lower, upper, digit} {
		if classes&c != 0 {
			kinds++
		}
	}
	if kinds < 2 || f.run == 0 {
		return kinds >= 2
	}
	longest := 0
	for i := start; i < end; i++ {
		stop := s.look(i, word)
		longest, i = max(longest, stop-i), max(stop, i)
	}
	return classes&digit != 0 && longest >= f.run
}

// jwt returns the token of three base64url parts, or of two when it is unsigned,
// that starts at i with the letters every JSON object starts with.
func (s *scanner) jwt(i int) (Span, bool) {
	head := s.look(i, url64)
	for n := 0; n < 8 && head-i == (n+1)*maxLook; n++ { // 2 KiB: some heads hold a key
		head = s.look(head, url64)
	}
	if head-i < 12 || !strings.HasPrefix(s.text[head:], ".") {
		return Span{}, false
	}
	body := s.run(head+1, url64)
	if body-head < 12 || !strings.HasPrefix(s.text[body:], ".") {
		return Span{}, false
	}
	end := s.run(body+1, url64|dot) // an encrypted one has five parts
	return Span{i, end}, true
}

// telegram returns the bot token around the colon at i: the bot's number, then 35
// bytes that begin with AA.
func (s *scanner) telegram(i int) (Span, bool) {
	if !strings.HasPrefix(s.text[i+1:], "AA") {
		return Span{}, false
	}
	start := i
	for start > s.previous() && i-start <= 10 && s.class[s.text[start-1]]&digit != 0 {
		start--
	}
	if end := s.run(i+1, url64); i-start >= 8 && i-start <= 10 && end-i-1 >= 33 {
		return Span{start, end}, true
	}
	return Span{}, false
}
