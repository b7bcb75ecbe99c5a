/* The pinned candidate: command, figures, stages, and the rows on which it differs from the SVM. */
function draw_detail() {
  const one = candidates.find((candidate) => candidate.number === state.pinned), place = at("detail");
  place.hidden = !one;
  place.classList.toggle("same", state.pinned === record.winner);
  if (!one) return place.replaceChildren();
  const close = make("button", { type: "button", class: "quiet", text: "Unpin", onclick: () => pin(null) });
  const title = make("h2", {}, small_glyph(one.method, one.precision), make("bdi", { text: one.number + "  " + one.title }));
  const parts = [make("div", { class: "bar" }, title, close), make("p", { class: "soft" }, make("b", { class: "verdict", text: sentence_case(verdict(one)) }), " \u00b7 " + about(one))];
  if (one.command) parts.push(make("div", { class: "command" }, ...command_line(one.command, one.title)));
  parts.push(figures_list(one));
  const work = [stages_part(one), confusion_part(one)].filter(Boolean), rows = differences_part(one);
  if (work.length || rows) parts.push(make("div", { class: "parts" }, make("div", {}, ...work), rows));
  return place.replaceChildren(...parts.filter(Boolean));
}
const sentence_case = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const CLAIMS = { EXACT: "computes the same function", SAME_LABEL: "gives the same label, by proof", APPROXIMATE: "approximates" };

function about(one) {
  const options = Object.entries(one.options || {}).map(([key, value]) => key + "=" + (typeof value === "object" ? JSON.stringify(value) : value));
  return [record.models.length > 1 && "model " + one.model, one.method, one.claim + (CLAIMS[one.claim] ? " (" + CLAIMS[one.claim] + ")" : ""),
    one.precision, one.tables && one.tables + " tables", one.target, one.profile, ...options].filter(Boolean).join(" \u00b7 ");
}

function figures_list(one) {
  const lines = [[outcomes() + " kept", agreement_text(one)], ["accuracy", accuracy_text(one)],
    ["worst decision error", digits(one.max_decision_error)],
    ...FIGURES.map((figure) => [figure.name + (one.figures.predicted ? ", predicted" : ""), figure.format(one.figures[figure.key])]),
    ["seconds to build and measure", is_set(one.seconds) ? digits(one.seconds) : "\u2013"]];
  return make("dl", { class: "figures" }, ...lines.filter(([, text]) => text !== "\u2013").map(([name, text]) =>
    make("div", {}, make("dt", { text: name }), figure_text(text))));
}
function figure_text(text) {
  const [figure, bounds] = text.split(" (");
  return make("dd", {}, figure, bounds && make("small", { text: bounds.slice(0, -1) }));
}

/* Where the work goes: how many rows get to a stage, what it computes there and reads. */
function stages_part(one) {
  if (!one.stages || !one.stages.length) return null;
  const most = (key) => Math.max(...one.stages.map((stage) => stage[key] || 0)) || 1;
  const columns = [["share", "rows", 1, percent], ["flops", "operations", most("flops"), (count) => digits(count)], ["bytes", "bytes", most("bytes"), bytes]];
  const cell = (stage, [key, , full, format]) => make("td", {}, make("span", { class: "number", text: format(stage[key]) }), bar((stage[key] || 0) / full));
  return make("section", {}, make("h3", { text: "Stages" }), make("table", { class: "stages" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "stage" }), ...columns.map((column) => make("th", { scope: "col", text: column[1] })))),
    make("tbody", {}, ...one.stages.map((stage) => make("tr", {}, make("th", { scope: "row" }, make("bdi", { text: stage.name })), ...columns.map((column) => cell(stage, column)))))));
}
function bar(share) {
  const inner = make("span");
  inner.style.width = (100 * Math.min(1, share)).toFixed(1) + "%";
  return make("span", { class: "rail", "aria-hidden": "true" }, inner);
}

