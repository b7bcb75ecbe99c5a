/* Elements and numbers. Text from the record enters the page as text nodes and attributes, never as HTML. */
const at = (id) => document.getElementById(id);
const record = JSON.parse(at("record").textContent);
const settings = record.settings, candidates = record.candidates;
const is_set = (value) => value !== null && value !== undefined;
const GAP = "\u202f", NONE = "\u2013"; /* a narrow space that does not break, before units; no figure */

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (is_set(value) && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => is_set(child) && child !== false));
  return element;
}
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const button = (kind, onclick, ...children) => make("button", { type: "button", class: kind, onclick }, ...children);
const soft = (...children) => make("p", { class: "soft" }, ...children);
const own = (text) => make("bdi", {}, text); /* its direction of writing stays its own */
const classes = (flags) => Object.keys(flags).filter((name) => flags[name]).join(" ");
const joined = (...texts) => texts.filter(Boolean).join(" \u00b7 ");

/* A table of rows of cells, text or elements; the first cell of each names its row. */
function table_of(kind, heads, rows) {
  const row = ([first, ...rest]) => make("tr", {}, make("th", { scope: "row" }, first),
    ...rest.map((one) => make("td", {}, one)));
  const head = make("tr", {}, ...heads.map((name) => (name ? make("th", { scope: "col" }, name) : make("td"))));
  return make("table", { class: kind }, make("thead", {}, head), make("tbody", {}, ...rows.map(row)));
}

function digits(number, count = 3) {
  if (!is_set(number)) return NONE;
  const size = Math.abs(number);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return number.toExponential(count - 1);
  const places = size >= 1 ? Math.max(0, count - 1 - Math.floor(Math.log10(size))) : count;
  const [whole, part] = String(Number(size >= 1 ? number.toFixed(places) : number.toPrecision(count))).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return part ? grouped + "." + part : grouped;
}
function unit(number, steps) {
  if (!number) return digits(number);
  const [, size, name] = steps.find(([least]) => Math.abs(number) >= least) || steps[steps.length - 1];
  return digits(number / size) + GAP + name;
}
const plain = (number) => digits(number);
const time = (us) => unit(us, [[1e6, 1e6, "s"], [1e3, 1e3, "ms"], [0.1, 1, "\u00b5s"], [0, 1e-3, "ns"]]);
const bytes = (count) => unit(count, [[1048576, 1048576, "MB"], [1024, 1024, "KB"], [0, 1, "B"]]);
const energy = (nj) => unit(nj, [[1e6, 1e6, "mJ"], [1e3, 1e3, "\u00b5J"], [0, 1, "nJ"]]);

/* Shares near 1 need more places: 99.95 %, not 100 %. Bounds are rounded to the unfavourable side. */
function percent(share, round = Math.round) {
  if (!is_set(share)) return NONE;
  const rest = Math.min(Math.abs(share), Math.abs(1 - share));
  const places = rest > 0 ? Math.min(5, Math.max(1, Math.ceil(-Math.log10(rest)) - 1)) : 0;
  const scale = 10 ** places, value = round(Number((share * 100 * scale).toPrecision(12))) / scale;
  return value.toFixed(places) + GAP + "%";
}
const round_percent = (share) => String(Number((share * 100).toPrecision(8))) + GAP + "%";
const small = (share) => (is_set(share) ? digits(share * 100) + GAP + "%" : NONE);
const grouped = (count) => (count || 0).toLocaleString("en-US");
const plural = (count, noun) => grouped(count) + " " + noun + (count === 1 ? "" : "s");
const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
const sentence_case = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const lower_case = (claim) => claim.toLowerCase().replace("_", " ");

/* What is compared with the SVM. */
function outcomes() {
  return record.models.every((model) => model.is_regressor) ? "values" : "labels";
}

/* A share measured on the reporting rows, and its bounds in brackets. */
function share_text(measured) {
  if (!measured) return NONE;
  const low = Array.isArray(measured.low) ? measured.low.at(-1) : measured.low,
    known = is_set(low) && is_set(measured.high);
  const bounds = known ? ` (${percent(low, Math.floor)} to ${percent(measured.high, Math.ceil)})` : "";
  return percent(measured.share) + bounds;
}
function agreement_text(one) {
  return one.proven ? `every ${outcomes().slice(0, -1)}, proven` : share_text(one.agreement && one.agreement.report);
}

/* Axes that some candidate has a value on; the first where none has any, so that there is one. */
function offered(axes, value) {
  const found = axes.filter((axis) => candidates.some((one) => is_set(value(axis, one))));
  return found.length ? found : axes.slice(0, 1);
}

/* Costs a candidate may have, in the order in which they are offered. */
const FIGURES = offered([
  { key: "time_us", name: "time per row", format: time },
  { key: "batch_time_us", name: "time per row in batches", format: time },
  { key: "instructions", name: "instructions per row", format: plain },
  { key: "worst_instructions", name: "instructions, worst row", format: plain },
  { key: "energy_nj", name: "energy per row", format: energy },
  { key: "flash_bytes", name: "flash", format: bytes },
  { key: "ram_bytes", name: "memory", format: bytes },
  { key: "table_bytes", name: "table bytes", format: bytes },
  { key: "file_bytes", name: "size of files", format: bytes },
], ({ key }, one) => one.figures[key]);
const figure_named = (key) => FIGURES.find((figure) => figure.key === key);

/* Everything that is known of a candidate, as pairs of name and text. */
function figure_lines(one) {
  const predicted = one.figures.predicted ? ", predicted" : "";
  return [[outcomes() + " kept", agreement_text(one)], ["accuracy", share_text(one.accuracy)],
    ["worst decision error", digits(one.max_decision_error)],
    ...FIGURES.map(({ key, name, format }) => [name + predicted, format(one.figures[key])]),
  ].filter(([, text]) => text !== NONE);
}

/* A command with a button that copies it. A word keeps together: no line may break inside of --data. */
function command_line(text, title) {
  const words = text.split(" ").flatMap((word, index) => [index ? " " : "", make("span", {}, word)]);
  const code = make("code", {}, ...words), press = button("copy", async () => {
    const done = await copy(text, code);
    press.textContent = done ? "Copied" : "Selected";
    announce("Command " + press.textContent.toLowerCase());
    setTimeout(() => { press.textContent = "Copy"; }, 1600);
  }, "Copy");
  press.setAttribute("aria-label", "Copy the command of " + title);
  return make("div", { class: "command" }, code, press);
}
/* Pages from disk may have no clipboard: then the text is selected, and copied the old way. */
async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}
function announce(text) {
  at("live").textContent = text;
}
function download(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

