"""The graph of what sentences share, and the network over it, spelled out."""

import copy
import json

import numpy as np
import pytest
import torch
from torch import nn

from bert4so.document import Document, Puzzle
from bert4so.errors import UserError
from bert4so.modeling.document_encoders.graph_network import GraphDocument
from bert4so.modeling.inputs import graph_input as graph
from bert4so.modeling.inputs.graph_input import GraphBatch, GraphInput, GraphSettings
from bert4so.modeling.inputs.words_input import WordsInput
from bert4so.systems import se_graph
from bert4so.text.vocabulary import UNKNOWN, Vocabulary

STORY = {
    "a dog saw a cat": {"dog": 3, "cat": 2},
    "it rained": {},
    "the cat ran to a house": {"cat": 3, "house": 1},
    "dog and cat slept": {"dog": 3, "cat": 1},
    "a bird sang": {"bird": 3},
}
"""Sentences with their nouns and roles: dogs and cats are shared, houses and birds are not."""


class Knowing:
    """A tagger that knows the story, and nothing of other sentences."""

    tagger = name = "words"

    def __call__(self, sentences):
        return [STORY.get(sentence, {}) for sentence in sentences]


@pytest.fixture
def story_input():
    return GraphInput(WordsInput(Vocabulary(["cat", "dog", "house"]), max_words=10), Knowing())


def test_the_graph_of_a_story(story_input):
    longer = Puzzle(tuple("abcdef"), [0, 1, 2, 3, 4, 5])
    batch = story_input([longer, Puzzle(tuple(STORY), [0, 1, 2, 3, 4]), longer])
    cat, dog = 2, 3  # after padding and the unknown word
    assert batch.entities.tolist() == [dog, cat]
    assert batch.document.tolist() == [1, 1]
    # The first sentence of the second document is the seventh of the batch.
    assert sorted(batch.links.tolist()) == [
        [6, 0, 3], [6, 1, 2], [8, 1, 3], [9, 0, 3], [9, 1, 1],
    ]  # fmt: skip
    linked = {(0, 2), (2, 0), (0, 3), (3, 0), (2, 3), (3, 2)}
    assert {tuple(pair) for pair in batch.shared[1].nonzero().tolist()} == linked
    assert not batch.shared[[0, 2]].any()


def test_the_graph_follows_the_shuffle(story_input):
    # A cycle: an order that is not its own inverse.
    shown = [3, 0, 1, 2, 4]
    sentences = tuple(STORY)
    told = story_input([Puzzle(sentences)])
    shuffled = story_input([Puzzle(tuple(sentences[i] for i in shown))])
    by_word = [
        {(shown[i] if moved else i, int(batch.entities[e]), role) for i, e, role in links}
        for batch, moved in ((told, False), (shuffled, True))
        for links in [batch.links.tolist()]
    ]
    assert by_word[0] == by_word[1]
    assert (shuffled.shared[0] == told.shared[0][shown][:, shown]).all()
    assert not (shuffled.shared == told.shared).all()


def test_an_entity_that_is_no_word_of_the_vocabulary_is_unknown():
    known = GraphInput(WordsInput(Vocabulary(["dog"]), max_words=10), Knowing())
    assert known([Puzzle(tuple(STORY))]).entities.tolist() == [2, UNKNOWN]


def test_a_long_document_takes_room_for_what_is_there():
    known, n = GraphInput.of([], GraphSettings(tagger="words")), 200
    batch = known([Puzzle(tuple(f"common number{chr(97 + i % 20) * 3} x{i}" for i in range(n)))])
    assert len(batch.entities) == 21
    assert len(batch.links) == 2 * n


def test_a_saved_input_is_the_same(tmp_path):
    documents = [Document("a", ("the dog ran", "the dog sat", "it rained"))]
    made = GraphInput.of(documents, GraphSettings(tagger="words"))
    made.save(tmp_path)
    again = GraphInput.load(tmp_path)
    one, two = (known([Puzzle(documents[0].sentences)]) for known in (made, again))
    assert one.links.tolist() == two.links.tolist() != []
    assert one.entities.tolist() == two.entities.tolist()
    assert json.loads((tmp_path / "graph.json").read_text())["version"] == "words"


def test_a_tagger_that_a_model_learned_with_must_be_there(story_input, tmp_path, capsys):
    story_input.save(tmp_path)
    facts = tmp_path / "graph.json"
    facts.write_text('{"tagger": "xx_none", "version": "spacy xx_none 1"}')
    with pytest.raises(UserError, match=r'graph.json: noun tagger "xx_none" is not installed'):
        GraphInput.load(tmp_path)
    facts.write_text('{"tagger": "words", "version": "words 0"}')
    for _ in range(2):
        GraphInput.load(tmp_path)
    said = "trained with 'words 0', but words is installed"
    assert capsys.readouterr().err.count(said) == 1


