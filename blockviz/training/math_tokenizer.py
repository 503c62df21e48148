"""The tokenizer of the word problems: a few hundred words, and numbers digit by digit.

Everything a person may type differently is put right inside tokenizer.json, so that any reader of that file agrees
with us.
"""

from __future__ import annotations

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from blockviz.training.word_problems import WORDS

END = "<eos>"

_SIGNS = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2010": "-",
    "\u2011": "-",
    "\u2012": "-",
    "\u2013": "-",
    "\u2014": "-",
    "\u2212": "-",
    "\u00d7": "*",
    "\u22c5": "*",
    "\u00b7": "*",
    "\u00f7": "/",
    "\u2215": "/",
}
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def _number_words() -> list[normalizers.Normalizer]:
    """`twenty-five` and `twenty five` to 25, `twelve` to 12: tens first, as a unit may follow them."""
    units = "|".join(_UNITS)
    rules: list[tuple[str, str]] = []
    for value, word in enumerate(_TENS, start=2):
        rules.append((rf"(?<![\p{{L}}-]){word}(?:-|\s+)(?=(?:{units})(?![\p{{L}}-]))", str(value)))
        rules.append((rf"(?<!\p{{L}}){word}(?!\p{{L}})", f"{value}0"))
    for value, word in enumerate(("zero", *_UNITS, *_TEENS)):
        rules.append((rf"(?<!\p{{L}}){word}(?!\p{{L}})", str(value)))
    return [normalizers.Replace(Regex(pattern), value) for pattern, value in rules]


def _normalizer() -> normalizers.Normalizer:
    return normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.Lowercase(),
            *[normalizers.Replace(sign, plain) for sign, plain in _SIGNS.items()],
            normalizers.Replace(Regex(r"(?<=\d)\s*x\s*(?=\d)"), " * "),
            normalizers.Replace(Regex(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
            *_number_words(),
        ]
    )


# Decimal fractions and words with an apostrophe or a hyphen stay whole, so that they can be named as unknown.
_PIECES = r"\d+\.\d+|\d|####|<[^<>\s]*>|\p{L}+(?:['-]\p{L}+)*|\S"


def vocabulary() -> dict[str, int]:
    """Word to id: the end token, ten digits, signs, then words, in an order that never changes by itself."""
    signs = [word for word in WORDS if not word.isalpha()]
    words = [word for word in WORDS if word.isalpha()]
    return {word: i for i, word in enumerate([END, *"0123456789", *signs, *words])}


def build() -> Tokenizer:
    """The word-level tokenizer with its normalisation and its decoder; text it has no word for raises when encoded."""
    tokenizer = Tokenizer(models.WordLevel(vocabulary(), unk_token=""))
    tokenizer.normalizer = _normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_PIECES), behavior="removed", invert=True)
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix="\u2581", cleanup=False),  # a space before every word but the first
            decoders.Fuse(),
            decoders.Replace(Regex(r"(?<=\d) (?=\d)"), ""),
        ]
    )
    tokenizer.add_special_tokens([AddedToken(END, special=True, normalized=False)])
    return tokenizer
