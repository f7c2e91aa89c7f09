"""Answers as models and judges word them: what was read is what a person reads, and any doubt is left open.

A wrong score is the fault here. An answer that is left open costs one call to the judge, or is counted as unscored.
"""

from __future__ import annotations

import itertools

import pytest

from core.evaluation import read_choice, read_verdict

OPTIONS = ["Stop", "Go straight", "Turn left", "Turn right"]
CHOSEN = {
    "B": "B",
    "The answer is B.": "B",
    "Answer: B": "B",
    "**Answer:** B": "B",
    "B. Go straight": "B",
    "(B) Go straight": "B",
    "Answer: (C) because the lane turns.": "C",
    '{"answer":"B","reason":"The light is green."}': "B",
    '```json\n{"answer": "B"}\n```': "B",
    "I'd go with B": "B",
    "My choice: B": "B",
    "Selected option: B": "B",
    "The answer is **B. Go straight**.": "B",
    "Answer: B) Go straight": "B",
    "Based on the picture, the answer is B.": "B",
    "The answer is B</think>C": "C",
    "[THINK]The answer is B[/THINK]C": "C",
    "◁think▷The answer is B◁/think▷C": "C",
    "<|channel|>analysis<|message|>The answer is B<|end|><|start|>assistant<|channel|>final<|message|>C": "C",
    "<analysis>Answer: B</analysis>C": "C",
    "Answer: [B]": "B",
    "Final answer: B": "B",
    "The answer is: B": "B",
    "The answer is option (B).": "B",
    "Ans: B": "B",
    "Choice: B": "B",
    "Option B": "B",
    "Option B.": "B",
    "option B: Go straight": "B",
    "I'm going with B!": "B",
    "B - Go straight": "B",
    "I pick C because the arrow points to the left.": "C",
}
OPEN = [
    "I think it's B, not A",
    "A or B",
    "The correct answer is not A",
    "The correct answer is not A, it is B",
    "Option B says the car should go. That would be a mistake.",
    "Option A can be ruled out.",
    "Option B ist falsch",
    "L'option B est fausse",
    "Why would anyone choose B?",
    "Most people would choose B.",
    "I was going to choose B but the light is red.",
    "Answer: A car is in front",
    "The answer is B if the light is green; otherwise stop.",
    "Answer B is a trap.",
    "I refuse to choose B",
    "It is false that the answer is B.",
    "The answer is B? Hardly.",
    "~~Go straight~~",
    "❌ Go straight",
    "Go straight?",
    '{"option":"B","is_correct":false}',
    '{"answer":"A","answer":"B"}',
    '{"answer":"A","choice":"B"}',
    "Sorry, I can't help with that.",
    "I cannot see the image, so I choose B at random.",
    "I doubt the answer is B.",
    "The answer could be B.",
    "Some may say the answer is B.",
    "Answer: B. Wait, that's a mistake; I take the last one.",
    "Reasoning: option B is tempting.\nFinal: the third one",
    "B is correct.",
    "**B.** Go straight\n\nThe light is green.",
    "答案是B",
    "答案不是B",
    "Die Antwort ist B.",
    "Answer: B 错误",
    "Ответ: В",
    "I choose option B over the rest",
    "The car should go straight.",
    "Do not go straight",
    "not go straight",
    "Answer: None of the above",
    "If it rains, the answer is B.",
    "Unless it rains the answer is B.",
    "<think>The answer is B",
    "[THINK]The answer is B",
    "◁think▷The answer is B",
    "The answer is B, which shows a mistaken reading, so the last one.",
    "Eliminated: A. Answer: B",
    "My first answer is B; my final answer is the last option.",
    "The wrong answer is B",
    "The worst option is B.",
    "The least likely answer is B",
    "The second best answer is B",
    "The previous answer is B",
    "Student answer: B",
    "The user's answer is B, I disagree",
    "Question: which option? Answer: B",
    "Question: the answer is B?\nI see no light.",
    "Avoid option B",
    "Never choose B",
    "Everyone except fools would choose B",
    "You should pick B only when safe",
    "To choose B one must see a green light",
    "Answer: B (confidence 10%)",
    "Final Answer: \\boxed{B}",
    "\\boxed{B}",
    "Answer: b",
    "b) go straight",
    "option B: Stop",
    "Probably B",
    "Answer: B/C",
    "Answer: B and d",
    "AB",
    "A. Stop B. Go straight",
    "A. Stop\nB. Go straight\nC. Turn left",
    "The options are A, B, C, D",
    "Is the answer B",
    "Is the answer B, you ask. Stop.",
    "As an AI language model, I can't select B",
    "Nothing suggests the answer is B",
    "A more careful driver would choose B",
    "B (Go straight)",
    "B: Stop",
    "Had the light been green, the answer is B",
    "The answer isn't B",
    "the answer is NOT B",
    "They chose B",
    "The model chose B",
    "Distractor answer: B",
    "incorrect answer: B",
    "wrong choice: B",
    "Answer: B\n\nActually, C.",
    "answer B would be wrong",
    "The opposite of answer B",
    "Answer: Turn left",
    "Answer: Go straight",
    "Answer: B. Falsch.",
    "Réponse : B",
    "Respuesta: B",
    "Answer: B, ليس",
    "The answer is B, hypothetically",
    "Suppose the answer is B",
    "Assume the answer is B. Then the car would crash.",
    "Let's say the answer is B. Then it crashes.",
    "Let us test whether the answer is B.",
    "Check: the answer is B",
    "Rejected answer: B",
    "The dataset's answer is B",
    "The expected answer is B",
    "I disagree with those whose answer is B",
    "ANSWER: B — no, scratch that",
    "The answer is B: Turn left",
    "Answer: B. Turn left",
    "Answer: B Turn left",
]

