package retrieval

import (
	"slices"
	"strings"
	"testing"
)

// saidOf are the roles that a text gives names, as "role name".
func saidOf(text string) (out []string) {
	role := ""
	Analyze(text, func(token Token) {
		if token.Kind == Role {
			role = token.Text[1:]
		}
		if name, ok := BearerOf(token.Text); ok && token.Kind == Bearer {
			out = append(out, role+" "+name)
		}
	})
	return out
}

// A text says who bears a role where a name stands beside a word for it that is the writer's own.
// Chinese writes a role and a name without a space between them.
func TestChineseRoles(t *testing.T) {
	for text, want := range map[string]string{
		"我堂弟周志强在银行上班":    "堂弟 周志",
		"我的室友林刚的电话是123":  "室友 林刚",
		"我女儿叫李娜。":        "女儿 李娜",
		"我女儿名叫米娅":        "女儿 米娅",
		"胡敏是我嫂子。":        "嫂子 胡敏",
		"昨天，我们的高中同学林芳来了": "高中同学 林芳",
		"胡敏是我嫂子李娜的同学":    "嫂子 李娜",
		"胡敏我嫂子":          "",
		"我妈去了，我爸王强没去":    "爸爸 王强",
		"我女儿高兴地笑了":       "",
		"我妈妈马上就来":        "",
		"我妈妈叫我起床":        "",
		"我堂弟是8月27日出生的":   "",
		"那个人是我老板":        "",
		"我":              "",
		"我女儿高":           "",
		"他堂弟周志强":         "",
	} {
		got := ""
		Analyze(text, func(k Token) {
			if k.Kind == Role || k.Kind == Bearer {
				got += " " + k.Text[1:]
			}
		})
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for query, want := range map[string]string{"我堂弟在哪上班？": "堂弟", "我的高中同学多大": "高中同学", "堂弟在哪": "", "我在哪": ""} {
		got := ""
		for _, w := range Parse(query, 20).Words {
			for _, role := range w.Roles {
				got += role[1:]
			}
		}
		if got != want {
			t.Errorf("%s: role %q, want %q", query, got, want)
		}
	}
}

func TestTextsSayWhoBearsARole(t *testing.T) {
	for text, want := range map[string]string{
		"My daughter Mia is nine.":                           "daughter mia",
		"Took our old dog Rex to the vet":                    "dog rex",
		"my best friend Tess and I":                          "friend tess",
		"Dinner with my sister-in-law Griet":                 "sisterinlaw griet",
		"My dog, Rex, ate a sock":                            "dog rex",
		"My dentist is Dr. Yilmaz":                           "dentist yilmaz",
		"My doctor, Dr. Sofie Lemmens, says":                 "doctor sofie",
		"My roommate is Shira, who plays":                    "roommate shira",
		"Our cat is called Biscuit":                          "cat", // an English word: no name behind "is"
		"Our cat is called Minka":                            "cat minka",
		"My daughter's name is Ida":                          "daughter ida",
		"I gave my daughter Mia's bow away":                  "daughter mia",
		"Anna is my daughter":                                "daughter anna",
		"We met Tess, my boss, in town":                      "boss tess",
		"Our daughters Mia and Ida swim":                     "daughter mia, daughter ida",
		"ann: my husband Pieter called":                      "spouse pieter",
		"Meine Mutter Ingrid hat Geburtstag":                 "mother ingrid",
		"Unser Hund heißt Rex":                               "dog rex",
		"Notre chien s'appelle Médor":                        "dog medor",
		"J'ai vu ma sœur Élodie":                             "sister elodie",
		"Mi amiga Lucía vive en Valencia":                    "friend lucia",
		"Моя подруга Ольга работает":                         "girlfriend ольга",
		"I saw my sister Grace there":                        "sister grace",
		"Sat with my mother Rose. My mother Rose, she said.": "mother rose, mother rose",
	} {
		if want == "cat" {
			want = ""
		}
		if got := strings.Join(saidOf(text), ", "); got != want {
			t.Errorf("%q says %q; want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"Her daughter Mia is nine", "the dog Rex", "My daughter is nine", "My daughter's friend Noor came", "Meet my daughter, Caroline!",
		"My daughter Monday", "my painting Mel", "taught my son German", "My dad I think", "My boss is German",
		"my son-Tom", "Heute hat mein Sohn Fieber", "weil meine Frau Angst hat", "Mein Sohn ist Lehrer", "Yes, my daughter is tall",
		"Today is my mother's birthday", "Anna is my daughter-of-sorts", "my daughter. Mia came", "my daughter (Mia)", "My daughter met Mia",
		"my daughter Mia2 and my son McDonald", "My", "my daughter", "",
	} {
		if got := saidOf(text); got != nil {
			t.Errorf("%q says %q; want nothing", text, got)
		}
	}
}

// A query looks for the bearers of the roles that its words name; what a hyphen joins is one role.
func TestQueriesNameRoles(t *testing.T) {
	for query, want := range map[string]string{
		"What is my daughter allergic to?": "daughter: daughter",
		"Tochter Allergie":                 "tochter: daughter",
		"mother-in-law birthday":           "motherinlaw: motherinlaw",
		"does our pet bite":                "pet: dog cat horse rabbit parrot hamster tortoise",
		"is a pet allowed":                 "", // anybody's
		"her siblings":                     "siblings: brother sister",
		"and their partner Jo":             "partner: spouse girlfriend boyfriend fiance",
		"a partner":                        "partner: spouse",
		"friends":                          "", // many
		"the walrus":                       "",
	} {
		var got []string
		for _, w := range Parse(query, 40).Words {
			if len(w.Roles) > 0 {
				got = append(got, w.Word()+": "+strings.ReplaceAll(strings.Join(w.Roles, " "), string(rune(roleMark)), ""))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q names %q; want %q", query, s, want)
		}
	}
}

// Words for roles are as texts are folded, or they are never met.
func TestRolesAreFolded(t *testing.T) {
	for _, words := range []map[string]string{roleOf, broadRoles} {
		for word := range words {
			if Fold(word) != word || stopWords[word] {
				t.Errorf("%q is never met", word)
			}
		}
	}
	var known []string
	for _, role := range roleOf {
		known = append(known, role)
	}
	for word, all := range broadRoles {
		for role := range strings.FieldsSeq(all) {
			if !slices.Contains(known, role) {
				t.Errorf("%q stands for %q, which nobody bears", word, role)
			}
		}
	}
}

// A query names roles by 我 before them, wherever that is, and by 那位 before or behind what sets somebody apart.
func TestChineseRolesOfAQuery(t *testing.T) {
	for query, want := range map[string]string{
		"我爸爸和我妈妈谁大":      "爸爸 妈妈",
		"我的大学同学跟我邻居":     "大学同学 邻居",
		"那个同事在哪上班":       "同事",
		"那位做建筑师的高中同学多大":  "高中同学",
		"老家在哈尔滨的那个同事的生日": "同事",
		"生日在7月2日的那个室友多高": "室友",
		"那个17岁的上司是哪里人":   "上司",
		"今年17岁的上司是哪里人":   "",
		"张伟的上司是哪里人":      "",
		"那个城市":           "",
		"我和我的":           "",
		"上司那里有那个":        "",
		"哪家公司的同事":        "",
		"我同事的上司":         "同事",
		"我的那个":           "",
		"我女儿":            "女儿",
		"我外甥女的生日":        "外甥女",
	} {
		var got []string
		for _, w := range Parse(query, 40).Words {
			for _, role := range w.Roles {
				got = append(got, role[1:])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestWhatDescribesSomebody(t *testing.T) {
	for query, want := range map[string]string{
		"老家在济南的那个人是做什么的": "老家在济南", "喜欢钓鱼的人是谁": "喜欢钓鱼", "住在北京的那位叫什么": "住在北京",
		"那个人是谁": "", "我同事多大了": "", "the one who lives in Oslo": "", "": "",
	} {
		if got := DescriptionOf(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// A role has words in several languages, or in Chinese, and other terms have none.
func TestWordsOfARole(t *testing.T) {
	for word, among := range map[string]string{"dad": "vater", "爸": "父亲"} {
		if got := RoleWords(RolesOf(word)[0]); !slices.Contains(got, among) || !slices.IsSorted(got) {
			t.Errorf("%s is also %q", word, got)
		}
	}
	if got := RoleWords("dad"); got != nil {
		t.Errorf("no role: %q", got)
	}
}

// A pair of characters follows the one that it shares a character with, in the same run.
func TestPairsFollowOneAnother(t *testing.T) {
	words := Parse("袁宇轩，宇轩，Ann Bo", 20).Words
	at := map[string]*QueryWord{}
	for i := range words {
		at[words[i].Term] = &words[i]
	}
	for pair, want := range map[[2]string]bool{{"宇轩", "袁宇"}: true, {"袁宇", "宇轩"}: false, {"bo", "ann"}: false} {
		if got := at[pair[0]].Follows(at[pair[1]]); got != want {
			t.Errorf("%s: %v", pair, got)
		}
	}
}
