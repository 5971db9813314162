"""One runner of all suites: settings that are checked once, stages that are done once, and a report of what they found.

>>> import tempfile
>>> from pathlib import Path
>>> @dataclass(frozen=True)
... class Settings(SuiteSettings):
...     most: Annotated[int, Within(1), Option("Numbers to square.")] = 3
>>> def squares(run: Run[Settings]) -> Stages:
...     for number in range(run.settings.most):
...         yield Stage(str(number), {}, lambda number=number: {"square": number**2})
>>> suite = Suite(Settings, {"squares": squares}, report=lambda facts: f"# Squares of {len(facts['squares'])}")
>>> with tempfile.TemporaryDirectory() as folder:
...     facts = run_suite(suite, Path(folder), settings=Settings(most=2))
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

    from polyadic.core.progress import Steps

S = TypeVar("S", bound="SuiteSettings")


@dataclass(frozen=True)
class Option:
    """Makes a setting an option of ``python -m experiments``; stands in its annotation.

    Attributes
    ----------
    help : str
    flag : str
        If it is not the name of the setting.
    metavar : str
        If the kind of the setting does not say it.
    shown : str
        The default as it is told, if it is not the value.
    panel : str
        Where the help shows it.
    empty : bool
        Whether there may be ``none``, of several.
    """

    help: str
    flag: str = ""
    metavar: str = ""
    shown: str = ""
    panel: str | None = None
    empty: bool = False


@dataclass(frozen=True)
class Argument(Option):
    """Makes a setting an argument: what the suite is run on. The report says it by its content, not by its name."""


Seed = Annotated[int, Within(0), Option("The same seed gives the same vectors.", panel="Model")]
Threads = Annotated[Annotated[int, Within(1)] | None, Option("Threads to use.", shown="all cores; word2vec 1")]
Source = Annotated[
    str, Argument("Text (a file, folder or glob) or a folder made by `polyadic corpus`.", metavar="SOURCE")
]


@dataclass(frozen=True)
class SuiteSettings:
    """The settings of a run, each said once: a field with its bounds, its default, and its :class:`Option`.

    Raises
    ------
    InputError
        If one is out of range; of several, each is looked at, and there must be one.
    """

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
        """Give the annotation of each setting."""
        known = resolved(cls)  # type: ignore[arg-type] # a class can be hashed, whatever its objects can
        return {field.name: known[field.name] for field in fields(cls)}

    @classmethod
    def given(cls, options: Mapping[str, Any]) -> Self:
        """Make settings of the options that were given on the command line."""
        return cls(**options)

    def described(self) -> Facts:
        """Give what the report says of the settings: all but what the suite is run on."""
        hints = self.hints()
        return {name: v for name, v in asdict(self).items() if not isinstance(option_of(hints[name]), Argument)}


class Stage(NamedTuple):
    """A stage: done once, and kept with what it was made of.

    Attributes
    ----------
    name : str
        Within its part; empty where the part is this stage alone.
    made_of : mapping
        All that the facts depend on, except what the name says.
    make : callable
        Makes the facts, for JSON.
    target : Path, optional
        The file or folder that ``make`` leaves, whole: without it the stage is done again.
    """

    name: str
    made_of: Mapping[str, Any]
    make: Callable[[], Facts]
    target: Path | None = None


def table_stage(
    name: str, made_of: Mapping[str, Any], make: Callable[[], list[Facts] | Facts], *, called: str = "rows"
) -> Stage:
    """Give a stage whose facts are the rows of a table, called ``rows`` unless said; ``make`` may give the only row."""

    def facts() -> Facts:
        rows = make()
        return {called: rows if isinstance(rows, list) else [rows]}

    return Stage(name, made_of, facts)


Stages = Generator[Stage, Facts, Any]
"""The stages of a part; ``yield`` gives the facts of each, or raises what its making raised. The value returned, if
there is one, is what the report tells of the part in place of the facts by stage."""


@dataclass(frozen=True)
class Run(Generic[S]):
    """What a part of a suite is told.

    Attributes
    ----------
    settings : SuiteSettings
    folder : Path
        Of the run.
    root : Path, optional
        Of the test sets: see :func:`polyadic.datasets.folder`.
    tell : callable
        Takes a sentence on what is left out, and why.
    """

    settings: S
    folder: Path
    root: Path | None = None
    tell: Callable[[str], None] = lambda _: None


Parts = Mapping[str, Callable[[Run[S]], Stages]]
"""By part, in order, what gives its stages."""


@dataclass(frozen=True)
class Suite(Generic[S]):
    """What is done, with which settings, and how it is told.

    Attributes
    ----------
    settings : type
        A :class:`SuiteSettings`.
    stages : mapping
        See :data:`Parts`. A suite without parts has one of no name; its facts are those of the run.
    report : callable
        Makes Markdown of the facts, in JSON's types.
    draw : callable, optional
        Draws pictures of the facts into the folder of the run, where matplotlib is installed.
    summary : callable, optional
        Makes the facts that are told of those that the parts gave.
    parts : str
        What the parts are called.
    """

    settings: type[S]
    stages: Parts[S]
    report: Callable[[Facts], str]
    draw: Callable[[Facts, Path], None] | None = None
    summary: Callable[[Facts], Facts] = dict
    parts: str = "parts"

    def chosen(self, parts: Sequence[str] = ()) -> tuple[str, ...]:
        """Check the parts that are asked for; none are all.

        Raises
        ------
        InputError
            If there is no such part.
        """
        if not {*parts} <= {*self.stages}:
            raise InputError(f"{self.parts} are {', '.join(self.stages)}; got {', '.join(parts)}")
        return tuple(parts) or tuple(self.stages)


def run_suite(
    suite: Suite[S],
    out: Path,
    *,
    settings: S | None = None,
    parts: Sequence[str] = (),
    root: Path | None = None,
    force: bool = False,
    steps: Steps = no_steps,
    tell: Callable[[str], None] = lambda _: None,
) -> Facts:
    """Do the stages that are not there yet, and report.

    Parameters
    ----------
    suite : Suite
    out : Path
        The folder of the run, which is made if it is not there. Finished stages in it are used again.
    settings : SuiteSettings, optional
        Those of the suite by default.
    parts : sequence of str
        Of the suite; none are all.
    root : Path, optional
        Of the test sets: see :func:`polyadic.datasets.folder`.
    force : bool
        Whether stages made of something else are replaced instead of refused.
    steps : callable, optional
        Told of each stage.
    tell : callable, optional
        Takes a sentence on what is left out, and why.

    Returns
    -------
    dict
        The content of ``report.json``: settings, and what each part found.

    Raises
    ------
    InputError
        If there is no such part, a test set cannot be read, or stages in the folder were made of something else.
    KeyboardInterrupt
        If Ctrl-C was heard; finished stages are kept.
    """
    chosen, settings = suite.chosen(parts), settings or suite.settings()
    run, store = Run(settings, out, root, tell), StageCache(out, steps=steps, force=force)
    with made_folder(out):
        results = {part: done(store, part, stages(run)) for part, stages in suite.stages.items() if part in chosen}
    results = suite.summary(results)
    if "" in results:  # a suite without parts
        about, results = settings.described(), results[""]
    else:  # a part that had nothing to do is not told
        about = {suite.parts: chosen, **settings.described()}
        results = {part: facts for part, facts in results.items() if facts}
    facts: Facts = plain({"settings": about, **results})
    write_json(out / "report.json", facts)
    write_text(out / "report.md", suite.report(facts))
    if suite.draw:
        with contextlib.suppress(MissingExtraError):
            suite.draw(facts, out)
    return facts


def done(store: StageCache, part: str, stages: Stages) -> Any:
    """Do the stages of a part, and give its facts."""
    facts: Facts = {}
    try:
        stage = next(stages)
        while True:
            try:
                kept = store.keep(f"{part}/{stage.name}".strip("/"), stage.made_of, stage.make, target=stage.target)
            except Exception as error:  # noqa: BLE001 # the part may know what to do
                stage = stages.throw(error)
            else:
                facts[stage.name] = kept
                stage = stages.send(kept)
    except StopIteration as end:
        return facts.get("", facts) if end.value is None else end.value


def item(hint: Any) -> Any:
    """Give the annotation of each item where a setting is several, else None."""
    if get_origin(hint) is Annotated:
        return item(get_args(hint)[0])
    return get_args(hint)[0] if get_origin(hint) is tuple else None


def option_of(hint: Any) -> Option | None:
    """Give what makes a setting an option, if there is anything."""
    return next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Option)), None)
