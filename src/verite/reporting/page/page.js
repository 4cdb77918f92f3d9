// A convenience: the page can be read without it. Names become text only, and never keys of objects.
const $ = (query, from = document) => from.querySelector(query);
const $$ = (query, from = document) => [...from.querySelectorAll(query)];
const doc = JSON.parse($("#verite").textContent);
const systems = doc.systems, labels = doc.truth.labels, dialog = $("#viewer"), status = $("#said");
const NEVER = 255, MOST = 200;
const fixed = (value, digits) => Number.isFinite(value) ? value.toFixed(digits) : "–";
const whole = value => value.toLocaleString("en-US"), sum = values => values.reduce((a, b) => a + b, 0);
const shown = name => String(name).trim().slice(0, 120) || "(no name)";
const imageName = image => shown(doc.images.names[String(image)] ?? image);

function fill(made, about, children) {
  for (const [key, value] of Object.entries(about)) key.startsWith("on") ? made.addEventListener(key.slice(2), value) : made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const make = (name, about = {}, ...children) => fill(document.createElement(name), about, children);
const draw = (name, about, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), about, children);
const press = (text, onclick, about = {}) => make("button", {type: "button", ...about, onclick}, text);

// Packed columns

const ARRAYS = new Map([["u1", Uint8Array], ["u2", Uint16Array], ["u4", Uint32Array]]);
async function unpack(id, layout) {
  const text = document.getElementById(id)?.textContent;
  if (!text || !layout || !("DecompressionStream" in window)) return null;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(stream).arrayBuffer(), found = new Map();
  let at = 0;
  for (const [name, type, length] of layout) {
    const size = length * Number(type[1]);
    found.set(name, new (ARRAYS.get(type))(raw.slice(at, at + size)));
    at += size;
  }
  return found;
}
const truths = await unpack("objects", doc.packed?.layout);
const loaded = new Map();
async function load(i) {
  if (!loaded.has(i)) loaded.set(i, unpack(`objects-${i}`, systems[i].packed?.layout));
  return loaded.get(i);
}

// Which system, from which confidence on