/* A matrix where many classes change and their names are short, a list of pairs elsewhere. */
function confusion_part(one) {
  const pairs = one.confusion || [];
  if (!pairs.length) return null;
  const used = new Set(pairs.flatMap(([from, to]) => [from, to])), model = record.models.find((each) => each.name === one.model);
  const labels = model && model.labels ? model.labels.filter((label) => used.has(label)) : [...used];
  const total = pairs.reduce((sum, pair) => sum + pair[2], 0), matrix = labels.length > 2 && labels.length <= 12 && labels.every((label) => label.length <= 6);
  return make("section", {}, make("h3", { text: sentence_case(outcomes()) + " that change" }),
    make("p", { class: "soft", text: plural(total, "row") + " of " + record.rows.report.toLocaleString("en-US") + (matrix ? "; down: the SVM, across: this program" : "; the SVM's label, then this program's") }),
    matrix ? confusion_matrix(labels, pairs) : confusion_list(pairs));
}
function confusion_matrix(labels, pairs) {
  const most = Math.max(...pairs.map((pair) => pair[2])), count = (from, to) => (pairs.find((pair) => pair[0] === from && pair[1] === to) || [0, 0, 0])[2];
  const cell = (from, to) => {
    const found = count(from, to), place = make("td", { class: from === to ? "same" : "", text: found || "" });
    if (found) place.style.setProperty("--share", 0.15 + (0.6 * found) / most);
    return found ? fill(place, { title: from + " becomes " + to, class: "hit" }, []) : place;
  };
  return make("div", { class: "scroller" }, make("table", { class: "matrix" },
    make("thead", {}, make("tr", {}, make("td"), ...labels.map((label) => make("th", { scope: "col", text: label })))),
    make("tbody", {}, ...labels.map((from) => make("tr", {}, make("th", { scope: "row", text: from }), ...labels.map((to) => cell(from, to)))))));
}
function confusion_list(pairs) {
  const sorted = [...pairs].sort((a, b) => b[2] - a[2]), most = sorted[0][2];
  return make("ul", { class: "pairs" }, ...sorted.slice(0, 20).map(([from, to, count]) => make("li", {}, make("span", { class: "pair", title: from + " becomes " + to },
    make("bdi", { text: short(from, 60) }), " \u2192 ", make("bdi", { text: short(to, 60) })), make("span", { class: "number", text: count }), bar(count / most))),
    sorted.length > 20 && make("li", { class: "soft", text: "and " + plural(sorted.length - 20, "pair") + " more" }));
}

function differences_part(one) {
  if (one.state !== "measured") return null;
  const rows = one.differences || [], title = make("h3", { text: "Rows on which it differs, nearest to the border first" });
  if (!rows.length) return one.agreement ? make("section", {}, title, make("p", { class: "soft", text: "None of the " + plural(record.rows.report, "reporting row") + "." })) : null;
  const truth = rows.some((row) => is_set(row.truth)), model = record.models.find((each) => each.name === one.model);
  const heads = ["row", "SVM", "this program", ...(truth ? ["truth"] : []), "margin", "scores of the SVM", "scores of this program", ""];
  const label = (text) => make("td", { title: text }, make("bdi", { text: short(String(text), 40) }));
  return make("section", {}, title, make("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Rows that differ" }, make("table", { class: "rows" },
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, make("th", { scope: "row", text: row.row }), label(row.original), label(row.candidate),
      truth && label(is_set(row.truth) ? row.truth : "\u2013"), make("td", { class: "number", text: digits(row.margin) }),
      make("td", { class: "number", text: score_text(model, row, row.original_scores) }), make("td", { class: "number", text: score_text(model, row, row.candidate_scores) }),
      make("td", {}, all_numbers(row))))))));
}

/* Of many scores those that decide between the two labels: their own, or that of their pair. */
function score_text(model, row, scores) {
  if (!scores || !scores.length) return "\u2013";
  const labels = (model && model.labels) || [], i = labels.indexOf(row.original), j = labels.indexOf(row.candidate);
  if (scores.length === 1 || i < 0 || j < 0) return scores.slice(0, 4).map((score) => digits(score)).join(", ");
  if (scores.length === labels.length) return digits(scores[i], 4) + " / " + digits(scores[j], 4);
  const [a, b] = [Math.min(i, j), Math.max(i, j)], pair = scores[a * labels.length - (a * (a + 1)) / 2 + b - a - 1];
  return is_set(pair) ? digits(pair, 4) : scores.slice(0, 4).map((score) => digits(score)).join(", ");
}
function all_numbers(row) {
  const list = (values) => (values || []).map((value) => digits(value, 4)).join(", ");
  return make("details", {}, make("summary", { text: "all" }), make("p", { text: "SVM: " + list(row.original_scores) }),
    make("p", { text: "this program: " + list(row.candidate_scores) }), row.x && make("p", { text: "features: " + list(row.x) }));
}

