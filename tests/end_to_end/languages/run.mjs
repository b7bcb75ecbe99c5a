import { readFileSync } from "node:fs";
import { features, load } from "NAME";
const bytes = readFileSync("rows"), rows = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const model = await load(), found = { refused: [] };
found.predict = model.predictAll(rows);
if (model.predict(rows.slice(400 * features, 401 * features)) !== found.predict[400]) throw new Error("one row");
const functions = { decision_function: "decisionFunction", predict_proba: "predictProba", score_samples: "scoreSamples", predict_std: "predictStd" };
for (const [name, method] of Object.entries(functions)) {
  try {
    found[name] = Array.from(model[method](rows));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
for (const wrong of [() => model.predict([1]), () => model.predictAll(new Array(features + 1))]) {
  try {
    wrong();
  } catch (error) {
    found.refused.push(error.name);
  }
}
console.log(JSON.stringify(found));