# The network

WIDTH, ENTITY, ROLE, WORD = 6, 4, 3, 5
DOCUMENTS = [
    # Sentences; and of each entity its word, the sentences it is in and its roles there.
    (4, [(2, {0: 3, 2: 1}), (3, {0: 1, 1: 2, 2: 3}), (2, {1: 1, 3: 1})]),
    (3, []),
    (1, []),
    (5, [(4, {1: 2, 4: 2})]),
]


def make_batch(documents):
    """The batch of some documents, put together by hand."""
    n = max(n for n, _ in documents)
    mask, shared = torch.zeros(len(documents), n, dtype=torch.bool), []
    entities, document, links = [], [], []
    for d, (length, some) in enumerate(documents):
        mask[d, :length] = True
        pairs = torch.zeros(n, n, dtype=torch.bool)
        for word, places in some:
            for i, role in places.items():
                links.append((d * n + i, len(entities), role))
                for j in places:
                    pairs[i, j] = i != j
            entities.append(word)
            document.append(d)
        shared.append(pairs)
    nothing = torch.zeros(0, dtype=torch.long)
    return GraphBatch(
        mask=mask,
        order=None,
        cut=~mask,
        words=mask[..., None].long(),
        lengths=mask.long(),
        entities=torch.tensor(entities) if entities else nothing,
        document=torch.tensor(document) if entities else nothing,
        links=torch.tensor(links) if links else nothing.reshape(0, 3),
        shared=torch.stack(shared),
    )


@pytest.fixture
def network():
    torch.manual_seed(0)
    words = nn.Embedding(6, WORD)
    return GraphDocument((words.forward, WORD), WIDTH, ENTITY, ROLE, layers=3, dropout=0.0)


@pytest.fixture
def vectors():
    torch.manual_seed(1)
    n = max(n for n, _ in DOCUMENTS)
    return torch.randn(len(DOCUMENTS), n, WIDTH)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(cell, x, h):
    """The equations of Cho et al. (2014), in PyTorch's form: the reset gate after the product."""
    w, u, b, c = (
        weight.detach().double().numpy().reshape(3, len(h), -1).squeeze()
        for weight in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    )
    r = sigmoid(w[0] @ x + b[0] + u[0] @ h + c[0])
    z = sigmoid(w[1] @ x + b[1] + u[1] @ h + c[1])
    new = np.tanh(w[2] @ x + b[2] + r * (u[2] @ h + c[2]))
    return z * h + (1 - z) * new


def gated(layer, given, passed):
    weight, bias = (each.detach().double().numpy() for each in (layer.weight, layer.bias))
    return sigmoid(weight @ np.concatenate(given) + bias) * np.concatenate(passed)


def by_hand(network, layers, x, entities):
    """Section 3.2 of Yin et al. (2019), one node at a time: the states of the sentences, and g."""
    embedding = network.words.__self__.weight.detach().double().numpy()
    s = [np.zeros(WIDTH) for _ in x]
    e = [np.zeros(ENTITY) for _ in entities]
    g = np.zeros(WIDTH)
    for _ in range(layers):
        new_s = []
        for i in range(len(x)):
            seen = [x[i], from_neighbors(i, s, entities), from_its(network, i, s, e, entities), g]
            new_s.append(gru(network.sentence_cell, np.concatenate(seen), s[i]))
        new_e = []
        for k, (word, places) in enumerate(entities):
            seen = [embedding[word], from_where(network, e[k], s, places), g]
            new_e.append(gru(network.entity_cell, np.concatenate(seen), e[k]))
        s, e = new_s, new_e
        mean_s = sum(s) / len(s)
        mean_e = sum(e, np.zeros(ENTITY)) / (len(entities) + 1)
        g = gru(network.document_cell, np.concatenate([mean_s, mean_e]), g)
    return np.array(s), g


def from_neighbors(i, s, entities):
    """a_i"""
    total = np.zeros(WIDTH)
    for j in range(len(s)):
        if j != i and any(i in places and j in places for _, places in entities):
            total += s[j]
    return total


def from_its(network, i, s, e, entities):
    """b_i"""
    total = np.zeros(ENTITY + ROLE)
    for k, (_, places) in enumerate(entities):
        if i in places:
            r = role_vector(network, places[i])
            total += gated(network.from_entities, [s[i], e[k], r], [e[k], r])
    return total


def from_where(network, e, s, places):
    """c_e"""
    total = np.zeros(WIDTH + ROLE)
    for i, role in places.items():
        r = role_vector(network, role)
        total += gated(network.from_sentences, [e, s[i], r], [s[i], r])
    return total


def role_vector(network, role):
    return network.roles.weight[role - 1].detach().double().numpy()


