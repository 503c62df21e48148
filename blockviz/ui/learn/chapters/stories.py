"""Stories: texts that no checker judges."""

from __future__ import annotations

from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import nth
from blockviz.views.revisions import revisions

FEW, MANY, ARPC, AR = "lesson-story-few", "lesson-story-many", "lesson-story-arpc", "lesson-story-ar"
MODEL, STEPS = "stories-masked", 16


def last_draft(trace: Trace) -> int:
    """The last pass in which a draft was proposed."""
    return max(k for k, entry in enumerate(trace.passes) if entry.phase == "propose")


def _facts(runs: Runs) -> Values:
    tally = revisions(runs[ARPC]).tally()
    return {
        "few_steps": str(runs[FEW].header.settings.steps),
        "thrown": str(tally.thrown),
        "same": str(tally.same),
        "better": str(tally.better),
        "worse": str(tally.worse),
    }


def _figures() -> Values:
    return {
        "steps": str(STEPS),
        "few": figures.nll(MODEL, "ancestral", 4),
        "many": figures.nll(MODEL, "ancestral", STEPS),
        "arpc": figures.nll(MODEL, "arpc", STEPS),
        "ar": figures.nll(MODEL, "ar"),
    }


CHAPTER = Chapter(
    name="stories",
    short="Stories",
    title="Stories: where nothing is checked",
    sentences=(
        "A sum is right or wrong; a story is neither, so its reader has to judge whether the words belong together.",
        "With {few_steps} steps for a [[block]] of sixteen, several tokens are drawn in the same [[pass]], each without"
        " seeing the others: every word fits a story, and the sentence breaks.",
        "More steps draw fewer tokens at once, and [[ARPC]] reads the draft from left to right and throws back the"
        " words that do not follow.",
        Measured(
            "A second model, trained apart and left to right alone, reads sampled texts with an [[NLL]] of {few}"
            " [[nats|nat]] per token after {few_steps} steps, {many} after {steps}, {arpc} with ARPC and {ar} for"
            " [[AR]]; lower is likelier.",
            "How likely a second model, trained apart, finds such texts is in the model cards of the checkpoints.",
        ),
        "A likely text need not be a good one: what repeats itself is likely too, so the cards give the variety of the"
        " words beside it.",
    ),
    control=Control(
        "How it is written",
        "The same model, beginning and seed.",
        (
            Option("{steps} steps", FEW, nth("denoise", 2)),
            Option("{steps} steps", MANY, nth("denoise", 8)),
            Option("ARPC", ARPC, nth("propose", 4)),
            Option("left to right", AR, nth("denoise", 8)),
        ),
        chosen=2,
    ),
    outline=Outline("new", "tokens that came in this pass"),
    question=Question(
        "Do the second thoughts of ARPC help the story?",
        "Of {thrown} tokens thrown back {same} came back the same; {better} came back as a token that the reading finds"
        " likelier there, {worse} as one it finds less likely. Whether the story is better for it, read for yourself.",
        2,
        last_draft,
    ),
    facts=_facts,
    figures=_figures,
    sources=("quality", "run"),
    views=("renoising",),
)
