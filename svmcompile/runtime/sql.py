"""An emitted query, run in the SQLite that Python brings, as a model that predicts."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError
from svmcompile.ir.program import Program
from svmcompile.runtime.batches import BatchModel
from svmcompile.targets.sql.model import feature_columns
from svmcompile.targets.sql.query import TABLE

READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
RESULTS = {"predict": "value", "decision_function": "score", "predict_proba": "probability"}


class SqlModel(BatchModel):
    """A query under scikit-learn's names; rows go into a table in memory."""

    def __init__(self, name: str, text: str, program: Program) -> None:
        super().__init__(name, program.labels, program.feature_names, np.dtype(np.float64))
        self.n_features = program.n_features
        self._columns, self._text, self._texts = feature_columns(program), text, program.categories
        none = np.empty((0, self.n_features))
        self._results = [column[0] for column in self._run(none).description]
        self.n_scores = len(self._places("decision_function"))

    def _places(self, function: str) -> list[int]:
        """Where the results of a function stand."""
        public = RESULTS.get(function, function)
        if function == "predict" and self.labels is not None:
            public = "label"
        return [i for i, one in enumerate(self._results) if re.fullmatch(rf"{public}(_\d+)?", one)]

    def _holds(self, function: str) -> bool:
        return bool(self._places(function))

    def _run(self, rows: NDArray[Any]) -> sqlite3.Cursor:
        base = sqlite3.connect(":memory:")
        columns, marks = ", ".join(self._columns), ", ".join("?" * self.n_features)
        base.execute(f"CREATE TABLE {TABLE} ({columns})")
        values: Any = rows.tolist()
        if self._texts:  # which the query takes as they are
            columns_of = [column.tolist() for column in self._texts.decoded(rows)]
            values = zip(*columns_of, strict=True)
        base.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", values)
        # A query that others changed opens no file.
        base.set_authorizer(lambda act, *_: sqlite3.SQLITE_OK if act in READS else sqlite3.SQLITE_DENY)
        try:
            return base.execute(self._text)
        except sqlite3.Error as error:
            raise ReadError(f"{self.name}.sql: SQLite cannot run the query: {error}") from None

    def _call(self, name: str, rows: Any, out: NDArray[Any]) -> None:
        places, found = self._places(name), self._run(rows).fetchall()
        if name == "predict" and self.labels is not None:
            number = {label: place for place, label in enumerate(self.labels.values)}
            if not all(row[places[0]] in number for row in found):
                raise ReadError(f"{self.name}.sql: gives a label that is none of the model's")
            out[...] = [number[row[places[0]]] for row in found]
            return
        values = [[np.nan if row[i] is None else row[i] for i in places] for row in found]
        out[...] = np.array(values, np.float64).reshape(out.shape)
