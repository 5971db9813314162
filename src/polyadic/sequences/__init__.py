"""Sequence models: weighted automata, hidden Markov models, n-gram models and sequence taggers."""

from polyadic.core.lazy import attach

HOMES = {
    "HiddenMarkov": "polyadic.sequences.hidden_markov",
    "NGrams": "polyadic.sequences.ngrams",
    "ObservableOperators": "polyadic.sequences.observable_operators",
    "SequenceTagger": "polyadic.sequences.sequence_tagger",
    "SpectralAutomaton": "polyadic.sequences.spectral_automaton",
    "SpectralTransducer": "polyadic.sequences.spectral_transducer",
    "TextTagger": "polyadic.syntax.text_tagger",
    "WeightedAutomaton": "polyadic.sequences.automata",
    "WeightedTransducer": "polyadic.sequences.transducers",
    "read_columns": "polyadic.syntax.columns",
    "tag_features": "polyadic.syntax.tag_features",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
