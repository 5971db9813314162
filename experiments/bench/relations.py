"""Knowledge-graph models beside PyKEEN: seconds of an epoch, and filtered ranks after as many epochs.

Put the ranks beside those of ``python -m experiments relations``. Needs pykeen 1.11, torch and POLYADIC_DATA.
"""

import itertools
import json
import logging
import os
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from experiments.data.knowledge import knowledge
from polyadic.relations.knowledge import KnowledgeTensor

Form = Literal["ComplEx", "CP", "RESCAL", "TuckER"]
FORMS: tuple[Form, ...] = ("ComplEx", "CP", "RESCAL", "TuckER")


def theirs(
    name: str, form: str, *, rank: int, epochs: int, loop: str, inverse: bool, **options: object
) -> dict[str, float]:
    """Fit a model of PyKEEN; return seconds of an epoch and ranks on the test part."""
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
    """Return the seconds of the second epoch of PyKEEN, without its evaluation, which takes many minutes."""
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
    """Return the seconds of our second epoch."""
    model = KnowledgeTensor(rank, form=form, max_iter=2, seed=0, **options).fit(knowledge(name).train)
    return model.result_.seconds[2] - model.result_.seconds[1]


def epochs(name: str, *, forms: tuple[Form, ...] = FORMS, rank: int = 100, repeats: int = 1) -> None:
    """Seconds of an epoch, in turn: scored against all entities, and with each library's way of sampling negatives."""
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
        runs_of = [{who: epoch() for who, epoch in contenders.items()} for _ in range(repeats)]
        for who in contenders:
            runs = [run[who] for run in runs_of]
            print(f"{name}\t{form}\trank {width}\t{who}\t{statistics.median(runs):.2f} s", flush=True)


def ranks(name: str, *, trials: int = 12, epochs: int = 3) -> None:
    """Random search over the settings of PyKEEN: filtered ranks of each on the test part."""
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
            found = theirs(name, form, rank=rank, epochs=epochs, loop=loop, inverse=inverse, **options)
        except (ValueError, RuntimeError) as error:
            found = {"failed": str(error)[:80]}
        told = {"form": form, "rank": rank, "loop": loop, "inverse": inverse, **options, **found}
        print(json.dumps(told | {"seconds": round(time.perf_counter() - began, 1)}), flush=True)


COMMANDS = epochs, ranks
