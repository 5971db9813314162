"""``lowrank reproduce``: published comparisons on any text, from the text to their tables."""

from collections.abc import Callable

import typer

from lowrank.cli.reproduce.bailey2017 import bailey2017
from lowrank.cli.reproduce.bouchard2015 import bouchard2015
from lowrank.cli.reproduce.cao2014 import cao2014
from lowrank.cli.reproduce.huang2017 import huang2017
from lowrank.cli.reproduce.niitsuma2018 import niitsuma2018
from lowrank.cli.reproduce.predictors import predictors
from lowrank.cli.reproduce.relations import relations
from lowrank.cli.reproduce.spectral import spectral
from lowrank.cli.reproduce.syntax import syntax

app = typer.Typer(no_args_is_help=True, help="Repeat a published comparison on a text, from the text to its tables.")

EXAMPLES: dict[Callable[..., None], str] = {
    bailey2017: "lowrank reproduce bailey2017 wiki.txt.xz --out results",
    bouchard2015: "lowrank reproduce bouchard2015 --out results",
    cao2014: "lowrank reproduce cao2014 --out results",
    huang2017: "lowrank reproduce huang2017 --out results",
    niitsuma2018: "lowrank reproduce niitsuma2018 wiki.txt.xz --out results",
    predictors: "lowrank reproduce predictors --out results",
    relations: "lowrank reproduce relations wiki.txt.xz --out results",
    spectral: "lowrank reproduce spectral --out results",
    syntax: "lowrank reproduce syntax --out results",
}

for protocol, example in EXAMPLES.items():
    app.command(epilog=f"Example:\n\n{example}")(protocol)
