"""Makes turns.jsonl and questions.jsonl beside this file: daily messages in Chinese.

Every conversation is what one person tells an assistant over some weeks: of five people, of
events, and of the day. The same seed makes the same files. Half of the conversations are
"held": nothing may be fitted to them.
"""

import json
import pathlib
import random
from datetime import datetime, timedelta

CONVERSATIONS = 10
random.seed(20261128)
pick, sample = random.choice, random.sample

SURNAMES = "陆沈韩唐冯程曹彭邓许傅曾萧蔡潘田董袁于余叶蒋杜苏魏吕丁任姚卢"
GIVEN = "嘉怡 文博 雅琴 泽宇 欣妍 国栋 海燕 宇轩 佩珊 立群 晓峰 美玲 承志 婉清 俊杰 淑芬 振华 诗涵 少华 丽萍 天佑 慧敏".split()
RELATIONS = "爸爸 妈妈 哥哥 姐姐 弟弟 妹妹 表弟 表姐 舅妈 姨妈 姑父 侄子 外甥女 老板 同事 组长 客户 房东 室友 邻居 教练 老同学 闺蜜 师傅".split()

# What is known of a person: values, how it is told of {w}, how it is asked of {q}, and how a
# person is described by it.
KNOWN = {
    "age": ([str(n) for n in range(19, 66)],
            "{w}上周过了生日，今年{v}岁了|聊天才知道，{w}都{v}岁了，一点看不出来|{w}今年{v}岁，还跟小孩一样",
            "{q}今年多少岁|{q}多大年纪了|你还记得{q}几岁吗", "今年{v}岁的那个人"),
    "birthday": ([f"{m}月{d}号" for m in range(1, 13) for d in (3, 9, 14, 22, 27)],
                 "{w}的生日在{v}，到时候要订个蛋糕|帮我记一下，{v}是{w}的生日|{w}{v}过生日，礼物还没想好",
                 "{q}的生日是几月几号|{q}哪天过生日|我该在哪一天给{q}送生日礼物", "{v}过生日的那个人"),
    "phone": (["1" + str(random.randint(3000000000, 9999999999)) for _ in range(60)],
              "{w}换号码了，新的是{v}|{w}的手机号：{v}，帮我存一下|以后找{w}就打{v}这个电话",
              "{q}的手机号是多少|我要给{q}打电话，号码是什么|{q}的联系方式是什么|{q}手机号的最后四位是什么", "手机号是{v}的那个人"),
    "mail": ([a + str(n) + "@" + b for a in ("sunny", "lake", "mapo", "qiqi") for n in (17, 52, 88) for b in ("163.com", "qq.com", "mail.cn")],
             "{w}的邮箱是{v}|{w}让我把文件发到{v}|有事可以写信给{w}，地址是{v}",
             "{q}的邮箱地址是什么|我要给{q}发邮件，该发到哪里", "邮箱是{v}的那个人"),
    "home": ("昆明 郑州 合肥 南昌 贵阳 太原 兰州 宁波 济南 福州 大连 珠海".split(),
             "{w}老家在{v}，过年都要回去|{w}是{v}人，说话有一点口音|{w}是在{v}出生长大的",
             "{q}的家乡在哪里|{q}老家是哪儿的|{q}是哪个地方的人", "老家在{v}的那个人"),
    "office": ("软件园二期 万达写字楼 市政府大楼 南站附近 大学城 高新区 火车东站 老城区 机场旁边 会展中心".split(),
               "{w}现在在{v}那边上班，每天通勤一个小时|{w}的办公室搬到{v}了|{w}说公司在{v}，中午可以一起吃饭",
               "{q}在哪里上班|{q}的工作地点在什么地方|我去公司找{q}，该去哪里", "在{v}上班的那个人"),
    "job": ("药剂师 导游 程序员 翻译 公务员 健身教练 电工 编辑 设计师 司机 保险经纪人 兽医 审计师 音乐老师".split(),
            "{w}是个{v}，最近忙得不行|{w}做{v}已经好多年了|{w}转行去当{v}了",
            "{q}的职业是什么|{q}是干什么的|{q}做哪一行", "当{v}的那个人"),
    "degree": ("初中 高中 中专 大专 本科 硕士 博士".split(),
               "{w}是{v}学历|{w}的最高学历是{v}|{w}当年读完{v}就没再念书了",
               "{q}的学历是什么|{q}读到什么学历|{q}念书念到哪一步", "学历是{v}的那个人"),
    "height": ([f"{n}厘米" for n in range(152, 191)],
               "{w}身高{v}|昨天量了一下，{w}有{v}|{w}的个子是{v}，买衣服要注意尺码",
               "{q}身高多少|{q}个子有多高|给{q}买衣服，身高该写多少", "身高{v}的那个人"),
    "hobby": ("打篮球 弹钢琴 做木工 跳舞 集邮 看话剧 露营 打乒乓球 画油画 玩桌游 钓虾 拼图 游泳 种多肉".split(),
              "{w}迷上了{v}|{w}周末总去{v}|{w}没别的爱好，就喜欢{v}",
              "{q}的兴趣爱好是什么|{q}闲下来喜欢做什么|周末{q}一般怎么消遣", "喜欢{v}的那个人"),
    "trait": ("脾气急 爱开玩笑 内向 做事认真 热心肠 有点固执 很乐观 特别节俭 爱操心".split(),
              "{w}这个人{v}|相处久了发现{w}{v}|大家都说{w}{v}",
              "{q}的性格怎么样|{q}是怎样的一个人|跟{q}打交道要知道他什么脾气", "{v}的那个人"),
    "firm": ("启明医药 远航旅行社 众诚保险 新叶出版社 光谷电子 和平家具厂 蓝海物流 天平事务所".split(),
             "{w}在{v}工作|{w}进了{v}|{w}去年跳到{v}去了",
             "{q}在哪个公司|{q}的单位叫什么|{q}给谁打工", "在{v}工作的那个人"),
}