const state = {system: 0, steps: systems.map(one => nearest(one.steps.steps, one.best.confidence)), moved: new Set(), label: "", cell: ""};
function nearest(steps, value) {
  let best = 0;
  steps.forEach((step, k) => { if (Math.abs(step - value) < Math.abs(steps[best] - value)) best = k; });
  return best;
}
const below = (counts, start, step, length) => sum(counts.subarray(start + step, start + length));
async function count(i) {
  const data = await load(i);
  if (!data) return;
  const one = systems[i], step = state.steps[i], S = one.steps.steps.length, T = one.types.length;
  const counts = data.get("labels"), totals = new Array(T).fill(0), of = [];
  for (let l = 0; l < labels.length; l++) {
    const kinds = one.types.map((_, t) => below(counts, (l * T + t) * S, step, S));
    kinds.forEach((n, t) => totals[t] += n);
    of.push(kinds);
  }
  const right = totals[0], wrong = sum(totals.slice(1)), asked = one.steps.truths;
  const said = new Map([
    ["confidence", fixed(one.steps.steps[step], 2)], ["precision", fixed(right / (right + wrong), 3)],
    ["recall", fixed(right / asked, 3)], ["f1", fixed(2 * right / (right + wrong + asked), 3)], ["right", whole(right)],
    ["wrong", whole(wrong)], ["missed", whole(asked - right)], ["false alarms per image", fixed(wrong / one.steps.images, 2)],
  ]);
  for (const cell of $$(`[data-read^="${i}."]`)) cell.textContent = said.get(cell.dataset.read.slice(`${i}.`.length));
  for (const cell of $$(`[data-count^="${i}."]`)) {
    const t = one.types.indexOf(cell.dataset.count.slice(`${i}.`.length));
    if (t > 0) cell.textContent = whole(totals[t]);
  }
  for (const cell of $$(`td[data-label^="${i}."]`)) {
    const [, l, word] = cell.dataset.label.split("."), kinds = of[Number(l)];
    if (kinds) cell.textContent = whole(word === "right" ? kinds[0] : sum(kinds.slice(1)));
    cell.hidden = false;
  }
  for (const cell of $$(`#classes-${i} .at`)) cell.hidden = false;
  for (const cell of $$(`[data-image^="${i}."]`)) {
    const [, k, word] = cell.dataset.image.split(".");
    const found = below(data.get("image_right"), Number(k) * S, step, S);
    if (word === "wrong") cell.textContent = whole(below(data.get("image_wrong"), Number(k) * S, step, S));
    else if (word === "right") cell.textContent = whole(found);
    else cell.textContent = whole(Number(cell.closest("tr").dataset.truths) - found);
  }
  const cut = $(`[data-cut="${i}"]`), slider = $(`.slider[data-system="${i}"]`), share = step / (S - 1);
  if (cut) for (const side of ["x1", "x2"]) cut.setAttribute(side, (36 + share * (440 - 36 - 14)).toFixed(1));
  const words = `From ${said.get("confidence")}: ${said.get("right")} right, ${said.get("wrong")} wrong, ${said.get("missed")} missed`;
  slider.setAttribute("aria-valuetext", words);
  for (const note of $$("[data-at]")) note.textContent = ` (counts from ${said.get("confidence")} on)`;
  if (state.moved.has(i)) status.textContent = words;
}
for (const slider of $$(".slider")) {
  const i = Number(slider.dataset.system);
  slider.addEventListener("input", () => { state.steps[i] = Number(slider.value); state.moved.add(i); count(i); remember(); });
  const set = step => { slider.value = step; slider.dispatchEvent(new Event("input")); };
  slider.addEventListener("keydown", event => {
    const by = {PageUp: 10, PageDown: -10}[event.key];
    if (by) { event.preventDefault(); set(Number(slider.value) + by); }
  });
  const best = nearest(systems[i].steps.steps, systems[i].best.confidence);
  slider.parentElement.after(make("p", {class: "row"}, press("best F1", () => set(best), {class: "btn"})));
}
const radios = $$("input[name=pred]");
radios.forEach((radio, i) => radio.addEventListener("change", () => { state.system = i; remember(); }));

// A link shows the same view

function remember() {
  const parts = [], i = state.system;
  if (state.moved.has(i)) parts.push(`at=${fixed(systems[i].steps.steps[state.steps[i]], 2)}`);
  if (state.label) parts.push(`label=${encodeURIComponent(state.label)}`);
  if (state.cell) parts.push(`cell=${state.cell}`);
  if (radios.length && (i || parts.length)) parts.push(`pred=${encodeURIComponent(systems[i].name)}`);
  history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
}
async function recall() {
  const given = new Map(location.hash.slice(1).split("&").map(part => {
    const at = part.indexOf("=");
    return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
  }));
  const decode = text => { try { return decodeURIComponent(text); } catch { return ""; } }, read = key => decode(given.get(key) ?? "");
  const chosen = systems.findIndex(one => one.name === read("pred"));
  if (chosen >= 0 && radios[chosen]) { radios[chosen].checked = true; state.system = chosen; }
  const i = state.system, at = parseFloat(read("at"));
  if (Number.isFinite(at)) {
    state.steps[i] = nearest(systems[i].steps.steps, at);
    state.moved.add(i);
    const slider = $(`.slider[data-system="${i}"]`);
    if (slider) slider.value = String(state.steps[i]);
    await count(i);
  }
  const cell = (given.get("cell") ?? "").split(",");
  if (cell.length === 2 && cell[0]) listCell(i, decode(cell[0]), decode(cell[1]));
  else if (read("label")) listLabel(i, read("label"));
}

// Tables: sorted by any column, filtered by name

