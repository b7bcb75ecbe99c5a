"""Columns of text: pipelines that encode them, compiled to C that takes codes and looks them up by text.

    python examples/categories.py           10,000 rows for each pipeline
    python examples/categories.py 1000      so many rows

Made-up goods: a brand, a colour, a size, a price; some are missing, and some rows have brands and colours
that nobody has seen. The table holds C (f32, portable profile) against scikit-learn: labels that differ,
the worst error of a decision value, the size of the C, and the bytes that the names take in it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.targets.c.categories import category_bytes

COLOURS = ["red", "dark red", "grün", "青", 'the "best"', "none"]
TEXTS = ["brand", "colour", "size"]
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1, "encoded_missing_value": -2}
NUMBERS = ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["price"])
filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
PIPELINES: dict[str, tuple[Any, Any]] = {
    "OneHotEncoder, LinearSVC": (OneHotEncoder(handle_unknown="ignore"), LinearSVC()),
    "OneHotEncoder of 50, SVC": (
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50), SVC(),
    ),
    "OrdinalEncoder, SVC": (OrdinalEncoder(**UNKNOWN), SVC()),
    "TargetEncoder, SVC": (TargetEncoder(random_state=0), SVC()),
    "SimpleImputer, OneHotEncoder, LinearSVC": (filled, LinearSVC()),
}  # fmt: skip


def make_goods(count: int, seed: int, unknown: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Goods, and whether they sold: brands have a mean of their own."""
    random = np.random.default_rng(seed)
    brand = random.geometric(0.003, count)
    rows = pd.DataFrame(
        {
            "brand": [f"brand {one:04d}" for one in brand],
            "colour": random.choice(COLOURS, count),
            "size": random.choice(["S", "M", "L"], count),
            "price": random.lognormal(size=count).round(2),
        }
    )
    sold = np.sin(brand) + (rows["colour"] == "red") + (rows["size"] == "M") - rows["price"] / 3 > 0.3
    for column in ("size", "price"):
        rows.loc[random.random(count) < 0.05, column] = np.nan
    for column in ("brand", "colour"):
        rows.loc[random.random(count) < unknown, column] = "never seen"
    return rows, np.where(sold, "sold", "kept")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rows, labels = make_goods(3000, 0)
    unseen, _ = make_goods(count, 1, unknown=0.05)
    print("| pipeline | categories | rows | labels differ | worst error | C | names |")
    print("|---|---|---|---|---|---|---|")
    for name, (encoder, machine) in PIPELINES.items():
        columns = ColumnTransformer([("text", encoder, TEXTS), NUMBERS])
        model = make_pipeline(columns, machine).fit(rows, labels)
        program = sc.compile(model)
        code = sc.emit(program, "c", "goods", profile="portable")["goods.c"]
        fast = sc.build(model, profile="portable")
        differ = int((fast.predict(unseen) != model.predict(unseen)).sum())
        error = np.abs(fast.decision_function(unseen) - model.decision_function(unseen)).max()
        known = sum(len(column.names) for column in program.categories.texts)
        print(
            f"| {name} | {known:,} | {count:,} | {differ} | {error:.1e} | {len(code) / 1e3:.0f} KB | "
            f"{category_bytes(program) / 1e3:.1f} KB |"
        )


if __name__ == "__main__":
    main()
