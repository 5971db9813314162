"""Sequences of symbols and of words: automata, hidden Markov models, taggers."""

from polyadic._lazy import attach

HOMES = {
    "HiddenMarkov": "polyadic.models.sequences.hidden_markov",
    "NGrams": "polyadic.models.sequences.ngrams",
    "ObservableOperators": "polyadic.models.sequences.observable_operators",
    "SequenceTagger": "polyadic.models.sequences.sequence_tagger",
    "SpectralAutomaton": "polyadic.models.sequences.spectral_automaton",
    "TextTagger": "polyadic.models.sequences.text_tagger",
    "WeightedAutomaton": "polyadic.models.sequences.automata",
    "read_columns": "polyadic.text.syntax.columns",
    "tag_features": "polyadic.text.syntax.tag_features",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
