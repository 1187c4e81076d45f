from bert4so import Document
from bert4so.data.corpus import sampled

DOCUMENTS = [Document(f"d{i % 90}", (f"sentence {i}",)) for i in range(100)]  # ids may recur


def test_a_sample_is_part_of_every_larger_one():
    small, large = sampled(DOCUMENTS, 10), sampled(DOCUMENTS, 50)
    assert (len(small), len(large)) == (10, 50)
    assert [d for d in large if d in small] == small


def test_a_sample_stands_in_the_order_of_the_corpus():
    places = [DOCUMENTS.index(document) for document in sampled(DOCUMENTS, 30)]
    assert places == sorted(places)
    assert places != list(range(30))


def test_without_a_number_all_are_taken():
    assert sampled(DOCUMENTS, 0) == sampled(DOCUMENTS, 1000) == DOCUMENTS
