"""Makes turns.jsonl and questions.jsonl beside this file: people and appointments in Chinese.

Every conversation is the notes of one person on nine others and six appointments, in any
order, with small talk between them. The same seed makes the same files.
"""

import json
import pathlib
import random
from datetime import datetime, timedelta

CONVERSATIONS = 12
random.seed(7)
pick, sample = random.choice, random.sample

FAMILY_NAMES = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗"
GIVEN_NAMES = "伟 芳 娜 敏 静 磊 强 洋 艳 勇 军 杰 娟 涛 明 超 霞 平 刚 桂英 秀兰 建华 志强 晓红 雨桐 子涵 浩然 梓萱 思远 若曦".split()
RELATIONS = "表哥 堂妹 舅舅 姑姑 叔叔 外甥 侄女 同事 上司 下属 大学同学 邻居 室友 高中同学 小姨 嫂子 岳父 堂弟".split()
CITIES = "北京 上海 广州 深圳 成都 杭州 武汉 西安 南京 重庆 青岛 厦门 长沙 苏州 天津 哈尔滨".split()
JOBS = "软件工程师 护士 小学老师 律师 会计 出租车司机 厨师 建筑师 记者 警察 银行柜员 产品经理 牙医 摄影师 销售经理 快递员".split()
HOBBIES = "钓鱼 打羽毛球 拉小提琴 爬山 下围棋 养花 跑马拉松 写书法 打太极拳 看科幻小说 摄影 烘焙 收集邮票 唱京剧 骑行 滑雪".split()
DEGREES = "本科 硕士 博士 大专 高中".split()
FIRMS = "华信科技有限公司 东方建设集团 蓝天律师事务所 仁爱医院 阳光小学 远景传媒公司 金桥银行 绿源食品厂 飞跃物流公司 明德会计师事务所".split()
MANNERS = "性格开朗 特别细心 做事很有耐心 有点急脾气 话不多但很可靠 幽默风趣 非常自律 乐于助人".split()
APPOINTMENTS = "公司年会 高中同学聚会 技术分享会 亲子运动会 社区义诊 读书沙龙 摄影展 婚礼 团队拓展训练 产品发布会 家长会 音乐节 志愿者活动 健身课".split()
PLACES = "人民公园 国际会议中心 市图书馆 体育馆 滨江大酒店 大学礼堂 社区活动室 科技园三号楼 美术馆 郊外农场".split()
SMALL_TALK = """今天下雨了，出门忘记带伞。 最近总是睡不好，可能是咖啡喝多了。 新闻里说油价又涨了。 晚上吃了一碗牛肉面，味道不错。
地铁上人特别多，差点迟到。 刚看完一部电影，结局有点失望。 周末想在家好好休息。 手机快没电了，明天得买个充电宝。 楼下新开了一家奶茶店。
今天开了四个会，累死了。 小区停电了两个小时。 想学游泳，一直没时间。 空调坏了，约了师傅明天来修。 快递又送错了地址。
最近在追一部古装剧。 公司食堂的菜越来越咸了。""".split()

# What is known of a person: a value, how notes say it of {w}, how one asks for it of {q}, what
# tells the person by it, and what compares two.
KNOWN = {
    "age": (lambda: str(random.randint(8, 70)),
            "{w}今年{v}岁了。 {w}刚满{v}岁，看起来比实际年轻。 昨天才知道{w}已经{v}岁了。",
            "{q}今年多大了？ {q}的年龄是多少？ {q}几岁了？", "那个{v}岁的{r}", "{0}和{1}谁年纪更大？"),
    "birthday": (lambda: f"{random.randint(1, 12)}月{random.randint(1, 28)}日",
                 "{w}的生日是{v}，我得记着准备礼物。 {w}是{v}出生的。 每年{v}我们都给{w}过生日。",
                 "{q}的生日是哪天？ {q}什么时候过生日？ {q}是几月几号出生的？", "生日在{v}的那个{r}", "{0}和{1}谁的生日更早？"),
    "from": (lambda: pick(CITIES), "{w}的老家在{v}。 {w}是{v}人，口音一听就听得出来。 {w}从小在{v}长大。",
             "{q}的老家是哪里？ {q}是哪里人？ {q}的家乡在什么地方？", "老家在{v}的那个{r}", "{0}和{1}是同一个地方的人吗？"),
    "lives": (lambda: pick(CITIES), "{w}现在住在{v}，上个月刚搬过去。 {w}在{v}买了房子定居下来。 {w}目前在{v}生活。",
              "{q}现在住在哪里？ {q}住在哪个城市？ {q}目前在哪儿生活？", "住在{v}的那个{r}", "{0}和{1}住在同一个城市吗？"),
    "job": (lambda: pick(JOBS), "{w}是一名{v}，每天都很忙。 {w}的工作是{v}。 {w}当了好几年{v}了。",
            "{q}是做什么工作的？ {q}的职业是什么？ {q}靠什么谋生？", "那位做{v}的{r}", "{0}和{1}的职业一样吗？"),
    "firm": (lambda: pick(FIRMS), "{w}在{v}上班。 {w}刚入职{v}。 {w}跳槽去了{v}。",
             "{q}在哪家单位上班？ {q}的公司叫什么名字？ {q}现在在哪里工作？", "在{v}上班的那个{r}", "{0}和{1}在同一家公司上班吗？"),
    "hobby": (lambda: pick(HOBBIES), "{w}最喜欢{v}，周末总是约人一起。 {w}的爱好是{v}。 {w}一有空就去{v}。",
              "{q}有什么爱好？ {q}平时喜欢做什么？ {q}业余时间爱干什么？", "喜欢{v}的那个{r}", "{0}和{1}的爱好一样吗？"),
    "degree": (lambda: pick(DEGREES), "{w}的学历是{v}。 {w}{v}毕业，学的是管理。 {w}读到{v}就工作了。",
               "{q}是什么学历？ {q}的文化程度是什么？ {q}读书读到什么程度？", "学历为{v}的那个{r}", "{0}和{1}谁的学历更高？"),
    "height": (lambda: str(random.randint(150, 192)), "{w}身高{v}厘米。 {w}有{v}厘米高，站在人群里很显眼。",
               "{q}有多高？ {q}的身高是多少厘米？", "身高{v}厘米的那个{r}", "{0}和{1}谁更高？"),
    "phone": (lambda: "1" + "".join(pick("0123456789") for _ in range(10)),
              "{w}的手机号换成了{v}。 {w}的电话是{v}。 要联系{w}就打{v}。",
              "{q}的联系电话是多少？ 怎么联系{q}？ {q}的手机号码是什么？", "电话是{v}的那个{r}", "{0}和{1}的手机号分别是什么？"),
    "manner": (lambda: pick(MANNERS), "{w}{v}，大家都喜欢跟他来往。 我觉得{w}{v}。",
               "{q}是个什么样的人？ {q}的性格怎么样？", "{v}的那个{r}", "{0}和{1}的性格有什么不同？"),
}

