"""The runner of all experiments: checked settings, stages that are done once, and a report of their results.

>>> import tempfile
>>> from pathlib import Path
>>> @dataclass(frozen=True)
... class Settings(ExperimentSettings):
...     most: Annotated[int, Within(1), Option("Numbers to square.")] = 3
>>> def squares(run: Run[Settings]) -> Stages:
...     for number in range(run.settings.most):
...         yield Stage(str(number), {}, lambda number=number: {"square": number**2})
>>> report = lambda facts: f"# Squares of {len(facts['squares'])}"
>>> experiment = Experiment(Settings, {"squares": squares}, report)
>>> with tempfile.TemporaryDirectory() as folder:
...     facts = run_experiment(experiment, Path(folder), settings=Settings(most=2))
>>> [stage["square"] for stage in facts["squares"].values()]
[0, 1]
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, Self, TypeVar, get_args, get_origin

from polyadic.core.errors import InputError, MissingExtraError
from polyadic.core.files import made_folder, plain
from polyadic.core.progress import no_steps
from polyadic.core.settings import Within, check_setting, resolved
from polyadic.core.stage_cache import Facts, StageCache, write_json, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.progress import StepTimer

S = TypeVar("S", bound="ExperimentSettings")


@dataclass(frozen=True)
class Option:
    """Annotation that makes a setting an option of ``python -m experiments``.

    ``flag`` and ``metavar`` replace those derived from the setting, ``shown`` replaces the default in the help text,
    ``panel`` groups options in the help text, and ``empty`` permits an empty list, written ``none``.
    """

    help: str = ""
    flag: str = ""
    metavar: str = ""
    shown: str = ""
    panel: str | None = None
    empty: bool = False


@dataclass(frozen=True)
class Argument(Option):
    """Annotation that makes a setting a positional argument: the data the experiment runs on."""


Seed = Annotated[int, Within(0), Option("The same seed gives the same vectors.", panel="Model")]
Threads = Annotated[Annotated[int, Within(1)] | None, Option("Threads to use.", shown="all cores; word2vec 1")]
Source = Annotated[
    str, Argument("Text (a file, folder or glob) or a folder made by `polyadic corpus`.", metavar="SOURCE")
]


@dataclass(frozen=True)
class ExperimentSettings:
    """Settings of a run: fields with bounds, a default and an optional :class:`Option`; checked when they are made."""

    def __post_init__(self) -> None:
        for name, hint in self.hints().items():
            value, each = getattr(self, name), item(hint)
            if each is None or not isinstance(value, tuple):
                check_setting(name, value, hint)
                continue
            option = option_of(hint)
            if not value and not (option and option.empty):
                raise InputError(f"{name} must hold at least one; got none")
            for part in value:
                check_setting(name, part, each)

    @classmethod
    def hints(cls) -> dict[str, Any]:
        """Return the annotation of each setting."""
        known = resolved(cls)  # type: ignore[arg-type] # a class can be hashed, whatever its objects can
        return {field.name: known[field.name] for field in fields(cls)}

    @classmethod
    def given(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings for options given on the command line."""
        return cls(**options)

    def described(self) -> Facts:
        """Return the settings for the report: all but the arguments."""
        hints = self.hints()
        return {name: v for name, v in asdict(self).items() if not isinstance(option_of(hints[name]), Argument)}


class Stage(NamedTuple):
    """A unit of work whose JSON result is cached under its name together with ``made_of``, all that it depends on.

    ``name`` is empty where the part has only this stage. ``target`` is a file or folder that ``make`` writes; without
    it the stage is done again.
    """

    name: str
    made_of: Mapping[str, Any]
    make: Callable[[], Facts]
    target: Path | None = None


def table_stage(
    name: str, made_of: Mapping[str, Any], make: Callable[[], list[Facts] | Facts], *, called: str = "rows"
) -> Stage:
    """Return a stage whose result is a list of rows under the key ``called``; ``make`` may return a single row."""

    def facts() -> Facts:
        rows = make()
        return {called: rows if isinstance(rows, list) else [rows]}

    return Stage(name, made_of, facts)


Stages = Generator[Stage, Facts, Any]
"""The stages of a part. ``yield`` returns the result of each stage, or raises what its function raised; the generator's
return value, if any, is the result of the part instead of the results by stage."""


