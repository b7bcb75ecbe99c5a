/* The table of all candidates, sortable, and the files to download. */
const EXTRA = new Set(["claim", "error", "worst_instructions", "energy_nj", "file_bytes",
  "verdict"]); /* not on paper */
const figure_column = ({ key, name, format }) => ({ key, name, number: true, value: (one) => one.figures[key],
  text: (one) => (one.figures.predicted && is_set(one.figures[key]) ? "\u2248" + GAP : "")
    + format(one.figures[key]) });
const COLUMNS = [
  { key: "number", name: "no.", value: (one) => one.number },
  { key: "model", name: "model", value: (one) => one.model, hidden: record.models.length < 2 },
  { key: "title", name: "candidate", value: (one) => one.title },
  { key: "claim", name: "claim", value: (one) => lower_case(one.claim) },
  { key: "precision", name: "numbers", value: (one) => one.precision + (one.tables ? ", " + one.tables : "") },
  { key: "target", name: "target", value: (one) => one.target,
    hidden: new Set(candidates.map((one) => one.target)).size < 2 },
  { key: "agreement", name: outcomes() + " kept (bounds)", text: agreement_text, number: true,
    value: (one) => (one.proven ? 2 : one.agreement && one.agreement.report.share) },
  { key: "accuracy", name: "accuracy", value: (one) => one.accuracy && one.accuracy.share, number: true,
    text: (one) => percent(one.accuracy && one.accuracy.share), hidden: !candidates.some((one) => one.accuracy) },
  { key: "error", name: "worst error", value: (one) => one.max_decision_error, number: true,
    text: (one) => digits(one.max_decision_error), hidden: !candidates.some((one) => is_set(one.max_decision_error)) },
  ...FIGURES.map(figure_column),
  { key: "verdict", name: "verdict", value: verdict },
].filter((column) => !column.hidden);
const class_of = ({ key, number }) => classes({ number, [key]: true, extra: EXTRA.has(key) });

function sorted_candidates() {
  const { value } = COLUMNS.find((column) => column.key === state.sort.key), sign = state.sort.down ? -1 : 1;
  const compare = (a, b) => (typeof a === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true }));
  return visible().sort((a, b) => {
    const one = value(a), other = value(b);
    if (!is_set(one) || !is_set(other)) return is_set(other) - is_set(one); /* what is not known comes last */
    return sign * compare(one, other) || a.number - b.number;
  });
}

function draw_table() {
  const focus = document.activeElement && document.activeElement.dataset.sort,
    printed = new Set([...state.front].slice(0, 10));
  const order = (column) => (column.key !== state.sort.key ? "none" : state.sort.down ? "descending" : "ascending");
  const head = (column) => {
    const press = button("", () => sort_by(column.key), column.name);
    press.dataset.sort = column.key;
    return make("th", { scope: "col", class: class_of(column), "aria-sort": order(column) }, press);
  };
  const rows = sorted_candidates().map((one) => table_row(one, printed.has(one.number)));
  at("table").replaceChildren(make("thead", {}, make("tr", {}, ...COLUMNS.map(head))), make("tbody", {}, ...rows));
  if (focus) at("table").querySelector(`[data-sort="${focus}"]`).focus();
}
function table_row(one, printed) {
  const { winner, failed, unmet } = state.choice, pinned = state.pinned === one.number;
  const grey = one.state !== "measured" || (unmet.get(one.number) || []).length || failed.has(one.number);
  const cell = (column) => {
    const text = column.text ? column.text(one) : String(column.value(one));
    if (column.key !== "title") return make("td", { class: class_of(column) }, text);
    const press = button("", (event) => { event.stopPropagation(); pin(one.number); },
      small_glyph(one.method, one.precision), own(text));
    press.setAttribute("aria-pressed", String(pinned));
    return make("td", { class: "title" }, press);
  };
  const kind = classes({ grey, winner: winner === one, pinned, printed });
  return make("tr", { class: kind, "data-row": one.number, onclick: () => pin(one.number) }, ...COLUMNS.map(cell));
}
function sort_by(key) {
  state.sort = { key, down: state.sort.key === key && !state.sort.down };
  draw_table();
  announce("Sorted by " + COLUMNS.find((column) => column.key === key).name
    + (state.sort.down ? ", descending" : ", ascending"));
}

/* One line per candidate, every figure in full. A text that a spreadsheet would compute gets an apostrophe. */
function csv_text() {
  const given = ["number", "model", "title", "method", "precision", "tables", "target", "profile", "claim", "proven",
    "state", "dominated"];
  const line = (one) => {
    const report = one.agreement ? one.agreement.report : {}, accuracy = one.accuracy || {},
      figures = FIGURES.map(({ key }) => [key, one.figures[key]]);
    return [...given.map((key) => [key, one[key]]),
      ["rows", report.rows], ["same", report.same], ["agreement", report.share],
      ["agreement_low", (report.low || [])[0]], ["agreement_high", report.high],
      ["accuracy", accuracy.share], ["accuracy_low", accuracy.low], ["accuracy_high", accuracy.high],
      ["max_decision_error", one.max_decision_error], ...figures, ["predicted", Boolean(one.figures.predicted)],
      ["seconds", one.seconds], ["reason", one.reason], ["command", one.command]];
  };
  const cell = (value) => {
    const formula = typeof value === "string" && /^[=+\-@\t\r]/.test(value);
    const text = (formula ? "'" : "") + (is_set(value) ? value : "");
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const lines = candidates.map(line), heads = (lines[0] || []).map(([name]) => name);
  const values = lines.map((one) => one.map(([, value]) => value));
  return [heads, ...values].map((cells) => cells.map(cell).join(",") + "\r\n").join("");
}