# What is known of an appointment: how notes say it, and how one asks for it.
ARRANGED = {
    "when": (lambda: pick(["下周", "这周"]) + pick("一二三四五六日") + pick(["上午九点", "下午两点", "晚上七点", "早上八点"]),
             "我要参加{a}，时间是{v}。 {a}定在{v}举行。", "{a}是什么时候？ {a}几点开始？ {a}定在哪天？"),
    "where": (lambda: pick(PLACES), "{a}的地点在{v}。 {a}安排在{v}办。", "{a}在哪里举行？ {a}的地址是什么地方？ 去参加{a}要到哪儿？"),
    "size": (lambda: str(random.randint(10, 300)), "这次{a}大概有{v}人参加。 {a}的规模是{v}人左右。", "{a}有多少人参加？ {a}的规模有多大？"),
}


def one_of(forms, **values):
    return pick(forms.split()).format(**values)


def conversation(number):
    """Returns the turns and the questions of one conversation."""
    conv, notes = f"zh-people-{number:02d}", {}
    names, people = set(), []
    for relation in sample(RELATIONS, 9):
        name = pick(FAMILY_NAMES) + pick(GIVEN_NAMES)
        while name in names:
            name = pick(FAMILY_NAMES) + pick(GIVEN_NAMES)
        names.add(name)
        known = {what: KNOWN[what][0]() for what in sample(list(KNOWN), 7)}
        people.append((relation, name, known))
        notes[name] = one_of("我{r}叫{n}。 {n}是我的{r}。 给你介绍一下，我{r}名叫{n}。", r=relation, n=name)
        for what, value in known.items():
            who = one_of("我{r} {n} 我{r}{n} 我的{r}{n}", r=relation, n=name)
            notes[name, what] = one_of(KNOWN[what][1], w=who, v=value)
    arranged = {a: {what: form[0]() for what, form in ARRANGED.items()} for a in sample(APPOINTMENTS, 6)}
    for a, values in arranged.items():
        for what, value in values.items():
            notes[a, what] = one_of(ARRANGED[what][1], a=a, v=value)
    for text in sample(SMALL_TALK, 14):
        notes[text] = text

    order = list(notes)
    random.shuffle(order)
    place = {key: i for i, key in enumerate(order)}
    turns = [{
        "conv": conv, "session": f"S{i // 12}", "turn": f"T{i}", "idx": i, "speaker": "我", "role": "user",
        "time": (datetime(2025, 1, 1, 8) + timedelta(hours=5 * i)).isoformat(), "text": notes[key],
    } for i, key in enumerate(order)]
    questions = []

    def ask(category, question, answer, *evidence):
        at = sorted(place[key] for key in evidence)
        questions.append({
            "conv": conv, "qid": f"{conv}-q{len(questions) + 1:03d}", "category": category, "question": question, "answer": answer,
            "abstain": False, "evidence": [f"T{i}" for i in at], "evidence_sessions": sorted({f"S{i // 12}" for i in at}),
        })

    for relation, name, known in people:
        for what in sample(list(known), 2):
            who = one_of("我{r} {n} 我的{r} 我{r}{n}", r=relation, n=name)
            ask("single-hop", one_of(KNOWN[what][2], q=who), known[what], (name, what))
        what, by = sample(list(known), 2)
        who = KNOWN[by][3].format(v=known[by], r=relation)
        ask("multi-hop", one_of(KNOWN[what][2], q=who), known[what], (name, what), (name, by))
    for what in sample(list(KNOWN), 3):
        pair = [p for p in people if what in p[2]]
        if len(pair) >= 2:
            (r1, n1, k1), (r2, n2, k2) = sample(pair, 2)
            ask("multi-hop", KNOWN[what][4].format("我" + r1, "我" + r2), f"{k1[what]}，{k2[what]}", (n1, what), (n2, what))
    for a, values in arranged.items():
        what = pick(list(values))
        ask("single-hop", one_of(ARRANGED[what][2], a=a), values[what], (a, what))
    return turns, questions


made = [conversation(n) for n in range(CONVERSATIONS)]
for column, name in enumerate(("turns.jsonl", "questions.jsonl")):
    with open(pathlib.Path(__file__).with_name(name), "w", encoding="utf-8") as file:
        for rows in made:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows[column])
