"""The model card (Mitchell et al. 2019): what a model is, how well it was seen to do, and where that ends. Pure.

One document, as JSON for programs and as Markdown for people; every figure in it is the report's or the manifest's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from learning.study import Json

_LISTED = 30  # classes in the Markdown; the JSON has all
_INTENDED = (
    "Tells which one of the classes below a whole photograph shows. It always answers with one of them, also for "
    "pictures of something else: treat answers below the threshold as 'not sure'."
)


def card_of(manifest: Json, report: Json) -> Json:
    """`manifest` is the bundle's, `report` that of `evaluate`, with its entry "precision"."""
    figures = ("accuracy", "accuracy_interval", "macro_f1", "macro_f1_interval", "log_loss", "calibration_error")
    return {
        "format": 1,
        "task": manifest["task"],
        "intended_use": _INTENDED,
        "classes": report["classes"],
        "data": {
            "trained_on": report.get("training", {}).get("samples"),
            "tested_on": report["sample_count"],
            "expected_accuracy_with_twice_the_data": report.get("training", {}).get("expected_with_twice_the_data"),
            "test_pictures_like_trained_ones": report.get("look_alikes"),
        },
        "metrics": {name: report[name] for name in figures},
        "threshold": report["threshold"],
        "precision": report["precision"],
        "limits": [finding["sentence"] for finding in report["findings"]],
        "architecture": {
            "backbone": manifest["backbone"],
            "fine_tuned_from_block": manifest["fine_tuned_from_block"],
            "head": manifest["head"],
        },
        "preprocessing": manifest["preprocessing"],
        "licences": manifest["licences"],
        "versions": manifest["versions"],
    }


def markdown_of(card: Json) -> str:
    """The same for people."""
    sections = [
        ("Model card: image classifier", [card["intended_use"]]),
        ("How well it does", _figures(card)),
        ("Classes", _classes(card["classes"])),
        ("Limits", [f"- {sentence}" for sentence in card["limits"]] or ["Nothing stood out in the evaluation."]),
        ("How it is made", _making(card)),
        ("Licences", [f"- {what}: {licence}" for what, licence in card["licences"].items()]),
    ]
    parts = [f"{'#' if at == 0 else '##'} {title}\n\n" + "\n".join(lines) for at, (title, lines) in enumerate(sections)]
    return "\n\n".join(parts) + "\n"


def _figures(card: Json) -> list[str]:
    metrics, data, threshold = card["metrics"], card["data"], card["threshold"]
    lines = [
        f"- Accuracy: {_share(metrics['accuracy'])} on {data['tested_on']} pictures that it was not trained on"
        f"{_interval(metrics['accuracy_interval'])}.",
        f"- F1, mean over the classes: {_share(metrics['macro_f1'])}{_interval(metrics['macro_f1_interval'])}.",
        f"- Calibration error: {_share(metrics['calibration_error'])}: how far its confidence is from the truth.",
        f"- Recommended threshold: {threshold['recommended']:.2f} ({threshold['rule']}).",
    ]
    if (expected := data["expected_accuracy_with_twice_the_data"]) is not None:
        lines.append(f"- Expected accuracy with twice as many pictures: about {_share(expected)}.")
    compared = ", ".join(f"{name} {_share(found)}" for name, found in card["precision"]["accuracies"].items())
    lines.append(f"- Served in {card['precision']['served']}; accuracy by precision on the same pictures: {compared}.")
    return lines


def _classes(classes: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| class | test pictures | precision | recall |", "| --- | --- | --- | --- |"]
    for each in classes[:_LISTED]:
        name = str(each["name"]).replace("|", "\\|")
        lines.append(f"| {name} | {each['support']} | {_share(each['precision'])} | {_share(each['recall'])} |")
    if len(classes) > _LISTED:
        lines.append(f"\n{len(classes) - _LISTED} more are in model_card.json.")
    return lines


def _making(card: Json) -> list[str]:
    made, trained_on = card["architecture"], card["data"]["trained_on"]
    place = made["fine_tuned_from_block"]
    how = f"fine-tuned from block {place} on" if place else "with its pretrained weights, unchanged"
    lines = [f"- Backbone {made['backbone']['name']} ({made['backbone']['source']}), {how}."]
    mirror = ", averaged over the picture and its mirror image" if made["head"]["averages_mirror_image"] else ""
    lines.append(f"- Head: {made['head']['kind']}{mirror}.")
    if trained_on is not None:
        lines.append(f"- Trained on {trained_on} pictures.")
    return lines


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _interval(bounds: Sequence[float] | None) -> str:
    return "" if bounds is None else f" (95 % confidence: {_share(bounds[0])} to {_share(bounds[1])})"
