"""Random words, sentences and documents."""

from random import Random

WORDS = (
    *("apple", "bread", "boy", "home", "eat", "sleep", "wake", "model", "data", "results", "first"),
    *("then", "later", "finally", "we", "they", "she", "propose", "show", "house", "walked", "dog"),
)
ALPHABETS = (
    "😀👩‍👩‍👧é\u202eאבג\x00\x07\ufeff.,!?",
    "中文字符の日本語한국어",
    "ÅéñøßĲﬁ\u0301\u0489ⅷ①",
    " \t\u00a0\u2003\u200b\u2028\u2029\x85\x0b\x0c\x1c",
    "0123456789.,-()[]{}<>/\\|\"'`",
    "\ud800\udfff",
)
STRANGE = (
    "[SEP]", "[CLS] [PAD]", "[MASK]", "##s", "...", "\ud800", "null", "{", '{"sentences": []}',
    "-", "a", "A" * 300, "\u0300" * 50, "\x00", "x\ufeff", "<eos>", "1)",
)  # fmt: skip


def words(rng: Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def sentence(rng: Random) -> str:
    """Something in it is not white space."""
    draw = rng.random()
    if draw < 0.6:
        return f"{words(rng, 8).capitalize()}."
    if draw < 0.75:
        return rng.choice(STRANGE)
    if draw < 0.9:
        text = "".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(1, 12)))
    else:
        text = "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randint(1, 12)))
    return text if text.strip() else f"{text}x"


def document(rng: Random) -> list[str]:
    """One to seven sentences, some of them the same; now and then one or many of them long."""
    sentences = [sentence(rng) for _ in range(rng.randint(1, rng.choice([2, 3, 7])))]
    draw = rng.random()
    if draw < 0.1:
        sentences.append(rng.choice(sentences))
    if draw < 0.003:
        sentences.append(f"{words(rng, 8)} " * 500)
    if draw < 0.001:
        sentences *= 30
    return sentences