EVENTS = "春季马拉松 机器学习培训 老街美食节 新员工迎新会 慈善义卖 陶艺体验课 校友返校日 民谣演唱会 消防演习 急救知识讲座 亲子露营 季度总结会".split()
ABOUT = {
    "when": ("下周三下午两点|这周六上午九点|下个月5号晚上七点|周五早上八点半|下周日下午四点".split("|"),
             "{e}改到{v}了|{e}是{v}开始，别忘了|记一下：{v}有{e}", "{e}什么时候开始|{e}是几点|我要参加的{e}在哪一天"),
    "where": ("滨湖广场 三楼会议室 青年旅舍 河西体育场 老茶馆 科技馆报告厅 中山剧院 东郊营地".split(),
              "{e}在{v}办|{e}的地方定了，是{v}|去{e}的话要到{v}集合", "{e}在哪里举行|{e}的地点是哪儿|去{e}该往哪儿走"),
    "people": (["二十来个人", "三百多人", "八十人", "五十人左右", "上千人", "十二个人"],
               "{e}有{v}报名|听说{e}会来{v}|{e}的规模是{v}", "{e}有多少人参加|{e}的规模多大|{e}来几个人"),
    "long": (["一个半小时", "两天", "一整天", "三个小时", "四十分钟", "一个星期"],
             "{e}要持续{v}|{e}一共{v}|{e}安排了{v}", "{e}要持续多久|{e}有多长时间|{e}得花多少时间"),
    "what": (["学习怎么做自我介绍", "请专家答疑", "分组比赛", "给大家发奖品", "现场试吃", "一起唱老歌", "练习心肺复苏"],
             "{e}的主要内容是{v}|{e}上要{v}|这次{e}是{v}", "{e}的主要内容是什么|{e}上要做什么|{e}有什么安排"),
}

DAY = """早上起晚了，连早饭都没吃|今天公司门口堵车堵了半个小时|中午点的外卖洒了一半|晚上跑了五公里，腿好酸|买的书终于到货了|
家里的灯泡坏了，换了个新的|猫把花瓶打碎了|刚把冰箱清理了一遍|电脑又更新了，重启了好几次|下班路上看到彩虹，心情不错|
牙有点疼，得约个牙医|在超市碰到打折，买了一堆零食|昨晚做了个奇怪的梦|这两天嗓子不太舒服|洗衣机声音好大，是不是该修了|阳台上的薄荷长得很好|
老板今天心情好，提前放人了|同事带了喜糖来|周末想去看个展|新买的鞋有点磨脚|邻居家在装修，吵死了|妈妈寄来一箱橘子""".replace("\n", "").split("|")
TAILS = ["", "", "", "，记一下", "，别忘了", "。", "。", "哦", "！"]