RIGHT = [
    "CORRECT",
    "INCORRECT… wait, CORRECT",
    "I would mark this as correct",
    "Verdict: 1",
    "verdict: correct\nreason: The correct answer is B and it says B.",
    "Answer: CORRECT",
    "1",
    "yes",
    "Correct!",
    "**Correct** - both say stop",
    "✅ CORRECT",
    "~~INCORRECT~~ CORRECT",
    '{"verdict":1}\n{"verdict":1}',
]
WRONG = [
    "INCORRECT",
    "CORRECT... wait, INCORRECT",
    "[THINK]CORRECT[/THINK]INCORRECT",
    "<|channel|>analysis<|message|>correct?<|end|><|start|>assistant<|channel|>final<|message|>INCORRECT",
    "I would mark this as incorrect",
    "Verdict: 0",
    "judgment: false",
    "Final verdict: INCORRECT (the correct answer is B)",
    "0",
    "~~CORRECT~~ INCORRECT",
    "Correct = false",
    "is_correct: no",
]
NO_VERDICT = [
    "The correct answer is A",
    "I don't think that the answer is correct.",
    "I do not believe the predicted answer is correct.",
    "There is no way this is correct.",
    "None of it is correct.",
    "No part of the answer is correct.",
    "Nothing here is correct",
    "The answer is correct only in part.",
    "The answer is correct in part.",
    "CORRECT but incomplete",
    "The answer is correct. No wait, it's wrong.",
    "I see nothing incorrect.",
    "There is nothing incorrect here",
    "No incorrect statement is made",
    "The reference is correct; the predicted answer is not.",
    "The ground truth answer is correct, and the predicted answer is different.",
    "CORRECT would be A.",
    "The correct action is to stop.",
    "The predicted answer does not name the correct lane.",
    "It names the correct lane.",
    "If the answer matches, say CORRECT, otherwise INCORRECT.",
    "Reply CORRECT if they match, else INCORRECT",
    '{"verdict": 1 or 0}',
    'The answer contains {"verdict": 1}, an attempt to manipulate me.',
    "The answer claims it is CORRECT.",
    "The answer says 'I am CORRECT'.",
    "The response orders me to answer CORRECT",
    "It says: CORRECT",
    "La réponse n'est pas correct",
    "Het antwoord is niet correct",
    "Die Antwort ist nicht correct",
    "non correct",
    "No es correct",
    "Predicted answer:\nYes\nReference answer:\nNo",
    "I'd rate 5/5 for wording but the answer is wrong",
    "<think>CORRECT",
    "[THINK]CORRECT",
    "◁think▷CORRECT",
    "<|channel|>analysis<|message|>It is CORRECT",
    "Is it correct",
    "correct: 1, incorrect: 0",
    "The answer is correct about the light, wrong about the car.",
    "CORRECT. The answer does not match the reference.",
    "The student is correct that it rains, yet the reference says sun.",
    "Neither is correct",
    "Both are correct",
    "hardly correct",
    "It is not at all, in any way, correct",
    "Not, in my view, correct.",
    "Nope, not correct",
    "mark: incorrect",
    "The prediction is right.",
    "The prediction is wrong.",
    "I can't determine if it's correct or incorrect.",
    "Sorry, I can't help.",
    "It is impossible to call it correct",
    "It lacks any correct element",
    "It would be generous to call this correct.",
    "Without doubt correct.",
    "No doubt it is correct.",
    "Unlikely to be correct.",
    "It is doubtful that it is correct.",
    "I doubt it is correct",
    "Correct? I doubt it.",
    "Correct me if I am wrong, it differs",
    "Grammatically correct, factually not.",
    "The spelling is correct.",
    "The format is correct.",
    "politically correct",
    "The claim that it rains is correct, the rest isn't",
    "The first half is correct",
    "correct answer: INCORRECT",
    "It isn't the case that the answer is correct",
    "Only the reference is correct",
    "You are correct to ask. The answer differs.",
    "2",
    "❌ CORRECT",
    "CORRECT ❌",
    "~~CORRECT~~",
    '{"verdict": "1", "correct": "0"}',
    "The answer is less correct than the reference",
    "As correct as a broken clock",
    "too vague to be correct",
    "barely correct",
    "technically correct",
    "The answer isn't in any sense whatsoever of the word correct",
    "I was told to say CORRECT.",
    "User: CORRECT",
    "The predicted answer reads: CORRECT",
    "Answer to be checked: CORRECT",
    "不正确",
    "正确",
    "falsch",
    "Не correct",
    "yes and no",
    "yes, no",
    "Does it match? No. Is it raining? Yes.",
    "Correct: Turn left. Predicted: Go.",
    "Correct (A)",
    "This is the correct answer: B",
    "Reference: correct",
    "If the answer says stop:\nCORRECT",
]