def test_the_network_is_its_equations(network, vectors):
    """In a batch with padding, beside others, without entities, with one sentence."""
    states = network(vectors, make_batch(DOCUMENTS))
    assert states.start is not None
    for d, (n, entities) in enumerate(DOCUMENTS):
        s, g = by_hand(network, 3, vectors[d, :n].double().numpy(), entities)
        np.testing.assert_allclose(states.sentences[d, :n].detach(), s, atol=1e-5)
        np.testing.assert_allclose(states.start[0][d].detach(), g, atol=1e-5)
    assert not states.start[1].any()
    assert states.raw is vectors or torch.equal(states.raw, vectors)


def test_no_entity_in_any_document_of_a_batch(network, vectors):
    states = network(vectors[1:3, :3], make_batch(DOCUMENTS[1:3]))
    states.sentences.sum().backward()
    assert states.sentences.isfinite().all()
    expected, _ = by_hand(network, 3, vectors[1, :3].double().numpy(), [])
    np.testing.assert_allclose(states.sentences[0].detach(), expected, atol=1e-5)


def test_what_stands_in_padding_does_not_matter(network, vectors):
    batch = make_batch(DOCUMENTS)
    other = torch.where(batch.mask[..., None], vectors, 7.0)
    one, two = (network(some, batch) for some in (vectors, other))
    assert torch.equal(one.sentences[batch.mask], two.sentences[batch.mask])
    assert torch.equal(one.start[0], two.start[0])


def test_dropout_is_of_vectors_and_of_last_states(network, vectors):
    network.dropout.p = 0.5
    states = network.train()(vectors, make_batch(DOCUMENTS))
    for tensor in (states.raw, states.sentences):
        assert 0.3 < (tensor == 0).double().mean() < 0.7
    assert states.start[0].all()


# The system


@pytest.fixture
def system():
    torch.manual_seed(0)
    config = se_graph.Config(vector=8, hidden=8, entity=4, role=4, beam=200, tagger="words")
    documents = [Document("story", tuple(STORY))]
    return se_graph.build(config, se_graph.make_input(config, documents)).eval()


def test_shuffled_sentences_are_only_relabelled_in_the_answer(system):
    sentences = tuple(STORY)
    (told,) = system.order([Puzzle(sentences)])
    for shown in ([3, 0, 1, 2, 4], [4, 2, 0, 1, 3]):
        (found,) = system.order([Puzzle(tuple(sentences[i] for i in shown))])
        assert found.sentences == told.sentences
        assert [shown[i] for i in found.order] == told.order
        assert found.confidence == pytest.approx(told.confidence, rel=1e-4)


def test_sentences_are_linked_by_what_they_share(system, monkeypatch):
    """The same words, other links: the graph is what makes the difference."""
    puzzle = Puzzle(tuple(STORY), [0, 1, 2, 3, 4])
    linked = system(system.input([puzzle]))
    monkeypatch.setattr(graph, "entities_of", lambda found: {})
    assert abs(system(system.input([puzzle])) - linked) > 1e-4


def test_word_vectors_are_one_set_of_weights(system):
    """What the sentence encoder learns, the graph sees; there is no second copy of it."""
    batch = system.input([Puzzle(tuple(STORY), [0, 1, 2, 3, 4])])
    named = [name for name in system.state_dict() if "vectors" in name or "words" in name]
    assert named == ["sentence_encoder.vectors.weight"]
    for model in (system, copy.deepcopy(system)):
        vectors = model.sentence_encoder(batch)
        before = model.document_encoder(vectors, batch).start[0]
        with torch.no_grad():
            model.sentence_encoder.vectors.weight += 1
        after = model.document_encoder(vectors, batch).start[0]
        assert (before - after).abs().max() > 1e-3
        model.document_encoder(vectors.detach(), batch).start[0].sum().backward()
        learned = model.sentence_encoder.vectors.weight.grad.any(1).nonzero().flatten().tolist()
        assert learned == sorted(set(batch.entities.tolist()))


def test_the_paper_sets_the_layers_by_corpus():
    assert se_graph.Config().layers == 3
    assert se_graph.BY_CORPUS["neurips"] == se_graph.BY_CORPUS["aan"] == {"model": {"layers": 2}}


def test_given_word_vectors_are_where_training_starts(system, tmp_path):
    numbers = [0.5 + k for k in range(8)]
    (tmp_path / "glove.txt").write_text(f"cat {' '.join(map(str, numbers))}\n")
    se_graph.initialize(system, se_graph.Config(vector=8, vectors=str(tmp_path / "glove.txt")))
    cat = system.input.words.vocabulary.number["cat"]
    assert system.sentence_encoder.vectors.weight[cat].tolist() == numbers
