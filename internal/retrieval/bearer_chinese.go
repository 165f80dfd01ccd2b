package retrieval

import (
	"strings"
	"unicode/utf8"
)

// Chinese puts no space between a role and a name: 我堂弟周志强在银行上班. A name is told by its surname, or by 叫
// before it. How long it is nobody can tell, so a bearer is its first two characters, which a search looks for as a pair.

// chineseRoles are words for what somebody is to a writer, each with its role.
var chineseRoles = wordMap(`女儿 闺女=女儿 儿子=儿子 哥哥 大哥 二哥=哥哥 姐姐 大姐 二姐=姐姐 弟弟 小弟=弟弟 妹妹 小妹=妹妹 妈妈 母亲 妈 老妈=妈妈 爸爸 父亲 爸 老爸=爸爸
	爷爷=爷爷 奶奶=奶奶 外公 姥爷=外公 外婆 姥姥=外婆 老婆 妻子 太太 爱人 媳妇=老婆 老公 丈夫 先生=老公 女朋友 女友=女朋友 男朋友 男友=男朋友
	朋友 好友 好朋友 老朋友=朋友 未婚妻=未婚妻 未婚夫=未婚夫 前妻=前妻 前夫=前夫 前女友=前女友 前男友=前男友 叔叔 叔父=叔叔 伯伯 伯父 大伯=伯伯
	伯母=伯母 舅舅 舅父=舅舅 姑姑 姑妈=姑姑 阿姨=阿姨 小姨=小姨 姨妈 大姨=姨妈 婶婶 婶子=婶婶 舅妈=舅妈 姑父 姑夫=姑父 姨父 姨夫=姨父 继父=继父 继母=继母
	养父=养父 养母=养母 干爹=干爹 干妈=干妈 堂哥=堂哥 堂弟=堂弟 堂姐=堂姐 堂妹=堂妹 表哥=表哥 表弟=表弟 表姐=表姐 表妹=表妹
	嫂子 嫂嫂=嫂子 弟媳 弟妹=弟媳 姐夫=姐夫 妹夫=妹夫 侄子=侄子 侄女=侄女 外甥=外甥 外甥女=外甥女 孙子=孙子 孙女=孙女 外孙=外孙 外孙女=外孙女 岳父=岳父 岳母=岳母
	公公=公公 婆婆=婆婆 儿媳=儿媳 女婿=女婿 亲家=亲家 邻居=邻居 上司 领导=上司 老板=老板 老板娘=老板娘 经理=经理 总监=总监 主管=主管 主任=主任 组长=组长 队长=队长 班长=班长
	店长=店长 下属=下属 同事 老同事=同事 助理=助理 秘书=秘书 实习生=实习生 徒弟=徒弟 师傅=师傅 师兄=师兄 师姐=师姐 师弟=师弟 师妹=师妹
	同学 老同学=同学 大学同学=大学同学 高中同学=高中同学 初中同学=初中同学 小学同学=小学同学 校友=校友 同桌=同桌 室友 舍友=室友 房东=房东 房客 租客=房客 老师=老师 班主任=班主任
	辅导员=辅导员 导师=导师 教授=教授 医生=医生 牙医=牙医 律师=律师 会计=会计 教练 私教=教练 家教=家教 保姆=保姆 月嫂=月嫂 司机=司机 中介=中介 客户=客户 供应商=供应商 学生=学生
	战友=战友 队友=队友 球友=球友 网友=网友 笔友=笔友 老乡=老乡 搭档=搭档 合伙人=合伙人 闺蜜=闺蜜 发小=发小`)

// longestChineseRole is how many characters a role has at most.
const longestChineseRole = 4

// surnames are those of most people. Those that begin many other words are left out, and so are some pairs.
const surnames = `王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付` +
	`方邹孟熊秦邱江尹薛闫阎段雷侯龙史陶黎贺顾毛郝龚邵钱严覃戴孔汤施洪倪殷翁`

// noNames begin with a surname and are none.
var noNames = wordSet(`何时 何处 何必 何况 何等 何止 高兴 高中 高考 高大 高一 高二 高三 高个 高血 高烧 高度 高级 高铁 马上 马路 马拉 许多 许久 许诺 林业 林场
	曾经 曾在 曾是 曾说 曾任 方便 方面 方法 金色 金融 金婚 严重 严格 严肃 严厉 江边 江南 江苏 江西 夏天 夏季 石头 石油 钱包 毛衣 毛病 毛笔 孔雀 龙虾
	汤圆 叶子 余下 余额 孙子 孙女 田里 田间 史上 付钱 付款 付出 付了 张开 张罗 张口 周末 周一 周二 周三 周四 周五 周六 周日 周围 周岁 黄色 黄昏 黄金 黄瓜
	唐代 宋代 杜绝 程序 程度 苏州 陆续 陆军 韩国 韩语 韩剧 蒋国 洪水 雷雨 龙年 马年 马桶 马虎 熊猫 贺卡 顾家 顾客 贾府 施工 施肥 钟表 钟头 钟爱 段时
	郑州 徐州 杨树 李子 陈旧 陈列 陈述 丁香 沈阳 吴语 谢谢 谢绝 罗马 罗列 胡说 胡子 胡萝 胡同 胡椒 朱红 江湖 成都`)