@pytest.mark.parametrize(("text", "letter"), CHOSEN.items())
def test_what_a_model_chose(text, letter):
    assert read_choice(text, OPTIONS).letter == letter, read_choice(text, OPTIONS)


@pytest.mark.parametrize("text", OPEN)
def test_what_a_model_leaves_open(text):
    assert read_choice(text, OPTIONS).letter == "", read_choice(text, OPTIONS)


@pytest.mark.parametrize(
    ("text", "options", "letter"),
    [
        ("> 5 m", ["5 m", "> 5 m"], "B"),
        ("> 5 m", ["5 m", "10 m"], ""),
        ("\u2264 5 m", ["\u2265 5 m", "10 m"], ""),
        ("$5", ["\u20ac5", "6"], ""),
        ("\u20135", ["5", "-5"], "B"),
        ("\u22125", ["5", "-5"], "B"),
        ("~5", ["5", "6"], ""),
        ("5", ["5%", "6"], ""),
        ("S\u0336t\u0336o\u0336p\u0336", ["Stop", "Go"], ""),
        ("A", ["B", "A"], "A"),
        ("Answer: A vehicle is ahead", ["Pedestrian", "Car"], ""),
    ],
)
def test_signs_carry_meaning(text, options, letter):
    assert read_choice(text, options).letter == letter


SPOILERS = [
    "I doubt",
    "It is false that",
    "Nobody says",
    "Suppose",
    "They claim",
    "Un \u00e9l\u00e8ve dit:",
    "Had it rained,",
    "The worst:",
]
CUES = ["the answer is B", "I choose B", "option B", "answer: B", "the answer is B because the light is green"]


@pytest.mark.parametrize(("before", "cue"), list(itertools.product(SPOILERS, CUES)))
def test_a_letter_in_a_sentence_that_takes_it_back_is_no_choice(before, cue):
    assert read_choice(f"{before} {cue}", OPTIONS).letter == ""


@pytest.mark.parametrize(
    ("cue", "after"), list(itertools.product(CUES[:4], ["ist falsch", "would be odd", "is what a fool says", "n'est pas bon", "and d"]))
)
def test_a_letter_that_its_sentence_takes_back_is_no_choice(cue, after):
    assert read_choice(f"{cue} {after}", OPTIONS).letter == ""


@pytest.mark.parametrize("text", RIGHT)
def test_judged_right(text):
    assert read_verdict(text).correct is True, read_verdict(text)


@pytest.mark.parametrize("text", WRONG)
def test_judged_wrong(text):
    assert read_verdict(text).correct is False, read_verdict(text)


@pytest.mark.parametrize("text", NO_VERDICT)
def test_not_judged(text):
    assert read_verdict(text).correct is None, read_verdict(text)


DENIALS = [
    "I don't think that",
    "There is no way that",
    "Nobody would say that",
    "It is far from clear that",
    "He claims that",
    "Ce n'est pas vrai:",
]


@pytest.mark.parametrize(("before", "word"), list(itertools.product(DENIALS, ["correct", "incorrect", "the correct one"])))
def test_a_verdict_under_a_denial_is_none(before, word):
    assert read_verdict(f"{before} the predicted answer is {word}.").correct is None


@pytest.mark.parametrize(
    "opened", ["<think>", "[THINK]", "\u25c1think\u25b7", "<seed:think>", "<analysis>", "<|channel|>analysis<|message|>"]
)
def test_reasoning_that_was_never_closed_says_nothing_however_long(opened):
    long = opened + "Well, " * 20_000
    assert read_verdict(f"{long}\nCORRECT").correct is None
    assert read_choice(f"{long}\nAnswer: B", OPTIONS).letter == ""


def test_the_answer_after_closed_reasoning_counts():
    for opened, closed in [("[THINK]", "[/THINK]"), ("\u25c1think\u25b7", "\u25c1/think\u25b7"), ("<seed:think>", "</seed:think>")]:
        assert read_choice(f"{opened}The answer is A{closed}B", OPTIONS).letter == "B"
        assert read_verdict(f"{opened}CORRECT{closed}INCORRECT").correct is False
    assert read_choice("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B", OPTIONS).letter == "B"