const valueOf = cell => {
  const text = (cell?.textContent ?? "").trim(), number = parseFloat(text.replaceAll(",", "").replace("−", "-"));
  return Number.isNaN(number) ? text : number;
};
for (const table of $$("table.sortable")) {
  const heads = $$("thead tr:last-child th", table);
  heads.forEach((head, column) => {
    if (head.classList.contains("nosort")) return;
    const button = make("button", {type: "button"}, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : column > 0;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const keyed = $$("tbody tr", table).map(row => [valueOf(row.cells[column]), row]);
      keyed.sort(([a], [b]) => {
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        const order = typeof a === "number" ? a - b : a.localeCompare(b, "en");
        return falls ? -order : order;
      });
      table.tBodies[0].append(...keyed.map(([, row]) => row));
    });
  });
}
for (const input of $$(".filter")) input.addEventListener("input", () => {
  const wanted = input.value.toLowerCase();
  let left = 0;
  for (const row of $$("tbody tr", document.getElementById(input.dataset.table))) {
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    left += row.hidden ? 0 : 1;
  }
  status.textContent = `${left} left`;
});

// Objects of an image, a class or a cell

function objectsOf(i, data, image) {
  const found = [], scale = doc.packed.scale, one = systems[i], S = one.steps.steps;
  const box = (columns, prefix, j) => ["x", "y", "w", "h"].map(k => columns.get(prefix + k)[j] * scale);
  for (let j = truths.get("start")[image]; j < truths.get("start")[image + 1]; j++) {
    const step = data.get("found")[j], hit = step !== NEVER && step >= state.steps[i];
    const fate = hit ? "found" : truths.get("asked")[j] ? "missed" : "not asked for";
    found.push({side: "truth", fate, label: truths.get("label")[j], box: box(truths, "", j), image});
  }
  for (let j = data.get("p_start")[image]; j < data.get("p_start")[image + 1]; j++) {
    const sure = S[0] + (S[S.length - 1] - S[0]) * data.get("p_sure")[j] / 10000;
    if (sure < S[state.steps[i]] - 5e-5) continue;
    const type = data.get("p_type")[j], other = data.get("p_other")?.[j] ?? 0;
    found.push({side: "pred", fate: type ? one.types[type] : "right", label: data.get("p_label")[j], box: box(data, "p_", j), sure, image, other: other - 1});
  }
  return found;
}
const isError = object => object.fate === "missed" || object.side === "pred" && object.fate !== "right";
const labelName = label => shown(labels[label] ?? "");
const tell = object => object.side === "truth"
  ? `${{found: "●", missed: "○"}[object.fate] ?? "◌"} ${object.fate} ${labelName(object.label)}`
  : `${object.fate === "right" ? "✓" : "✗"} ${labelName(object.label)} ${fixed(object.sure, 2)}${object.fate === "right" ? "" : ` (${object.fate})`}`;

const view = {images: [], zoom: 1};
function open(content) {
  if (!dialog.open) { view.back = document.activeElement; dialog.showModal(); }
  dialog.replaceChildren(...content);
  $("button", dialog)?.focus();
}
dialog.addEventListener("close", () => { state.label = state.cell = ""; remember(); view.back?.focus?.(); });
const button = (text, name, onclick) => press(text, onclick, {class: "btn", "aria-label": name});
const closing = () => button("Close", "Close", () => dialog.close());

