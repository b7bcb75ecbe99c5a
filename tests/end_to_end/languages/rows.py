# ruff: noqa: PTH123  (MicroPython has no pathlib)
"""Runs rows through modules of kit micropython; arguments are folder, name, rows and answers of each."""

import sys
from array import array

for at in range(1, len(sys.argv), 4):
    folder, name, rows_file, answers_file = sys.argv[at : at + 4]
    sys.path.insert(0, folder)
    model = __import__(name)
    names = ("predict", "decision_function", "predict_proba", "score_samples")
    functions = [getattr(model, one) for one in names if hasattr(model, one)]
    classes = getattr(model, "CLASSES", None)
    with open(rows_file, "rb") as file:
        numbers = array("d", file.read())
    found = array("d", [])
    for start in range(0, len(numbers), model.N_FEATURES):
        row = numbers[start : start + model.N_FEATURES]
        for function in functions:
            answer = function(row)
            if function is functions[0] and classes is not None:
                found.append(classes.index(answer))
            elif isinstance(answer, tuple):
                found.extend(array("d", answer))
            else:
                found.append(answer)
    for same in (list(row), tuple(row)):
        if functions[0](same) != functions[0](row):
            raise SystemExit("a list and an array give different answers")
    with open(answers_file, "wb") as file:
        file.write(found)
    for wrong in ([], [0.0] * (model.N_FEATURES + 1)):
        try:
            functions[0](wrong)
        except ValueError:
            continue
        raise SystemExit("a row of another length was taken")
    print(classes)
    sys.path.pop(0)
