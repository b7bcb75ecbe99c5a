// Runs one ONNX graph in onnxruntime-web or onnxruntime-node: a JSON request on standard input, outputs as JSON.
const request = JSON.parse(require("fs").readFileSync(0, "utf8"));
const ort = require(request.module);

async function main() {
  const session = await ort.InferenceSession.create(require("fs").readFileSync(request.path));
  const data = request.wide ? Float64Array.from(request.rows) : Float32Array.from(request.rows);
  const rows = new ort.Tensor(request.wide ? "float64" : "float32", data, request.shape);
  const found = await session.run({ X: rows });
  const outputs = {};
  for (const name of session.outputNames) {
    const numbers = Array.from(found[name].data, (value) => (typeof value === "bigint" ? Number(value) : value));
    outputs[name] = { shape: found[name].dims, data: numbers };
  }
  console.log(JSON.stringify(outputs));
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