@dataclass(frozen=True)
class Run(Generic[S]):
    """The context of a part: settings, the folder of the run, the folder of the test sets, and where warnings go."""

    settings: S
    folder: Path
    root: Path | None = None
    warn: Callable[[str], None] = lambda _: None


Parts = Mapping[str, Callable[[Run[S]], Stages]]
"""Functions that yield the stages of each part, in order."""


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """Settings, stages and report of an experiment.

    Attributes
    ----------
    settings : type
        A subclass of :class:`ExperimentSettings`.
    stages : mapping
        See :data:`Parts`. A part whose name is empty is the only one that runs by default; its results are the top
        level of the report.
    report : callable
        Formats the results as Markdown.
    draw : callable, optional
        Draws figures into the folder of the run, if matplotlib is installed.
    summary : callable, optional
        Computes the results to report from those of the parts.
    parts : str
        Name of the option that selects parts.
    """

    settings: type[S]
    stages: Parts[S]
    report: Callable[[Facts], str]
    draw: Callable[[Facts, Path], None] | None = None
    summary: Callable[[Facts], Facts] = dict
    parts: str = "parts"

    def chosen(self, parts: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the names of the parts to run, by default the unnamed one or all; raise InputError for others."""
        if not {*parts} <= {*self.stages}:
            raise InputError(f"{self.parts} are {', '.join(filter(None, self.stages))}; got {', '.join(parts)}")
        return tuple(parts) or (("",) if "" in self.stages else tuple(self.stages))


def run_experiment(
    experiment: Experiment[S],
    out: Path,
    *,
    settings: S | None = None,
    parts: Sequence[str] = (),
    root: Path | None = None,
    force: bool = False,
    steps: StepTimer = no_steps,
    warn: Callable[[str], None] = lambda _: None,
) -> Facts:
    """Run the stages that are not finished yet and write the report.

    Parameters
    ----------
    experiment : Experiment
    out : Path
        Folder of the run, created if necessary. Finished stages in it are used again.
    settings : ExperimentSettings, optional
        Default: those of the experiment.
    parts : sequence of str
        Parts to run; default: all.
    root : Path, optional
        Folder of the test sets, see :func:`polyadic.datasets.folder`.
    force : bool
        Replace stages that were made with other settings instead of raising InputError.
    steps : callable, optional
        Progress callback.
    warn : callable, optional
        Called with a sentence on each item that is left out.

    Returns
    -------
    dict
        The content of ``report.json``: settings, and the results of each part.

    Raises
    ------
    InputError
        If a part is unknown, a test set cannot be read, or stages in the folder were made with other settings.
    KeyboardInterrupt
        On Ctrl-C; finished stages are kept.
    """
    chosen, settings = experiment.chosen(parts), settings or experiment.settings()
    run, store = Run(settings, out, root, warn), StageCache(out, steps=steps, force=force)
    with made_folder(out):
        results = {part: done(store, part, make(run)) for part, make in experiment.stages.items() if part in chosen}
    results = experiment.summary(results)
    if "" in results:  # an experiment without parts
        about, results = settings.described(), results[""]
    else:  # parts without stages are not reported
        about = {experiment.parts: chosen, **settings.described()}
        results = {part: facts for part, facts in results.items() if facts}
    facts: Facts = plain({"settings": about, **results})
    write_json(out / "report.json", facts)
    write_text(out / "report.md", experiment.report(facts))
    if experiment.draw:
        with contextlib.suppress(MissingExtraError):
            experiment.draw(facts, out)
    return facts


def done(store: StageCache, part: str, stages: Stages) -> Any:
    """Run the stages of a part and return its result."""
    facts: Facts = {}
    try:
        stage = next(stages)
        while True:
            try:
                kept = store.keep(f"{part}/{stage.name}".strip("/"), stage.made_of, stage.make, target=stage.target)
            except Exception as error:  # noqa: BLE001 # the part may handle it
                stage = stages.throw(error)
            else:
                facts[stage.name] = kept
                stage = stages.send(kept)
    except StopIteration as end:
        return facts.get("", facts) if end.value is None else end.value


def item(hint: Any) -> Any:
    """Return the annotation of the items of a tuple, or None for other annotations."""
    if get_origin(hint) is Annotated:
        return item(get_args(hint)[0])
    return get_args(hint)[0] if get_origin(hint) is tuple else None


def option_of(hint: Any) -> Option | None:
    """Return the :class:`Option` of an annotation, or None."""
    return next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Option)), None)
