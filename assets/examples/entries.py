"""The gallery as data: what each bundled example run is, what it shows, and which of the seeds tried is taken.

A new example is one more `Entry`; `make.py` records it. A pair is an entry with two runs, which share one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blockviz.evaluation.quality import CAUTIOUS
from blockviz.evaluation.tasks import STORY_PROMPTS, Task
from blockviz.sampling.trace import Trace

Score = Callable[[tuple[Trace, ...]], float | None]
"""How well the runs of one seed show the point; None where they do not."""


@dataclass(frozen=True)
class Run:
    """One run to record: its lasting name (and file), model, prompt, sampler.

    The prompt is a text, or the number of one in EXAMPLE_PROMPTS. `more` follows it: gaps and given tokens.
    """

    name: str
    model: str
    prompt: int | str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    more: str = ""


@dataclass(frozen=True)
class Entry:
    """One example of the gallery: `rule` says in words what `score` asks of the runs of a seed.

    The seed with the highest score is taken, the first of equals. `shown` names the runs on screen where these are not
    those recorded here: only some of them, or such as another entry records.
    """

    name: str
    title: str
    sentence: str
    rule: str = ""
    score: Score | None = None
    runs: tuple[Run, ...] = ()
    shown: tuple[str, ...] = ()
    seeds: int = 64
    task: Task = "math"


def right(trace: Trace) -> bool:
    """Whether everything that the checker judged at the end is right, the answer included."""
    verdicts = [check.verdict for check in trace.passes[-1].checks]
    return bool(verdicts) and set(verdicts) == {"right"} and trace.end.finished == "end_token"


def wrong(trace: Trace) -> bool:
    """Whether the run came to its end with something that the checker judged wrong."""
    verdicts = {check.verdict for check in trace.passes[-1].checks}
    return "wrong" in verdicts and trace.end.finished == "end_token"


def caught(trace: Trace) -> bool:
    """Whether a statement was wrong on the way."""
    return any(check.verdict == "wrong" for entry in trace.passes for check in entry.checks)


def doubted(trace: Trace) -> int:
    """Tokens thrown back that the score found surprising (1 nat or more), in all passes together."""
    return sum(int((entry.score >= 1.0).sum()) for entry in trace.passes if entry.phase == "renoise")


def lost(trace: Trace) -> int:
    """How often a right statement of the draft was wrong or gone at the next verdict, in all passes together."""
    count, before = 0, set[tuple[int, int]]()
    for entry in trace.passes:
        now = {(check.start, check.stop) for check in entry.checks if check.verdict == "right"}
        count += len(before - now)
        before = now
    return count


def mended(traces: tuple[Trace, ...]) -> float | None:
    """A wrong statement on the way, a right end; the more was doubted in between the better."""
    return doubted(traces[0]) if caught(traces[0]) and right(traces[0]) else None


def mended_only_there(traces: tuple[Trace, ...]) -> float | None:
    """The first run mends an error, the second, with the same seed, ends wrong."""
    return mended(traces[:1]) if wrong(traces[1]) else None


def both_mended(traces: tuple[Trace, ...]) -> float | None:
    """All end right, one was wrong on the way; the least doubted of them counts."""
    ok = all(map(right, traces)) and any(map(caught, traces))
    return min(map(doubted, traces)) if ok else None


def spoilt(traces: tuple[Trace, ...]) -> float | None:
    """The end is wrong; the more right statements were lost on the way the better."""
    return lost(traces[0]) or None if wrong(traces[0]) else None


def spoilt_at_last(traces: tuple[Trace, ...]) -> float | None:
    """The last proposal is right as a whole and the end wrong; the more was lost on the way the better."""
    proposals = [entry for entry in traces[0].passes if entry.phase == "propose"]
    verdicts = {check.verdict for check in proposals[-1].checks}
    return spoilt(traces) if verdicts == {"right"} else None


def ends_right(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs all end right."""
    return 0.0 if all(map(right, traces)) else None