async function openImage(i, image, images, chosen = null) {
  const data = await load(i);
  if (!data || !truths) return;
  Object.assign(view, {i, images, at: Math.max(0, images.indexOf(image)), zoom: 1, chosen});
  const objects = objectsOf(i, data, image), stage = make("div", {class: "stage", tabindex: "0", role: "region", "aria-label": "Picture"});
  const list = make("ul", {class: "objects"});
  const order = [...objects].sort((a, b) => isError(b) - isError(a));
  for (const object of order) list.append(make("li", {}, press(tell(object), () => { view.chosen = object; paint(stage, image, objects); })));
  open([
    make("div", {class: "top"}, make("h2", {}, imageName(image)),
      button("‹", "Previous image", () => move(-1)), button("›", "Next image", () => move(1)),
      button("−", "Smaller", () => zoom(1 / 1.5)), button("+", "Larger", () => zoom(1.5)), closing()),
    stage, make("div", {}, make("p", {class: "note"}, `${systems[i].name}, from confidence ${fixed(systems[i].steps.steps[state.steps[i]], 2)} on. Truth solid, predictions dashed.`), list),
  ]);
  paint(stage, image, objects);
}
function paint(stage, image, objects) {
  const size = doc.images.sizes[String(image)] ?? extent(objects), link = doc.images.links[String(image)];
  const picture = draw("svg", {viewBox: `0 0 ${size[0]} ${size[1]}`, role: "img", "aria-label": `${objects.length} objects`});
  const line = draw("path", {d: "M0 8L8 0", stroke: "#fff", "stroke-opacity": ".6"});
  picture.append(draw("defs", {}, draw("pattern", {id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse"}, line)));
  if (link) picture.append(draw("image", {href: link, width: size[0], height: size[1], preserveAspectRatio: "none"}));
  const same = object => view.chosen && object.side === view.chosen.side && object.box.every((v, k) => v === view.chosen.box[k]);
  for (const object of objects) {
    const [x, y, width, height] = object.box, about = {x, y, width, height};
    const kind = object.side === "truth" ? `tru ${object.fate === "missed" ? "gone" : ""}` : `prd ${object.fate === "right" ? "fine" : ""}`;
    picture.append(draw("rect", {...about, class: `halo ${object.side === "pred" ? "prdh" : ""}`}));
    const shape = draw("rect", {...about, class: `${kind} ${same(object) ? "hit" : ""}`}, draw("title", {}, tell(object)));
    picture.append(shape);
    if (same(object)) picture.append(draw("text", {x, y: Math.max(y - size[1] * .012, size[1] * .03), "font-size": size[1] * .032}, tell(object)));
  }
  picture.style.width = `${100 * view.zoom}%`;
  if (view.zoom > 1) picture.style.maxHeight = "none";
  stage.replaceChildren(picture);
}
const extent = objects => [Math.max(1, ...objects.map(o => o.box[0] + o.box[2])) * 1.02, Math.max(1, ...objects.map(o => o.box[1] + o.box[3])) * 1.02];
function move(by) {
  if (!view.images.length) return;
  view.at = (view.at + by + view.images.length) % view.images.length;
  openImage(view.i, view.images[view.at], view.images);
}
function zoom(by) {
  view.zoom = by ? Math.min(8, Math.max(1, view.zoom * by)) : 1;
  const picture = $(".stage svg", dialog);
  if (picture) { picture.style.width = `${100 * view.zoom}%`; picture.style.maxHeight = view.zoom > 1 ? "none" : ""; }
}
dialog.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = {j: () => move(1), ArrowRight: () => move(1), k: () => move(-1), ArrowLeft: () => move(-1), "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: () => zoom(0)}[event.key];
  if (act) { event.preventDefault(); act(); }
});

async function listObjects(i, title, wanted) {
  const data = await load(i);
  if (!data || !truths) return;
  const found = [], count = doc.truth.images;
  for (let image = 0; image < count && found.length < 5 * MOST; image++) found.push(...objectsOf(i, data, image).filter(wanted));
  found.sort((a, b) => (b.sure ?? 2) - (a.sure ?? 2));
  const list = make("ul", {class: "objects"}), images = [...new Set(found.map(object => object.image))];
  for (const object of found.slice(0, MOST)) list.append(make("li", {}, press(`${tell(object)}, ${imageName(object.image)}`, () => openImage(i, object.image, images, object))));
  open([make("div", {class: "top"}, make("h2", {}, title), closing()),
    make("div", {}, make("p", {class: "note"}, found.length ? `${whole(found.length)} objects${found.length > MOST ? `, the first ${MOST}` : ""}` : "none from this confidence on"), list)]);
}
function listLabel(i, name) {
  const label = labels.indexOf(name);
  if (label < 0) return;
  state.label = name; state.cell = ""; remember();
  listObjects(i, `Errors of ${shown(name)}`, object => object.label === label && isError(object));
}
function listCell(i, truth, pred) {
  const a = labels.indexOf(truth), b = labels.indexOf(pred);
  state.cell = `${encodeURIComponent(truth)},${encodeURIComponent(pred)}`; state.label = ""; remember();
  if (a < 0) listObjects(i, `${shown(pred)} where nothing is`, object => object.side === "pred" && object.label === b && object.fate !== "right" && object.other < 0);
  else if (b < 0) listObjects(i, `${shown(truth)} missed`, object => object.side === "truth" && object.label === a && object.fate === "missed");
  else if (a === b) listObjects(i, `${shown(truth)} found`, object => object.side === "pred" && object.label === b && object.fate === "right");
  else listObjects(i, `${shown(truth)} taken for ${shown(pred)}`, object => object.side === "pred" && object.label === b && object.other === a);
}
const opener = (row, act) => {
  const head = row.cells[0], name = $("bdi", head);
  if (!name) return;
  const opens = press("", act, {class: "open"});
  name.replaceWith(opens);
  opens.append(name);
};
for (const row of $$("tr[data-open]")) {
  const [i, image] = row.dataset.open.split(".").map(Number);
  opener(row, () => openImage(i, image, $$("tr[data-open]", row.parentElement).map(other => Number(other.dataset.open.split(".")[1]))));
}
systems.forEach((_, i) => { for (const row of $$(`#classes-${i} tbody tr`)) opener(row, () => listLabel(i, labels[Number(row.dataset.label)])); });
for (const cell of $$("[data-cell]")) {
  const [i, a, b] = cell.dataset.cell.split(".").map(Number);
  const text = cell.textContent;
  cell.replaceChildren(press(text, () => listCell(i, a < 0 ? "" : labels[a], b < 0 ? "" : labels[b])));
}
for (const input of $$(".find")) {
  const i = Number(input.dataset.system), hits = make("p", {class: "row", role: "group", "aria-label": "Found images"});
  input.closest("p").after(hits);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase(), images = [];
    if (wanted) for (const [key, name] of Object.entries(doc.images.names)) if (String(name).toLowerCase().includes(wanted) && images.push(Number(key)) >= 20) break;
    hits.replaceChildren(...images.map(image => button(imageName(image), imageName(image), () => openImage(i, image, images))));
    status.textContent = `${images.length} images`;
  });
}

// Marks of suspicious truths, commands, theme

const marks = $("#marks");
if (marks) $("#copy-marks").addEventListener("click", () => {
  const quote = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text, rows = ["record,verdict"];
  for (const item of $$("[data-record]")) {
    const chosen = $("input:checked", item);
    if (chosen) rows.push(`${quote(item.dataset.record)},${chosen.value}`);
  }
  marks.hidden = false;
  marks.value = rows.join("\n") + "\n";
  marks.focus(); marks.select();
});
for (const copy of $$(".copy")) copy.addEventListener("click", async () => {
  const code = $("code", copy.parentElement);
  try { await navigator.clipboard.writeText(code.textContent); status.textContent = "Copied"; }
  catch { getSelection().selectAllChildren(code); status.textContent = "Selected"; }
});
$("#theme").addEventListener("click", () => {
  const root = document.documentElement, isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme ?? (isDark ? "dark" : "light")) === "dark" ? "light" : "dark";
});
const links = $$(".side a");
const watch = new IntersectionObserver(entries => {
  const seen = entries.find(entry => entry.isIntersecting)?.target.id;
  if (seen) for (const link of links) link.toggleAttribute("aria-current", link.hash === `#${seen}`);
}, {rootMargin: "-20% 0px -70% 0px"});
$$("section").forEach(section => watch.observe(section));
if (truths) for (const element of $$(".js:not(.at)")) element.hidden = false;
addEventListener("hashchange", recall);
await recall();
document.documentElement.dataset.ready = "";