// callingsChinese stand between a role and a name: the first only before a surname.
var callingsChinese = []string{"叫", "的名字叫", "的名字是", "名字叫", "名叫", "叫做"}

// chineseRole is the role that a text begins with, behind 我, 我的 or 我们, and what follows it.
func chineseRole(text string) (role, rest string) {
	text, ok := strings.CutPrefix(text, "我")
	if !ok {
		return "", ""
	}
	return leadingRole(strings.TrimPrefix(strings.TrimPrefix(text, "们"), "的"))
}

// leadingRole is the role that a text begins with, the longest, and what follows it.
func leadingRole(text string) (role, rest string) {
	for n, end := 0, 0; n < longestChineseRole && end < len(text); n++ {
		_, width := utf8.DecodeRuneInString(text[end:])
		end += width
		if r := chineseRoles[text[:end]]; r != "" {
			role, rest = r, text[end:]
		}
	}
	return role, rest
}

// chineseName is the beginning of a name that a text begins with; "": it begins with none.
func chineseName(text string, called bool) string {
	_, first := utf8.DecodeRuneInString(text)
	second, width := utf8.DecodeRuneInString(text[first:])
	name := text[:first+width]
	switch {
	case width == 0, !isHan(text), !isHan(text[first:]), noNames[name], functionWords[string(second)],
		!called && !strings.Contains(surnames, text[:first]):
		return ""
	}
	return name
}

// bearRun yields who bears a role by a run of Chinese in a stored text.
func (t *tokenizer) bearRun(run string) {
	for at := strings.Index(run, "我"); at >= 0; {
		if role, rest := chineseRole(run[at:]); role != "" {
			name := chineseName(rest, false)
			for i, calling := range callingsChinese {
				if behind, ok := strings.CutPrefix(rest, calling); ok {
					name = chineseName(behind, i > 0)
				}
			}
			before, is := strings.CutSuffix(run[:at], "是")
			if is && rest == "" && utf8.RuneCountInString(before) <= longestChineseRole {
				name = chineseName(before, false) // 周志强是我堂弟
			}
			if name != "" {
				t.yield(Token{Text: string(rune(roleMark)) + role, Kind: Role})
				t.yield(Token{Text: string(rune(bearerMark)) + name, Kind: Bearer})
			}
		}
		next := strings.Index(run[at+len("我"):], "我")
		if next < 0 {
			return
		}
		at += len("我") + next
	}
}

// pointing leads a role of a query that is the writer's, though he does not say so: 那位同事, 住在广州的那个同事.
var pointing = []string{"那个", "那位", "这个", "这位"}

// rolesIn says which roles a query names with the pairs of a run, by where these begin: the last two characters of each
// role. It notes in pointed whether the query has pointed at somebody so far.
func rolesIn(run string, pointed *bool) (roles map[int]string) {
	for at, n := 0, 0; at < len(run); {
		role, rest := chineseRole(run[at:])
		for _, p := range pointing {
			if behind, ok := strings.CutPrefix(run[at:], p); ok {
				*pointed = true
				role, rest = leadingRole(behind)
			}
		}
		if behind, ok := strings.CutPrefix(run[at:], "的"); ok && *pointed {
			role, rest = leadingRole(behind) // 那位做建筑师的同学
		}
		if role == "" {
			_, width := utf8.DecodeRuneInString(run[at:])
			at, n = at+width, n+1
			continue
		}
		if roles == nil {
			roles = map[int]string{}
		}
		end := len(run) - len(rest)
		at, n = end, n+utf8.RuneCountInString(run[at:end])
		roles[n-2] = role
	}
	return roles
}

// describing are in a query for somebody of whom it says what sets him apart: 老家在济南的那个人.
var describing = []string{"的那个人", "的那位", "的人"}

// DescriptionOf is what a query says of somebody whom it describes and does not name, with what stands before that; "": it describes nobody.
func DescriptionOf(query string) string {
	for _, d := range describing {
		if description, _, ok := strings.Cut(query, d); ok {
			return description
		}
	}
	return ""
}