def ends_wrong(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs all end wrong."""
    return 0.0 if all(map(wrong, traces)) else None


def right_then_wrong(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose first run ends right and whose second one ends wrong."""
    return 0.0 if right(traces[0]) and wrong(traces[1]) else None


def right_and_spoilt(traces: tuple[Trace, ...]) -> float | None:
    """The first run ends right, the second one wrong; the more right statements it lost the better."""
    return spoilt(traces[1:]) if right(traces[0]) else None


def ends(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs all come to the end token."""
    return 0.0 if all(trace.end.finished == "end_token" for trace in traces) else None


def bent(traces: tuple[Trace, ...]) -> float | None:
    """The equations lead to the end that was given; the fewer of them are wrong the better."""
    verdicts = [check.verdict for check in traces[0].passes[-1].checks[:-1]]
    leads = "= 30 ; #### 30" in traces[0].end.text
    return -float(verdicts.count("wrong")) if leads and verdicts else None


def any_seed(traces: tuple[Trace, ...]) -> float | None:
    """The first seed of all."""
    return 0.0


SHARING, DOUBLING, TWO_PEOPLE, EARNING = 2, 0, 3, 1
ONCE, GAP, ACROSTIC = STORY_PROMPTS[0].prompt, STORY_PROMPTS[2].prompt, STORY_PROMPTS[3].prompt
# Stories are drawn as one would for reading: small models are unsure of much, and what is unlikely is often wrong.
READ = {"steps": 16, "temperature": CAUTIOUS}

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "doubts-mend",
        "Second thoughts that help",
        "ARPC drafts a block, reads it left to right, throws back what it doubts: a wrong sum is mended.",
        "a wrong statement on the way, a right answer at the end, the same seed wrong without corrector; of these the"
        " one with most doubted tokens",
        mended_only_there,
        (
            Run("doubts-mend", "math-masked", SHARING, "arpc"),
            Run("no-second-thoughts", "math-masked", SHARING, "ancestral"),
        ),
        shown=("doubts-mend",),
    ),
    Entry(
        "doubts-spoil",
        "Second thoughts that hurt",
        "A corrector is no proof: the last re-noising throws back a digit of the right answer.",
        "an answer that is right in the last proposal and wrong at the end; of these the one in which most right"
        " statements were lost on the way",
        spoilt_at_last,
        (Run("doubts-spoil", "math-masked", EARNING, "arpc"),),
    ),
    Entry(
        "uniform-in-two-steps",
        "Uniform noise in two steps",
        "Random words at first, any of which may change in the second step; two are seldom enough.",
        "the first that ends wrong",
        ends_wrong,
        (Run("uniform-in-two-steps", "math-uniform", SHARING, "ancestral", {"steps": 2}),),
    ),
    Entry(
        "left-to-right",
        "Left to right",
        "Block size 1: one token for each network call, with all before it in view.",
        "the first that ends right",
        ends_right,
        (Run("left-to-right", "math-masked", SHARING, "ar"),),
    ),
    Entry(
        "prompt-inside-a-block",
        "A block that begins with the prompt",
        "The prompt ends inside a block of 32: its tokens stand fast, the rest is drafted.",
        "the first that ends right",
        ends_right,
        (Run("prompt-inside-a-block", "math-uniform", DOUBLING, "arpc", {"block_size": 32, "steps": 8}),),
    ),
    Entry(
        "one-block",
        "The whole canvas in one block",
        "B = L: all is drafted at once, with no finished block to lean on and nothing in the cache.",
        "the first that comes to the end token",
        ends,
        (Run("one-block", "math-uniform", DOUBLING, "arpc", {"block_size": 128, "steps": 16}),),
    ),
    Entry(
        "written-backwards",
        "A gap before a given end",
        "The end is given, 30 instead of 28: seen from both sides, the steps in the gap are bent towards it.",
        "equations that lead to the given end; of these the first with the fewest wrong ones",
        bent,
        (Run("written-backwards", "math-masked", DOUBLING, "canvas", {"steps": 16}, "[[15]] #### 30"),),
    ),
    Entry(
        "where-it-looks",
        "Where it looks",
        "The last layer’s attention is recorded: choose “was looked at” in the Attention view.",
        "the first that ends right",
        ends_right,
        (
            Run(
                "where-it-looks",
                "math-masked",
                DOUBLING,
                "arpc",
                {"block_size": 8, "steps": 3, "record_attention": "mean"},
            ),
        ),
    ),
    Entry(
        "with-or-without",
        "With and without second thoughts",
        "One model, prompt and seed: with ARPC on the left, without a corrector on the right.",
        shown=("doubts-mend", "no-second-thoughts"),
    ),
    Entry(
        "doubts-of-its-own-or-none",
        "Doubting by entropy, doubting by lot",
        "As many tokens go back: on the left where the prediction is spread out (EIPC), on the right by lot.",
        "right on the left, wrong on the right; of these the one in which most right statements were lost on the right",
        right_and_spoilt,
        (
            Run("own-doubts", "math-masked", SHARING, "eipc"),
            Run("random-doubts", "math-masked", SHARING, "random"),
        ),
    ),
    Entry(
        "masked-beside-uniform",
        "Masked beside uniform",
        "Masked tokens come once and stay unless doubted; uniform ones may change at every step.",
        "both answers right, one of them wrong on the way; of these the one with most doubted tokens",
        both_mended,
        (
            Run("two-people-masked", "math-masked", TWO_PEOPLE, "arpc"),
            Run("two-people-uniform", "math-uniform", TWO_PEOPLE, "arpc"),
        ),
    ),
    Entry(
        "blocks-of-4-and-32",
        "Blocks of 4 beside blocks of 32",
        "Four steps a block: small blocks cost more network calls, and have more finished text to go by.",
        "the first whose blocks of 4 end right and whose blocks of 32 end wrong",
        right_then_wrong,
        (
            Run("blocks-of-4", "math-masked", DOUBLING, "ancestral", {"block_size": 4, "steps": 4}),
            Run("blocks-of-32", "math-masked", DOUBLING, "ancestral", {"block_size": 32, "steps": 4}),
        ),
    ),
    Entry(
        "story-second-thoughts",
        "A story, sixteen tokens at a time",
        "ARPC drafts a block of the story, reads it left to right and throws back what does not follow.",
        "the first seed of all",
        any_seed,
        (
            Run("story-second-thoughts", "stories-masked", ONCE, "arpc", READ),
            Run("story-first-thoughts", "stories-masked", ONCE, "ancestral", READ),
        ),
        shown=("story-second-thoughts",),
        seeds=1,
        task="stories",
    ),
    Entry(
        "story-gap",
        "Between two sentences",
        "Beginning and end are given: the gap is filled with both in view, the surest tokens first.",
        "the first seed of all",
        any_seed,
        (Run("story-gap", "stories-masked", GAP, "canvas", {"steps": 24, "temperature": CAUTIOUS}),),
        seeds=1,
        task="stories",
    ),
    Entry(
        "story-acrostic",
        "An acrostic",
        "The beginning of each sentence is given, and their first letters spell LILY; the rest is filled in.",
        "the first seed of all",
        any_seed,
        (
            Run(
                "story-acrostic", "stories-masked", ACROSTIC, "canvas", {"steps": 40, "temperature": CAUTIOUS}
            ),
        ),
        seeds=1,
        task="stories",
    ),
    Entry(
        "story-with-or-without",
        "A story with and without second thoughts",
        "One model, beginning and seed: with ARPC on the left, without a corrector on the right.",
        shown=("story-second-thoughts", "story-first-thoughts"),
        task="stories",
    ),
    Entry(
        "stories-masked-beside-uniform",
        "A story from masked and from uniform noise",
        "Both noises begin the same story with ARPC; no checker says which is better.",
        "the first seed of all",
        any_seed,
        (Run("story-uniform", "stories-uniform", ONCE, "arpc", READ),),
        shown=("story-second-thoughts", "story-uniform"),
        seeds=1,
        task="stories",
    ),
)
