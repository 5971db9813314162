"""Models of trees and of semantic roles."""

import numpy as np

from examples import Example
from polyadic import PCFG, ArcFactored, Embedding, HigherOrderParser, LowRankParser, SemanticRoles
from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.latent_grammar import PlainPCFG
from polyadic.syntax.latent_marginals import MarginalParser
from polyadic.syntax.latent_pcfg import LatentPCFG
from polyadic.syntax.predicates import PredicateFinder
from polyadic.syntax.propositions import Argument, Proposition, Sentence
from polyadic.syntax.role_regression import RoleRegression
from polyadic.syntax.spectral_grammar import SpectralGrammar
from polyadic.syntax.split_merge import SplitMergePCFG
from polyadic.syntax.trees import Tree

NONE = ("_",) * 3
TREES = [
    Tree(
        (one, verb, other),
        NONE,
        ("NOUN", "VERB", "NOUN"),
        ("NNS", "VBP", "NNS"),
        NONE,
        np.array([2, 0, 2], np.int32),
        ("nsubj", "root", "obj"),
        NONE,
        NONE,
    )
    for one, verb, other in (("dogs", "chase", "cats"), ("cats", "see", "dogs"), ("dogs", "see", "birds"))
]
VECTORS = Embedding(["dogs", "cats", "see"], [[1.0, 0.0], [0.8, 0.2], [0.0, -1.0]])
SENTENCES = [
    Sentence(tree, (Proposition(2, f"{tree.forms[1]}.01", (Argument(1, "ARG0"), Argument(3, "ARG1")), (2,)),))
    for tree in TREES
]
PHRASES = [
    parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN man))))"),
    parse_phrase("(S (NP (PRP he)) (VP (VBZ sees) (NP (DT a) (NN hat)) (PP (IN with) (NP (DT the) (NN man)))))"),
]
WORDS = ["the", "man", "sees", "a", "gnu"]


def ask_parser(model):
    """Give trees, scores and lists of a parser of dependencies."""
    tree = TREES[0]
    return [
        [parsed.conllu() for parsed in model.annotate(TREES)],
        model.parse(["birds", "sing"], ["NNS", "VBP"], pos=["NOUN", "VERB"]),
        model.scores(tree.forms, tree.xpos),
        model.candidates(tree, k=3),
    ]


def ask_roles(model):
    """Give scores and arguments of a labeller of roles."""
    return [
        model.scores(TREES[0], 2),
        model.arguments(TREES[1], [2]),
        [sentence.conllu() for sentence in model.annotate(SENTENCES, find=True)],
    ]


def parses(model):
    """Give the trees that a grammar lists, as texts, and their scores."""
    return [(str(tree), value) for tree, value in model.k_best(WORDS, k=4)]


EXAMPLES = [
    Example(
        make=lambda: ArcFactored(max_iter=2, bits=10, seed=0),
        fit=lambda model: model.fit(TREES),
        ask=lambda model: [
            model.parse(["birds", "sing"], ["NNS", "VBP"]),
            model.scores(TREES[0].forms, TREES[0].xpos),
            model.k_best(TREES[0].forms, TREES[0].xpos, k=3),
            model.candidates(TREES[1], k=2),
        ],
    ),
    Example(
        make=lambda: LowRankParser(3, max_iter=2, bits=13, vectors=VECTORS, decoding="any"),
        fit=lambda model: model.fit(TREES),
        ask=ask_parser,
    ),
    Example(
        make=lambda: HigherOrderParser(3, order=2, restarts=2, max_iter=2, bits=10),
        fit=lambda model: model.fit(TREES),
        ask=lambda model: [*ask_parser(model), model.score(TREES[0])],
    ),
    Example(make=lambda: SemanticRoles(2, max_iter=2, bits=13), fit=lambda model: model.fit(SENTENCES), ask=ask_roles),
    Example(make=lambda: RoleRegression(bits=10), fit=lambda model: model.fit(SENTENCES), ask=ask_roles),
    Example(
        make=lambda: PredicateFinder(C=10.0),
        fit=lambda model: model.fit(SENTENCES),
        ask=lambda model: [model.find(tree) for tree in TREES],
    ),
    Example(
        make=lambda: PCFG(threshold=1e-4),
        fit=lambda model: model.fit(PHRASES),
        ask=lambda model: [
            parses(model),
            str(model.parse(WORDS, tags=["DT", "NN", "VBZ", "DT", "NN"])),
            model.word_scores(WORDS),
        ],
    ),
    Example(make=lambda: PlainPCFG(threshold=0.0), fit=lambda model: model.fit(PHRASES), ask=parses),
    Example(
        make=lambda: SpectralGrammar(2, context=1, max_length=1, penalty=1e-4),
        fit=lambda model: model.fit(["ab", "aabb", "a", ""] * 3),
        ask=lambda model: [model.probabilities(["ab", "", "b"]), model.brackets(["aabb", "a", ""])],
    ),
    Example(
        make=lambda: LatentPCFG(2, rare=1),
        fit=lambda model: model.fit(PHRASES),
        ask=lambda model: [str(model.parse(WORDS)), [model.log_probability(tree) for tree in PHRASES]],
    ),
    Example(
        make=lambda: SplitMergePCFG(1, rare=1, sweeps=2),
        fit=lambda model: model.fit(PHRASES),
        ask=lambda model: [str(model.parse(WORDS)), [model.log_probability(tree) for tree in PHRASES]],
    ),
    Example(
        make=lambda: MarginalParser(LatentPCFG(2, rare=1), cost=0.3),
        fit=lambda model: model.fit(PHRASES),
        ask=lambda model: [str(model.parse(WORDS)), model.marginals(WORDS)],
    ),
]
