"""Answers as text for people. Tables on a terminal; elsewhere tab-separated lines that other programs can read."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from easyloop.answers import Dataset, Publication, Run, Span, Version
from easyloop.model_answers import Alias, AliasMove, FilePrediction, Model, ModelVersion, PublishPolicy
from easyloop.progress import metrics
from easyloop.trace_tree import Node, build, fold, label, lines


def say(console: Console, text: str) -> None:
    """One line as it is, without markup and never wrapped."""
    if not console.is_terminal:
        console.file.write(f"{text}\n")  # rich would turn tabs into spaces
        return
    console.print(escape(text), highlight=False, soft_wrap=True)


def table(console: Console, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table, or lines with tabs."""
    if not console.is_terminal:
        for row in rows:
            say(console, "\t".join(row))
        return
    shown = Table(*headings)
    for row in rows:
        shown.add_row(*map(escape, row))
    console.print(shown)


def dataset(console: Console, found: Dataset, versions: Sequence[Version]) -> None:
    """The data set, its versions, and what is to be said about the newest."""
    say(console, f"{found.id}  {found.name}  ({found.task}, auto-train {found.auto_train}, {found.status})")
    rows = [
        (str(one.version), one.status, str(one.sample_count), str(one.rejected_count), str(len(one.classes)))
        for one in versions
    ]
    table(console, ("version", "status", "samples", "refused", "classes"), rows)
    if versions:
        version(console, versions[0])


def version(console: Console, found: Version) -> None:
    """Classes, findings and refused files."""
    split = ", ".join(f"{side} {count}" for side, count in found.split_counts.items())
    say(
        console,
        f"version {found.version}: {found.status}, {found.sample_count} samples {f'({split})' if split else ''}",
    )
    if found.failure:
        say(console, f"  {found.failure.sentence}")
    for one in found.classes:
        say(console, f"  {one.name}: {one.count}")
    for finding in found.findings:
        say(console, f"  {finding.severity}: {finding.sentence} {finding.remedy}".rstrip())
        if finding.examples:
            more = ", ..." if finding.count > len(finding.examples) else ""
            say(console, f"    for example: {', '.join(finding.examples)}{more}")
    for rejection in found.rejections or ():
        say(console, f"  refused: {rejection.sentence}")


def run(console: Console, found: Run) -> None:
    """Where a run stands."""
    say(console, f"{found.id}  {found.state}  (data set {found.dataset_id} version {found.version}, {found.preset})")
    for state, moment in sorted(found.stage_times.items(), key=lambda entry: entry[1]):
        say(console, f"  {moment}  {state}")
    if found.failure:
        say(console, f"  {found.failure.code}: {found.failure.sentence}")
    if found.model_version:
        say(console, f"  model {found.model_id} version {found.model_version}")
    if found.publication:
        say(console, f"  {'published' if found.publication.published else 'not published'}: {found.publication.reason}")


def runs(console: Console, found: Sequence[Run]) -> None:
    """One line a run."""
    rows = [(one.id, one.state, one.dataset_id, str(one.version), one.preset, one.created_at) for one in found]
    table(console, ("run", "state", "data set", "version", "preset", "created"), rows)


def models(console: Console, found: Sequence[Model]) -> None:
    """One line a model."""
    rows = [(one.id, one.name, one.task, str(one.last_version), _aliases(one)) for one in found]
    table(console, ("model", "name", "task", "versions", "aliases"), rows)


def model(console: Console, found: Model, versions: Sequence[ModelVersion], aliases: Sequence[Alias]) -> None:
    """A model with its versions and what is published."""
    say(console, f"{found.id}  {found.name}  ({found.task}, data set {found.dataset_id})")
    for one in aliases:
        answering = f"answering from version {one.serving_version}" if one.serving_version else "not loaded"
        say(console, f"  {one.alias} -> version {one.version} ({answering})")
    rows = [
        (str(one.version), metrics(one.metrics), one.run_id, one.created_at, _why(one.publication)) for one in versions
    ]
    table(console, ("version", "on the test split", "run", "created", "published at once?"), rows)


def alias_history(console: Console, moves: Sequence[AliasMove]) -> None:
    """One line a move."""
    rows = [(one.at, str(one.previous_version or ""), str(one.version), one.actor, one.reason) for one in moves]
    table(console, ("when", "from", "to", "who", "why"), rows)


def policy(console: Console, found: PublishPolicy) -> None:
    """The policy in words."""
    if found.publish != "if_better":
        every = "every new version goes to production by itself"
        say(console, every if found.publish == "always" else "new versions are published by hand only")
        return
    gain = "is not worse"
    if found.min_gain:
        gain = f"gains {found.min_gain:g} or more" if found.min_gain > 0 else f"loses {-found.min_gain:g} at most"
    say(console, f"a new version goes to production when it {gain} by {found.metric or 'the metric of its task'}")
    if found.min_test_samples:
        say(console, f"  judged on at least {found.min_test_samples} test samples")
    if found.protect:
        say(console, f"  and is not worse by {', '.join(found.protect)}")


def _why(publication: Publication | None) -> str:
    return "" if publication is None else f"{'yes' if publication.published else 'no'}: {publication.reason}"


def predictions(console: Console, found: Iterable[tuple[str, FilePrediction]], threshold: float) -> None:
    """The best class of each file first; a score below the threshold is marked."""
    rows = [row for name, prediction in found for row in _prediction_rows(name, prediction, threshold)]
    table(console, ("file", "class", "score", ""), rows)


def trace(console: Console, spans: Sequence[Span]) -> None:
    """The spans as one tree."""
    roots = fold(build(spans))
    if not console.is_terminal:
        for line in lines(roots):
            say(console, line)
        return
    for root in roots:
        console.print(_branch(Tree(escape(label(root))), root))


def _branch(tree: Tree, node: Node) -> Tree:
    for child in node.children:
        _branch(tree.add(escape(label(child))), child)
    return tree


def _aliases(found: Model) -> str:
    return ", ".join(f"{alias} -> {version}" for alias, version in found.aliases.items())


def _prediction_rows(name: str, prediction: FilePrediction, threshold: float) -> list[tuple[str, str, str, str]]:
    if prediction.failure:
        return [(name, "", "", prediction.failure.sentence)]
    return [
        (name, score.name, f"{score.score:.3f}", "doubtful" if rank == 0 and score.score < threshold else "")
        for rank, score in enumerate(prediction.results)
    ]
