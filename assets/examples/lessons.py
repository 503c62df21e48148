"""The runs of the Learn tab as data: which chapter each is for, how it is made, and which of the seeds tried is taken.

`make.py` records them beside the runs of the gallery. The runs of a lesson share one seed, so that its control turns
one thing only.
"""

from __future__ import annotations

from entries import DOUBLING, EARNING, ONCE, Entry, Run, Score, caught, doubted, right, wrong

from blockviz.evaluation.tasks import Task
from blockviz.sampling.trace import Trace
from blockviz.views.revisions import revisions

SHORT = {"length": 64}
"""A canvas of four rows, which has room for the prompt and its answer."""
SMALL_BLOCKS = {"block_size": 8, "steps": 4}
"""Small enough that the answer takes three blocks."""


def ended(trace: Trace) -> bool:
    """Whether the run wrote its end token."""
    return trace.end.finished == "end_token"


def same_and_right(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs all end with the same right text."""
    return all_right(traces) if len({trace.end.text for trace in traces}) == 1 else None


def all_right(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs all end right."""
    return 0.0 if all(map(right, traces)) else None


def restless(traces: tuple[Trace, ...]) -> float | None:
    """Both come to the end, the second one right; the more of its drawn tokens were drawn anew the better."""
    masked, uniform = traces
    if not (ended(masked) and right(uniform)):
        return None
    return float(sum(int((entry.reasons == 3).sum()) for entry in uniform.passes))


def copied(trace: Trace) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the first result and of the number that the next statement begins with."""
    words = [trace.pieces[int(token)] for token in trace.passes[-1].tokens]
    start = words.index("=", trace.header.prompt_length) + 1
    stop = start + 2
    return tuple(range(start, stop)), tuple(range(stop + 1, stop + 3))


def steps_help(traces: tuple[Trace, ...]) -> float | None:
    """One and two steps end wrong, eight and sixteen right, and after two the first result, a number of two digits, and
    its copy in the next statement were drawn in one pass and differ; the first seed of these."""
    if not (wrong(traces[0]) and wrong(traces[1]) and right(traces[3]) and right(traces[4])):
        return None
    trace = traces[1]
    words = [trace.pieces[int(token)] for token in trace.passes[-1].tokens]
    result, copy = copied(trace)
    pairs = [[words[position] for position in positions] for positions in (result, copy)]
    together = any(
        entry.phase == "denoise"
        and all(entry.reasons[position - entry.start] == 2 for position in (*result, *copy))
        for entry in trace.passes
        if entry.start <= result[0] and copy[-1] < entry.stop
    )
    digits = all(word.isdigit() for pair in pairs for word in pair)
    return 0.0 if digits and words[result[-1] + 1] == ";" and pairs[0] != pairs[1] and together else None


def chance_helps(traces: tuple[Trace, ...]) -> float | None:
    """The first run ends wrong, the second right; the more thrown tokens came back changed the better."""
    if not (wrong(traces[0]) and right(traces[1])):
        return None
    tally = revisions(traces[1]).tally()
    return float(tally.thrown - tally.same)


def only_informed(traces: tuple[Trace, ...]) -> float | None:
    """Only the last run ends right, after an error on the way; the more it doubted the better."""
    fits = all(map(wrong, traces[:-1])) and right(traces[-1]) and caught(traces[-1])
    return float(doubted(traces[-1])) if fits else None


def only_the_largest_fails(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs end right but for the last one, which ends wrong."""
    return 0.0 if all(map(right, traces[:-1])) and wrong(traces[-1]) else None


def lesson(
    name: str, rule: str, score: Score, runs: tuple[Run, ...], seeds: int = 64, task: Task = "math"
) -> Entry:
    """The runs of one chapter; its title and sentences stand in blockviz/ui/learn."""
    return Entry(name, "", "", rule, score, runs, seeds=seeds, task=task)


def only_plain_fails(traces: tuple[Trace, ...]) -> float | None:
    """The first seed whose runs end right but for the first one, which ends wrong."""
    return 0.0 if wrong(traces[0]) and all(map(all_statements, traces[1:])) else None


def second_thoughts_help(traces: tuple[Trace, ...]) -> float | None:
    """The first seed with which more thrown tokens of the third run came back likelier than less likely."""
    tally = revisions(traces[2]).tally()
    return 0.0 if tally.better > tally.worse else None


def all_statements(trace: Trace) -> bool:
    """Whether everything that the checker judged at the end is right, with or without an end token of its own."""
    return {check.verdict for check in trace.passes[-1].checks} == {"right"}


LESSONS: tuple[Entry, ...] = (
    lesson(
        "lesson-start",
        "the first seed with which both write the same right text",
        same_and_right,
        (
            Run("lesson-left-to-right", "math-masked", EARNING, "ar", SHORT),
            Run("lesson-in-blocks", "math-masked", EARNING, "ancestral", SHORT),
        ),
        seeds=512,
    ),
    lesson(
        "lesson-reveal",
        "the first seed with which all write the same right text",
        same_and_right,
        tuple(
            Run(
                f"lesson-reveal-{name}",
                "math-masked",
                EARNING,
                preset,
                {**SHORT, "block_size": 32, **settings},
            )
            for name, preset, settings in (
                ("even", "confident", {"steps": 8}),
                ("cosine", "confident", {"steps": 8, "reveal": "cosine"}),
                ("threshold", "threshold", {}),
            )
        ),
    ),
    lesson(
        "lesson-cache",
        "the first seed with which both write the same right text",
        same_and_right,
        (
            Run("lesson-cached", "math-masked", EARNING, "ancestral", {**SHORT, **SMALL_BLOCKS}),
            Run(
                "lesson-recomputed",
                "math-masked",
                EARNING,
                "ancestral",
                {**SHORT, **SMALL_BLOCKS, "use_cache": False},
            ),
        ),
    ),
    lesson(
        "lesson-noise",
        "both come to the end, the uniform run right; of these the one with most tokens drawn anew",
        restless,
        (
            Run("lesson-masked", "math-masked", DOUBLING, "ancestral", SHORT),
            Run("lesson-uniform", "math-uniform", DOUBLING, "ancestral", SHORT),
        ),
        seeds=256,
    ),
    lesson(
        "lesson-steps",
        "wrong after one and two steps, right after eight and sixteen, and with two the first result and its copy were"
        " drawn in one pass and differ; the first of these",
        steps_help,
        tuple(
            Run(f"lesson-steps-{steps}", "math-masked", EARNING, "eipc", {**SHORT, "steps": steps})
            for steps in (1, 2, 4, 8, 16)
        ),
    ),
    lesson(
        "lesson-chance",
        "wrong without corrector, right with the random one; of these the one with most thrown tokens changed",
        chance_helps,
        (
            Run("lesson-no-corrector", "math-uniform", EARNING, "ancestral", {**SHORT, "steps": 16}),
            Run("lesson-random", "math-uniform", EARNING, "random", {**SHORT, "steps": 16}),
        ),
    ),
    lesson(
        "lesson-arpc",
        "wrong without corrector and with the random one, right with ARPC after an error on the way; of these the"
        " one with most doubted tokens",
        only_informed,
        tuple(
            Run(f"lesson-arpc-{name}", "math-masked", EARNING, preset, SHORT)
            for name, preset in (("none", "ancestral"), ("random", "random"), ("informed", "arpc"))
        ),
    ),
    lesson(
        "lesson-dial",
        "the first seed with which all end right but the largest block",
        only_the_largest_fails,
        tuple(
            Run(
                f"lesson-block-{size}",
                "math-masked",
                EARNING,
                "eipc",
                {**SHORT, "block_size": size, "steps": min(size, 8)},
            )
            for size in (1, 4, 16, 64)
        ),
    ),
    lesson(
        "lesson-seams",
        "the first seed with which the blocks without overlap end wrong, and all the others right",
        only_plain_fails,
        (
            Run("lesson-seams-none", "math-masked", EARNING, "ancestral", {**SHORT, **SMALL_BLOCKS}),
            Run(
                "lesson-seams-overlap",
                "math-masked",
                EARNING,
                "overlap",
                {**SHORT, **SMALL_BLOCKS, "overlap": 2},
            ),
            Run("lesson-seams-again", "math-masked", EARNING, "seams", {**SHORT, **SMALL_BLOCKS}),
            Run("lesson-gap", "math-masked", EARNING, "canvas", {**SHORT, "steps": 9}, "[[18]] #### 31"),
        ),
        seeds=256,
    ),
    lesson(
        "lesson-story",
        "the first seed whose ARPC run changes more of the thrown tokens for likelier than for less likely ones",
        second_thoughts_help,
        tuple(
            Run(f"lesson-story-{name}", "stories-masked", ONCE, preset, {**SHORT, **settings})
            for name, preset, settings in (
                ("few", "ancestral", {"steps": 4}),
                ("many", "ancestral", {"steps": 16}),
                ("arpc", "arpc", {"steps": 16}),
                ("ar", "ar", {}),
            )
        ),
        task="stories",
    ),
)
