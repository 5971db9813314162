"""``polyadic reproduce``: published comparisons on any text, from the text to their tables."""

from collections.abc import Callable

import typer

from polyadic.cli.reproduce.bailey2017 import bailey2017
from polyadic.cli.reproduce.bouchard2015 import bouchard2015
from polyadic.cli.reproduce.cao2014 import cao2014
from polyadic.cli.reproduce.huang2017 import huang2017
from polyadic.cli.reproduce.niitsuma2018 import niitsuma2018
from polyadic.cli.reproduce.predictors import predictors
from polyadic.cli.reproduce.relations import relations
from polyadic.cli.reproduce.spectral import spectral
from polyadic.cli.reproduce.syntax import syntax

app = typer.Typer(no_args_is_help=True, help="Repeat a published comparison on a text, from the text to its tables.")

EXAMPLES: dict[Callable[..., None], str] = {
    bailey2017: "polyadic reproduce bailey2017 wiki.txt.xz --out results",
    bouchard2015: "polyadic reproduce bouchard2015 --out results",
    cao2014: "polyadic reproduce cao2014 --out results",
    huang2017: "polyadic reproduce huang2017 --out results",
    niitsuma2018: "polyadic reproduce niitsuma2018 wiki.txt.xz --out results",
    predictors: "polyadic reproduce predictors --out results",
    relations: "polyadic reproduce relations wiki.txt.xz --out results",
    spectral: "polyadic reproduce spectral --out results",
    syntax: "polyadic reproduce syntax --out results",
}

for protocol, example in EXAMPLES.items():
    app.command(epilog=f"Example:\n\n{example}")(protocol)
