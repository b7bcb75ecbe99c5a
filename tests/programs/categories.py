"""Columns of text: frames with hostile names, missing values and texts that nobody has seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

HOSTILE = [
    "", " ", "red", "Red", "redder", '"', "'; DROP TABLE input_rows; --", "*/", "/*", "//", "??/", "??=",
    "\\", "\\n", "\n", "\r\n", "\t", "%s%n", "</script>", "é", "e\u0301", "日本語", "\U0001f600", "\ufeff",
    "\u2028", "\x7f", "nan", "None", "-1", "0", "1e3",
    "long " * 300, "#define x", "\x1b[31m",
]  # fmt: skip
SHAPES = ["round", "square", "flat"]
UNKNOWN = ["mauve", "red ", "RED", "rou", "roundest", "zz", "\0", "é\u0301"]


def frame(count: int, seed: int = 0, *, missing: float = 0.0, unknown: float = 0.0) -> pd.DataFrame:
    """Columns: colour and shape are text, grade is a pandas category; the others are numbers and flags."""
    random = np.random.default_rng(seed)
    found = pd.DataFrame(
        {
            "colour": random.choice(np.array(HOSTILE, dtype=object), count),
            "size": random.normal(size=count),
            "shape": random.choice(np.array(SHAPES, dtype=object), count, p=[0.6, 0.3, 0.1]),
            "used": random.random(count) < 0.4,
            "grade": pd.Categorical(random.choice(["a", "b", "c"], count)),
            "count": random.integers(0, 4, count),
        }
    )
    if missing:
        found.loc[random.random(count) < missing, "shape"] = np.nan
        found.loc[random.random(count) < missing, "grade"] = np.nan
    if unknown:
        rows = np.flatnonzero(random.random(count) < unknown)
        found.loc[rows, "colour"] = random.choice(np.array(UNKNOWN, dtype=object), len(rows))
    return found


def labels(rows: pd.DataFrame) -> np.ndarray:
    """Two classes that every column has a part in."""
    score = rows["colour"].map(lambda text: len(str(text)) % 5) + rows["size"] * 2
    return np.asarray(score + (rows["shape"] == "round") - rows["shape"].isna() + rows["used"] * 1.0 > 3)


NUMBERS = ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["size", "count"])
TEXTS = ["colour", "shape", "grade"]


def columns(encoder, names=(*TEXTS, "used")):
    return ColumnTransformer([("text", encoder, list(names)), NUMBERS])


def filled(encoder, **how):
    return make_pipeline(SimpleImputer(**how), encoder)


FLAGS = OneHotEncoder(handle_unknown="ignore")
CODES = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-5)
ENCODERS = {
    "flags": columns(FLAGS),
    "without-the-first": columns(OneHotEncoder(handle_unknown="ignore", drop="first")),
    "without-one-of-two": columns(OneHotEncoder(handle_unknown="ignore", drop="if_binary")),
    "rare-together": columns(OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=30)),
    "few": columns(OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, drop="first")),
    "codes": columns(CODES),
    "rare-codes": columns(
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=99,
            encoded_missing_value=-5,
            max_categories=5,
        )
    ),
    "targets": columns(TargetEncoder(random_state=0)),
    "most-frequent": columns(filled(FLAGS, strategy="most_frequent"), TEXTS),
    "constant": columns(filled(FLAGS, strategy="constant", fill_value="gone"), TEXTS),
    "indicated": columns(filled(FLAGS, strategy="most_frequent", add_indicator=True), TEXTS),
    "marked": columns(filled(FLAGS, strategy="most_frequent", missing_values="red"), ["colour"]),
    "selected": ColumnTransformer(
        [("text", FLAGS, make_column_selector(dtype_exclude="number")), NUMBERS], remainder="drop"
    ),
    "several": ColumnTransformer(
        [
            ("flags", FLAGS, TEXTS),
            ("codes", filled(CODES, strategy="most_frequent"), ["shape", "colour"]),
            ("targets", TargetEncoder(random_state=0), ["colour"]),
            NUMBERS,
        ]
    ),
    "imputed-together": make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        ColumnTransformer([("text", FLAGS, [0, 2, 4]), ("numbers", StandardScaler(), [1, 3, 5])]),
    ),
}
