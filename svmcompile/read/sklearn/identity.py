"""What the digest of a model is over: everything but its origin and its notes."""

from __future__ import annotations

import re
from dataclasses import fields

from svmcompile.model.svm import SVM, digest

# Fields that models without them leave out, so that these keep their digest.
LATER = ("adds_parts", "most_probable", "density_marks", "noise_scale", "sample_offset")


def identity(svm: SVM) -> dict[str, object]:
    """What the digest is over, by name."""
    parts: dict[str, object] = {f.name: getattr(svm, f.name) for f in fields(svm)}
    for name in ("source", "notes", "front", "platt", "link", "deviation", "head", "parts", "categories"):
        del parts[name]
    for name in LATER:
        if parts[name] is None or parts[name] is False:
            del parts[name]
    parts |= svm.front.parts()
    if svm.platt:
        parts |= {"platt_a": svm.platt[0], "platt_b": svm.platt[1]}
    if svm.deviation:
        parts |= {"prior": svm.deviation.prior, "told": svm.deviation.bias}
        parts |= {f"told {index}": weights for index, weights in enumerate(svm.deviation.weights)}
    if svm.categories:
        parts["categories"] = svm.categories
    if svm.labels and svm.labels.targets:
        parts["targets"] = svm.labels.targets
    if svm.link:
        parts["link"] = svm.link.value
    if svm.head:
        parts |= {"head": _OldNames((svm.head.nodes, svm.head.outputs))}
        parts |= {f"head {name}": table for name, table in svm.head.tables.items()}
    for index, part in enumerate(svm.parts):
        parts[f"part {index}"] = digest(identity(part))
    return parts


class _OldNames(tuple[object, ...]):
    """Nodes of a head as they were once called, so that models keep their digest."""

    def __repr__(self) -> str:
        text = super().__repr__().replace("Join(", "Beside(")
        return re.sub(r"Pick\((out='\w+'), x=", r"Columns(\1, values=", text)
