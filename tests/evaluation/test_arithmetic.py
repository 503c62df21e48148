from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.evaluation.arithmetic import check, checks
from blockviz.models.tokens import Tokens
from blockviz.training.math_tokenizer import build
from blockviz.training.word_problems import problem_at

TOKENS = Tokens(build())
MASK = TOKENS.vocab_size
END = TOKENS.end_id
PROMPT = TOKENS.encode("mia has 12 apples .")


def canvas(text: str, *, end: bool = True, length: int = 64) -> list[int]:
    """The prompt, then `text` where ? is MASK, then end tokens or MASK."""
    ids = list(PROMPT)
    for word in text.split():
        ids += [MASK] if word == "?" else TOKENS.encode(word)
    return ids + [END if end else MASK] * (length - len(ids))


def verdicts(text: str, *, end: bool = True, answer: int | None = None) -> list[tuple[str, str]]:
    return [(c.verdict, c.text) for c in checks(canvas(text, end=end), len(PROMPT), TOKENS, answer)]


class TestCheck:
    @pytest.mark.parametrize(
        ("equation", "verdict"),
        [
            ("12 + 30 = 42 ;", "right"),
            ("12 + 30 = 43 ;", "wrong"),
            ("30 - 12 = 18 ;", "right"),
            ("12 - 30 = 18 ;", "wrong"),
            ("7 * 6 = 42 ;", "right"),
            ("84 / 2 = 42 ;", "right"),
            ("85 / 2 = 42 ;", "wrong"),
            ("5 / 0 = 0 ;", "wrong"),
            ("0 / 5 = 0 ;", "right"),
            ("12 + = 42 ;", "wrong"),
            ("apples ;", "wrong"),
            ("05 + 3 = 8 ;", "wrong"),
            ("1 + 2 + 3 = 6 ;", "wrong"),
            ("12 + 30 = 42", "unfinished"),
            ("12 + 30", "unfinished"),
        ],
    )
    def test_one_equation(self, equation: str, verdict: str) -> None:
        assert [step.verdict for step in check(equation).steps] == [verdict]

    def test_which_step_is_wrong(self) -> None:
        solution = check("12 + 30 = 42 ; 42 - 3 = 38 ; 38 / 2 = 19 ; #### 19", answer=19)
        assert solution.first_wrong == 1
        assert solution.steps[1].text == "42 - 3 = 38 (it is 39)"
        assert not solution.sound
        assert solution.correct

    def test_answer(self) -> None:
        assert check("12 + 30 = 42 ; #### 42", answer=42).correct
        assert check("12 + 30 = 42 ; #### 41", answer=42).correct is False
        assert not check("12 + 30 = 42 ; #### 41").sound
        assert check("12 + 30 = 42 ; #### 42").correct is None
        assert check("12 + 30 = 42 ;", answer=42).correct is False
        assert check("12 + 30 = 42 ; #### 4 2 apples", answer=42).correct is False
        assert check("#### 42", answer=42).correct
        assert not check("#### 42", answer=42).sound

    def test_nothing_after_the_end_counts(self) -> None:
        solution = check("12 + 30 = 42 ; #### 42 <eos> 1 + 1 = 3 ; #### 7", answer=42)
        assert solution.correct
        assert len(solution.steps) == 1

    def test_spacing_does_not_matter(self) -> None:
        assert check("12+30=42;####42", answer=42).sound

    @given(st.text(max_size=200))
    def test_any_text_is_judged(self, text: str) -> None:
        check(text, answer=1)

    @given(st.text(alphabet="0123456789+-*/=;# ", max_size=120))
    def test_any_arithmetic_is_judged(self, text: str) -> None:
        for step in check(text).steps:
            assert step.verdict in ("right", "wrong", "unfinished")

    def test_huge_numbers_are_harmless(self) -> None:
        assert check("9" * 10_000 + " + 1 = 2 ;").steps[0].verdict == "wrong"


class TestChecks:
    def test_spans_hold_the_statements(self) -> None:
        ids = canvas("12 + 30 = 42 ; 42 / 2 = 20 ; #### 20")
        found = checks(ids, len(PROMPT), TOKENS)
        assert [(c.verdict, c.text) for c in found] == [
            ("right", "12 + 30 = 42"),
            ("wrong", "42 / 2 = 20 (it is 21)"),
            ("right", "#### 20"),
        ]
        assert [TOKENS.decode(ids[c.start : c.stop]) for c in found] == [
            "12 + 30 = 42 ;",
            "42 / 2 = 20 ;",
            "#### 20",
        ]

    def test_final_answer_against_the_last_equation_or_the_known_one(self) -> None:
        assert verdicts("1 + 1 = 2 ; #### 3")[-1] == ("wrong", "#### 3 (it is 2)")
        assert verdicts("1 + 1 = 2 ; #### 2", answer=5)[-1] == ("wrong", "#### 2 (it is 5)")
        assert verdicts("1 + 1 = 2 ; #### 5", answer=5)[-1][0] == "right"
        assert verdicts("#### 5")[-1][0] == "wrong"
        assert verdicts("1 + 1 = 2 ; #### apples")[-1][0] == "wrong"

    def test_holes_leave_a_statement_unfinished(self) -> None:
        assert verdicts("1 2 + ? = 4 2 ; 4 2 - 2 = 4 0 ;", end=False) == [
            ("unfinished", "12 + ? = 42"),
            ("right", "42 - 2 = 40"),
        ]
        assert verdicts("? ? ? 1 = 2 ;", end=False) == [("unfinished", "1 = 2")]
        assert verdicts("1 + 1 = 2", end=False) == [("unfinished", "1 + 1 = 2")]
        assert verdicts("1 + 1 = 2 ; #### 2", end=False)[-1] == ("unfinished", "#### 2")
        assert verdicts("1 + 1 = 2 ; #### ? 2")[-1] == ("unfinished", "#### ? 2")
        assert verdicts("1 + 1 = ? ; #### 2")[-1] == ("unfinished", "#### 2")

    def test_an_empty_canvas_has_no_verdicts(self) -> None:
        assert verdicts("", end=False) == []
        assert verdicts("") == []

    def test_the_prompt_and_what_follows_the_end_are_not_read(self) -> None:
        ids = canvas("1 + 1 = 2 ;")
        ids[40:52] = TOKENS.encode("1 + 1 = 3 ; #### 3")
        assert [c.text for c in checks(ids, len(PROMPT), TOKENS)] == ["1 + 1 = 2"]
        ids = TOKENS.encode("1 + 1 = 3 ;") + canvas("")
        assert checks(ids, 6 + len(PROMPT), TOKENS) == ()

    @given(st.lists(st.integers(-1, TOKENS.vocab_size + 1), max_size=128), st.integers(0, 40))
    def test_any_canvas_is_judged(self, ids: list[int], prompt_length: int) -> None:
        last = prompt_length
        for found in checks(ids, prompt_length, TOKENS):
            assert last <= found.start < found.stop <= len(ids)
            assert found.text
            last = found.stop

    @given(st.integers(0, 10_000), st.data())
    def test_holes_never_make_a_right_solution_wrong(self, index: int, data: st.DataObject) -> None:
        """Whatever part of a right solution is still noise, no statement is called wrong."""
        solution = TOKENS.encode(problem_at("train", 3, index).solution)
        holes = data.draw(st.sets(st.integers(0, len(solution) - 1)))
        ids = [-1 if i in holes else word for i, word in enumerate(solution)] + [END]
        assert "wrong" not in [c.verdict for c in checks(ids, 0, TOKENS)]