def one_of(forms, **values):
    return pick(forms.split("|")).format(**values)


def conversation(number, half):
    """Returns the turns and the questions of one conversation."""
    conv, notes, people, names = f"{half}-{number:02d}", {}, [], set()
    for relation in sample(RELATIONS, 5):
        while (name := pick(SURNAMES) + pick(GIVEN)) in names:
            pass
        names.add(name)
        whats = sample(list(KNOWN), 7)
        known = {what: pick(KNOWN[what][0]) for what in whats}
        people.append((relation, name, known))
        notes[name] = one_of("我{r}名字叫{n}|{n}就是我{r}|我跟你说过我{r}吧，叫{n}", r=relation, n=name)
        for what, value in known.items():
            who = one_of("我{r}|我{r}{n}|{n}|{n}", r=relation, n=name)
            notes[name, what] = one_of(KNOWN[what][1], w=who, v=value) + pick(TAILS)
    events = {e: {what: pick(ABOUT[what][0]) for what in sample(list(ABOUT), 4)} for e in sample(EVENTS, 4)}
    for e, values in events.items():
        for what, value in values.items():
            notes[e, what] = one_of(ABOUT[what][1], e=e, v=value) + pick(TAILS)
    for text in sample(DAY, 16):
        notes[text] = text + pick(TAILS)

    order = list(notes)
    random.shuffle(order)
    place = {key: i for i, key in enumerate(order)}
    turns = [{
        "conv": conv, "session": f"S{i // 8}", "turn": f"T{i}", "idx": i, "speaker": "我", "role": "user",
        "time": (datetime(2026, 3, 2, 9) + timedelta(hours=7 * i)).isoformat(), "text": notes[key],
    } for i, key in enumerate(order)]
    questions = []

    def ask(category, question, *evidence):
        at = sorted({place[key] for key in evidence})
        questions.append({
            "conv": conv, "qid": f"{conv}-q{len(questions) + 1:03d}", "half": half, "category": category, "question": question + pick(["？", "", "？", "呢？"]),
            "abstain": False, "evidence": [f"T{i}" for i in at], "evidence_sessions": sorted({f"S{i // 8}" for i in at}),
        })

    for relation, name, known in people:
        simple = sample(list(known), 3)
        for what in simple[:2]:
            ask("simple", one_of(KNOWN[what][2], q=one_of("我{r}|我{r}{n}|{n}", r=relation, n=name)), (name, what))
        by = pick([w for w in known if w != simple[2]])
        who = KNOWN[by][3].format(v=known[by])
        ask("condition", one_of(KNOWN[simple[2]][2], q=who), (name, simple[2]), (name, by))
    (r1, n1, k1), (r2, n2, k2) = sample(people, 2)
    for what in sample(sorted(set(k1) & set(k2)), min(1, len(set(k1) & set(k2)))):
        form = {"age": "{0}和{1}谁大", "height": "{0}和{1}谁高", "birthday": "{0}和{1}谁先过生日"}.get(what)
        form = form or one_of(KNOWN[what][2], q="{0}和{1}分别")
        ask("compare", form.format("我" + r1, "我" + r2), (n1, what), (n2, what))
    for what in ("degree", "home", "hobby"):
        values = [k[what] for _, _, k in people if what in k]
        value = next((v for v in values if values.count(v) > 1), None)
        if value:
            ask("count", KNOWN[what][3].format(v=value).replace("的那个人", "的有几个人"), *[(n, what) for _, n, k in people if k.get(what) == value])
    for e, values in events.items():
        what = pick(list(values))
        ask("event", one_of(ABOUT[what][2], e=e), (e, what))
    return turns, questions


made = [conversation(n, "fit" if n % 2 == 0 else "held") for n in range(CONVERSATIONS)]
for column, name in enumerate(("turns.jsonl", "questions.jsonl")):
    with open(pathlib.Path(__file__).with_name(name), "w", encoding="utf-8") as file:
        for rows in made:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows[column])
