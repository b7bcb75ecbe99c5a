/* The pinned candidate: command, figures, stages, and the rows on which it differs from the SVM. */
const CLAIMS = { EXACT: "computes the same function", SAME_LABEL: "gives the same label, by proof",
  APPROXIMATE: "approximates" };
const model_of = (one) => record.models.find((model) => model.name === one.model) || {};

function draw_detail() {
  const one = candidates.find((candidate) => candidate.number === state.pinned), place = at("detail");
  place.hidden = !one;
  place.classList.toggle("same", state.pinned === record.winner);
  if (!one) return place.replaceChildren();
  const title = make("h2", {}, small_glyph(one.method, one.precision), own(one.number + "  " + one.title));
  const work = make("div", {}, stages_part(one), confusion_part(one)), rows = differences_part(one);
  return place.replaceChildren(make("div", { class: "bar" }, title, button("quiet", () => pin(null), "Unpin")),
    soft(make("b", { class: "verdict" }, sentence_case(verdict(one))), " \u00b7 " + about(one)),
    one.command ? command_line(one.command, one.title) : "", figures_list(one),
      make("div", { class: "parts" }, work, rows));
}
function about(one) {
  const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  const options = Object.entries(one.options || {}).map(([key, value]) => key + "=" + text(value));
  return joined(traits(one), CLAIMS[one.claim], ...options);
}
function figures_list(one) {
  const lines = [...figure_lines(one), ["built and measured in", unit(one.seconds, [[0, 1, "s"]])]];
  return make("dl", { class: "figures" }, ...lines.map(([name, text]) => {
    const [figure, bounds] = text.split(" (");
    return make("div", {}, make("dt", {}, name),
      make("dd", {}, figure, bounds && make("small", {}, bounds.slice(0, -1))));
  }));
}
function bar(share) {
  const inner = make("span");
  inner.style.width = (100 * Math.min(1, share)).toFixed(1) + "%";
  return make("span", { class: "rail", "aria-hidden": "true" }, inner);
}

/* Where the work goes: how many rows get to a stage, what it computes there and reads. */
function stages_part(one) {
  if (!one.stages || !one.stages.length) return null;
  const most = (key) => Math.max(...one.stages.map((stage) => stage[key] || 0)) || 1;
  const columns = [["share", 1, percent], ["flops", most("flops"), plain], ["bytes", most("bytes"), bytes]];
  const cell = (stage, [key, full, format]) => make("div", {}, format(stage[key]), bar((stage[key] || 0) / full));
  const rows = one.stages.map((stage) => [own(stage.name), ...columns.map((column) => cell(stage, column))]);
  return make("section", {}, make("h3", {}, "Stages"),
    table_of("stages", ["stage", "rows", "operations", "bytes"], rows));
}

/* A matrix where many classes change and their names are short, a list of pairs elsewhere. */
function confusion_part(one) {
  const pairs = one.confusion || [], used = new Set(pairs.flatMap(([from, to]) => [from, to]));
  if (!pairs.length) return null;
  const labels = (model_of(one).labels || [...used]).filter((name) => used.has(name));
  const wide = labels.length > 2 && labels.length <= 12 && labels.every((name) => name.length <= 6);
  const total = pairs.reduce((sum, pair) => sum + pair[2], 0),
    how = wide ? "down: the SVM, across: this program" : "the SVM's, then this program's";
  return make("section", {}, make("h3", {}, sentence_case(outcomes()) + " that change"),
    soft(plural(total, "row") + " of " + grouped(record.rows.report) + "; " + how),
    wide ? confusion_matrix(labels, pairs) : confusion_list(pairs));
}
function confusion_matrix(labels, pairs) {
  const most = Math.max(...pairs.map((pair) => pair[2])), table = table_of("matrix", ["", ...labels], []);
  const cell = (from, to) => {
    const pair = pairs.find((each) => each[0] === from && each[1] === to);
    if (!pair) return make("td", { class: from === to ? "same" : "" });
    const place = make("td", { class: "hit", title: from + " becomes " + to }, pair[2]);
    place.style.setProperty("--share", 0.15 + (0.6 * pair[2]) / most);
    return place;
  };
  const row = (from) => make("tr", {}, make("th", { scope: "row" }, from), ...labels.map((to) => cell(from, to)));
  table.tBodies[0].append(...labels.map(row));
  return make("div", { class: "scroller" }, table);
}
function confusion_list(pairs) {
  const sorted = [...pairs].sort((a, b) => b[2] - a[2]), more = sorted.length - 20;
  const line = ([from, to, count]) => make("li", {}, make("span", { title: from + " becomes " + to },
    own(short(from, 60)), " \u2192 ", own(short(to, 60))), make("span", { class: "number" }, count),
      bar(count / sorted[0][2]));
  return make("ul", { class: "pairs" }, ...sorted.slice(0, 20).map(line),
    more > 0 && soft("and " + plural(more, "pair") + " more"));
}

function differences_part(one) {
  const rows = one.differences || [], truth = rows.some((row) => is_set(row.truth)),
    labels = model_of(one).labels || [];
  if (!one.agreement) return "";
  const title = make("h3", {}, "Rows on which it differs, nearest to the border first");
  if (!rows.length) return make("section", {}, title,
    soft("None of " + plural(record.rows.report, "reporting row") + "."));
  const name = (text) => make("span", { title: text }, own(is_set(text) ? short(String(text), 40) : NONE));
  const line = (row) => [row.row, name(row.original), name(row.candidate), ...(truth ? [name(row.truth)] : []),
    digits(row.margin),
    score_text(labels, row, row.original_scores), score_text(labels, row, row.candidate_scores), all_numbers(row)];
  const heads = ["row", "SVM", "this program", ...(truth ? ["truth"] : []), "margin", "scores of the SVM",
    "scores of this program", ""];
  const frame = { class: "scroller", tabindex: 0, role: "region", "aria-label": "Rows that differ" };
  return make("section", {}, title, make("div", frame, table_of("rows", heads, rows.map(line))));
}

/* Of many scores those that decide between the two labels: their own, or that of their pair. */
function score_text(labels, row, scores) {
  const i = labels.indexOf(row.original), j = labels.indexOf(row.candidate), count = labels.length, all = scores || [];
  if (all.length > 1 && i >= 0 && j >= 0) {
    if (all.length === count) return digits(all[i], 4) + " / " + digits(all[j], 4);
    const [a, b] = [Math.min(i, j), Math.max(i, j)];
    if (all.length === (count * (count - 1)) / 2) return digits(all[a * count - (a * (a + 1)) / 2 + b - a - 1], 4);
  }
  return all.slice(0, 4).map((score) => digits(score, 4)).join(", ") || NONE;
}
function all_numbers(row) {
  const lines = [["SVM", row.original_scores], ["this program", row.candidate_scores], ["features", row.x]];
  const text = (values) => values.map((value) => digits(value, 4)).join(", ");
  return make("details", {}, make("summary", {}, "all"),
    ...lines.filter(([, values]) => values && values.length).map(([name, values]) =>
    make("p", {}, name + ": " + text(values))));
}

