"""Words: their numbers, their vectors, and the sentences they make."""

import gzip

import pytest
import torch

from bert4so.document import Document, Puzzle
from bert4so.errors import UserError
from bert4so.modeling.inputs.words_input import WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import (
    BothEnds,
    ConvolutionEncoder,
    LastHidden,
    LastStates,
)
from bert4so.systems import SYSTEMS
from bert4so.text.vocabulary import UNKNOWN, Vocabulary, read_vectors, words
from conftest import tiny_run

VECTOR, HIDDEN, VOCABULARY = 4, 3, 20
ON_WORDS = [name for name, one in SYSTEMS.items() if "vectors" in one.Config.model_fields]


def test_words_are_in_lower_case_and_signs_are_words():
    assert words("We don't pay $3.50!") == ["we", "don", "'", "t", "pay", "$", "3", ".", "50", "!"]


def test_the_most_frequent_words_are_known():
    documents = [Document("a", ("b b a", "c a b")), Document("b", ("d",))]
    vocabulary = Vocabulary.of(documents, most=3)
    assert vocabulary.known == ["b", "a", "c"]  # of c and d, which are equals, by the alphabet
    assert vocabulary.ids("A b d z") == [3, 2, UNKNOWN, UNKNOWN]
    assert vocabulary.ids("\u200b ") == [UNKNOWN]
    assert len(vocabulary) == 5


def test_a_vocabulary_is_kept(tmp_path):
    vocabulary = Vocabulary(["é", '"', "a"])
    vocabulary.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json").known == vocabulary.known
    (tmp_path / "vocabulary.json").write_text('["a", 3]')
    with pytest.raises(UserError, match="must hold a list of strings"):
        Vocabulary.load(tmp_path / "vocabulary.json")


def test_a_batch_of_words():
    input = WordsInput(Vocabulary(["a", "b", "c"]), max_words=3)
    batch = input([Puzzle(("a b", "c"), [1, 0]), Puzzle(("a b c a",), [0])])
    assert batch.words.tolist() == [[[2, 3, 0], [4, 0, 0]], [[2, 3, 4], [0, 0, 0]]]
    assert batch.lengths.tolist() == [[2, 1], [3, 0]]
    assert batch.cut.tolist() == [[False, False], [True, False]]
    assert (batch.tokens, batch.padded_tokens) == (6, 12)
    assert input.size(Puzzle(("a b c a", "a"))) == 4


def test_vectors_are_read_in_gloves_form(tmp_path):
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(b"the 0.1 0.2\nat a@b.c 3 4\ncat -1 2e-1\n"))
    assert read_vectors(path, Vocabulary(["dog", "cat", "at"]), 2) == {3: [-1, 0.2]}
    for width in (1, 3):
        wanted = rf"glove\.txt\.gz:1: the vector must have {width} values \(got 2\)"
        with pytest.raises(UserError, match=wanted):
            read_vectors(path, Vocabulary(["cat"]), width)
    with pytest.raises(UserError, match="contains none of the words of the corpus"):
        read_vectors(path, Vocabulary(["dog"]), 2)


@pytest.mark.parametrize(
    "system", [n for n, s in SYSTEMS.items() if "vectors" in s.Config.model_fields]
)
def test_training_starts_from_the_vectors_given(system, encoder, documents, tmp_path):
    width = 16
    lines = [f"bread {' '.join(['0.5'] * width)}", f"sleep {' '.join(['-2'] * width)}"]
    (tmp_path / "glove.txt").write_text("\n".join(lines))
    given = {"vectors": str(tmp_path / "glove.txt"), "vector": width}
    run = tiny_run(system, encoder, tmp_path, model=given)
    module = SYSTEMS[system]
    model = module.build(run.model, module.make_input(run.model, documents))
    before = model.sentence_encoder.vectors.weight.clone()
    module.initialize(model, run.model)
    after = model.sentence_encoder.vectors.weight
    number = getattr(model.input, "words", model.input).vocabulary.number
    assert (after[number["bread"]] == 0.5).all()
    assert (after[number["sleep"]] == -2).all()
    assert after[number["day"]].equal(before[number["day"]])


def encoders():
    yield ConvolutionEncoder(VOCABULARY, VECTOR, filters=2, dropout=0.0)
    yield LastStates(VOCABULARY, VECTOR, HIDDEN, dropout=0.0)
    yield LastHidden(VOCABULARY, VECTOR, HIDDEN, dropout=0.0)
    yield BothEnds(VOCABULARY, VECTOR, 2 * HIDDEN, dropout=0.0)


def by_hand(encoder, ids):
    """The vector of one sentence, alone and without padding."""
    rows = encoder.vectors.weight[torch.tensor(ids)]
    if isinstance(encoder, ConvolutionEncoder):
        found = [
            max(max(convolved(convolution, f, rows, t).item(), 0.0) for t in range(len(ids)))
            for convolution in encoder.convolutions
            for f in range(2)
        ]
        return torch.tensor(found)
    if isinstance(encoder, BothEnds):
        return torch.cat([encoder.forth(rows)[1][0][0], encoder.back(rows.flip(0))[1][0][0]])
    _, (hidden, cell) = encoder.lstm(rows)
    return torch.cat([cell[0], hidden[0]]) if isinstance(encoder, LastStates) else hidden[0]


def convolved(convolution, f, rows, t):
    """A filter at one place: the words around it, as far as there are some."""
    size = convolution.kernel_size[0]
    value = convolution.bias[f]
    for k in range(size):
        place = t + k - (size - 1) // 2
        if 0 <= place < len(rows):
            value = value + convolution.weight[f, :, k] @ rows[place]
    return value


@pytest.mark.parametrize("which", range(4))
def test_a_sentence_is_encoded_by_itself(which):
    torch.manual_seed(0)
    encoder = list(encoders())[which]
    input = WordsInput(Vocabulary([f"w{k}" for k in range(VOCABULARY - 2)]), max_words=50)
    puzzles = [
        Puzzle(("w1 w2 w3 w4 w5 w6 w7", "w8", "w3 w3")),
        Puzzle(("unknown w1", "w2 w9 w10 w11 w12 w13 w14 w15 w16")),
    ]
    batch = input(puzzles)
    found = encoder(batch)
    assert found.shape == (2, 3, encoder.width)
    for d, puzzle in enumerate(puzzles):
        for i, sentence in enumerate(puzzle.sentences):
            alone = by_hand(encoder, input.vocabulary.ids(sentence))
            torch.testing.assert_close(found[d, i], alone, rtol=1e-4, atol=1e-5)
