"""Tensor models of knowledge beside PyKEEN: seconds of an epoch, and filtered ranks after as many.

``python -m experiments.bench.relations epochs FB15k-237`` times epochs of both in turn; ``ranks umls --trials 12``
searches
settings of PyKEEN at random and prints the ranks of each on the test part, to put beside what ``python -m experiments
relations`` chooses. Needs pykeen 1.11 and torch, and POLYADIC_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import os
import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np

from experiments.data.knowledge import knowledge
from polyadic.relations.knowledge import KnowledgeTensor

FORMS = ("ComplEx", "CP", "RESCAL", "TuckER")


def theirs(
    name: str, form: str, *, rank: int, epochs: int, loop: str, inverse: bool, **options: object
) -> dict[str, float]:
    """Fit a model of PyKEEN; give seconds of an epoch and ranks on the test part."""
    import torch
    from pykeen.datasets import PathDataset
    from pykeen.pipeline import pipeline

    logging.disable(logging.WARNING)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    folder = Path(os.environ["POLYADIC_DATA"]) / "relations" / name
    data = PathDataset(
        training_path=folder / "train.txt",
        testing_path=folder / "test.txt",
        validation_path=folder / "valid.txt",
        create_inverse_triples=inverse,
    )
    sizes = {"embedding_dim": rank} | ({"relation_dim": rank} if form == "TuckER" else {})
    found = pipeline(
        dataset=data,
        model=form,
        model_kwargs=sizes,
        training_loop=loop,
        loss=options.get("loss"),
        optimizer=options.get("optimizer", "Adam"),
        optimizer_kwargs={"lr": options.get("lr", 0.01)},
        training_kwargs={
            "num_epochs": epochs,
            "batch_size": options.get("batch", 500),
            "use_tqdm": False,
            "use_tqdm_batch": False,
        },
        negative_sampler_kwargs={"num_negs_per_pos": options.get("negatives", 1)} if loop == "sLCWA" else None,
        evaluation_kwargs={"use_tqdm": False},
        evaluator_kwargs={"filtered": True},
        random_seed=0,
        device="cpu",
    )
    ranks = found.metric_results.to_dict()["both"]["realistic"]
    return {
        "epoch": found.train_seconds / epochs,
        "mrr": ranks["inverse_harmonic_mean_rank"],
        "hits_at_1": ranks["hits_at_1"],
        "hits_at_10": ranks["hits_at_10"],
    }


def their_epoch(name: str, form: str, *, rank: int, loop: str, inverse: bool, loss: str, batch: int) -> float:
    """Give the seconds of an epoch of PyKEEN, the second of two, without its evaluation, which takes many minutes."""
    import torch
    from pykeen.losses import loss_resolver
    from pykeen.models import model_resolver
    from pykeen.training import training_loop_resolver
    from pykeen.triples import TriplesFactory

    logging.disable(logging.WARNING)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    path = Path(os.environ["POLYADIC_DATA"]) / "relations" / name / "train.txt"
    facts = TriplesFactory.from_path(path, create_inverse_triples=inverse)
    sizes = {"embedding_dim": rank} | ({"relation_dim": rank} if form == "TuckER" else {})
    model = model_resolver.make(form, sizes, triples_factory=facts, loss=loss_resolver.make(loss), random_seed=0)
    training = training_loop_resolver.make(
        loop, model=model, triples_factory=facts, optimizer=torch.optim.Adam(model.parameters(), lr=0.01)
    )
    seconds = []
    for last in (1, 2):  # it counts epochs over calls, and does nothing if it has had as many
        began = time.perf_counter()
        training.train(facts, num_epochs=last, batch_size=batch, use_tqdm=False, use_tqdm_batch=False)
        seconds.append(time.perf_counter() - began)
    return seconds[-1]


def our_epoch(name: str, form: str, *, rank: int, **options: object) -> float:
    """Give the seconds of an epoch of ours, the second of two."""
    model = KnowledgeTensor(rank, form=form, max_iter=2, seed=0, **options).fit(knowledge(name).train)
    return model.result_.seconds[2] - model.result_.seconds[1]


def epochs(name: str, *, forms: list[str], rank: int, repeats: int) -> None:
    """Time epochs in turn: the same questions to all entities, and each one's way of drawing some."""
    for form in forms:
        width = min(rank, 50) if form in {"RESCAL", "TuckER"} else rank
        everything = {"loop": "LCWA", "inverse": True, "loss": "crossentropy", "batch": 500}
        drawn = {"loop": "sLCWA", "inverse": False, "loss": "softplus", "batch": 1024}
        contenders = {
            "polyadic, all entities": partial(our_epoch, name, form, rank=width),
            "pykeen, LCWA, cross entropy": partial(their_epoch, name, form, rank=width, **everything),
            "polyadic, 1,000 drawn": partial(our_epoch, name, form, rank=width, batch=200, n_negatives=1000),
            "pykeen, sLCWA, one negative": partial(their_epoch, name, form, rank=width, **drawn),
        }
        found: dict[str, list[float]] = {who: [] for who in contenders}
        for _ in range(repeats):
            for who, timed in contenders.items():
                found[who].append(timed())
        for who, runs in found.items():
            print(f"{name}\t{form}\trank {width}\t{who}\t{statistics.median(runs):.2f} s", flush=True)


def ranks(name: str, *, trials: int, number: int) -> None:
    """Search settings of PyKEEN at random."""
    rng = np.random.default_rng(0)
    choices = [
        one
        for one in itertools.product(FORMS, (50, 100), ("LCWA", "sLCWA"), (True, False), (0.01, 0.03, 0.1))
        if (one[0] in {"ComplEx", "CP"} or one[1:3] == (50, "LCWA"))  # others take minutes for a fit of a small set
        and one[3] == (one[2] == "LCWA")  # which asks for objects only, so that it needs the reciprocals
    ]
    for at in rng.choice(len(choices), trials, replace=False):
        form, rank, loop, inverse, lr = choices[at]
        loss = "crossentropy" if loop == "LCWA" else "nssa"
        batch, negatives = (128, 0) if loop == "LCWA" else (512, 32)
        options = {"loss": loss, "lr": lr, "batch": batch, "negatives": negatives}
        began = time.perf_counter()
        try:
            found = theirs(name, form, rank=rank, epochs=number, loop=loop, inverse=inverse, **options)
        except (ValueError, RuntimeError) as error:
            found = {"failed": str(error)[:80]}
        told = {"form": form, "rank": rank, "loop": loop, "inverse": inverse, **options, **found}
        print(json.dumps(told | {"seconds": round(time.perf_counter() - began, 1)}), flush=True)


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["epochs", "ranks"])
    parser.add_argument("name")
    parser.add_argument("--forms", nargs="*", choices=FORMS)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--trials", type=int, default=12)
    given = parser.parse_args()
    if given.part == "epochs":
        epochs(given.name, forms=given.forms or list(FORMS), rank=given.rank, repeats=given.repeats)
    else:
        ranks(given.name, trials=given.trials, number=given.epochs)


if __name__ == "__main__":
    main()
