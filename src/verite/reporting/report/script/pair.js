// Sections of one detector or of a pair: those that are not in the page are unpacked when they are chosen
let shared;
const pieces = {}, pairKey = () => [state.a, state.b].sort((a, b) => a - b).join("-");
async function piecesOf(key) {
	if (pieces[key]) return pieces[key];
	const found = {};
	if (!$(`#part-${key}`)) return pieces[key] = found;
	// Pieces of HTML that all parts share, between the numbers of this one.
	const lines = bytes => new TextDecoder().decode(bytes).split("\n");
	shared ??= lines((await unpack("#pieces")).pieces);
	const {pieces: places, numbers: own} = await unpack(`#part-${key}`), values = lines(own);
	for (const [id, html] of Object.entries(JSON.parse(Array.from(places, (at, k) => shared[at] + (values[k] ?? "")).join("")))) {
		const holder = make("template", {});
		holder.innerHTML = html;
		found[id] = [...holder.content.childNodes];
	}
	return pieces[key] = found;
}
async function put(key) {
	const found = await piecesOf(key);
	each("[data-part]", box => {
		const id = box.dataset.part, isPair = PAIRED.includes(id);
		if (isPair !== String(key).includes("-") || box.dataset.key === String(key)) return;
		if (!found[id]) return isPair && box.replaceChildren(make("h2", {class: "finding"}, "This pair is not in the report: create it with fewer detectors."));
		pieces[box.dataset.key] ??= {};
		pieces[box.dataset.key][id] = Object.assign([...box.childNodes], {isWired: true});
		each("table[data-rows]", classRows, make("div", {}, ...found[id]));
		box.replaceChildren(...found[id]);
		box.dataset.key = key;
		if (!found[id].isWired) connect(box);
	});
}
// Scores of both detectors by class, as in the first pair: label, colour, thousandths of both, difference and interval
function classRows(table) {
	const show = (value, sign) => isNaN(value) ? "–" : (sign ? signed : fixed)(value / 1000, 3), at = value => `${(2 + .096 * value).toFixed(1)}%`;
	if (table.tBodies[0].rows.length) return;
	for (const line of table.dataset.rows.split(";")) {
		const [label, colour, ...values] = line.split(" "), [a, b, gap, low, high] = values.map(Number), kind = colour === "-" ? "" : " " + colour;
		const bar = draw("svg", {class: "bar", height: 26, "aria-hidden": true}, draw("line", {x1: at(a), x2: at(b), y1: 13, y2: 13, class: "iv" + kind}), draw("circle", {cx: at(b), cy: 13, r: 4, class: "ring" + kind}), draw("circle", {cx: at(a), cy: 13, r: 5, class: "dot" + kind}));
		const cells = [show(a), show(b), show(gap, true)].map(text => make("td", {}, text));
		if (values.length > 3) cells.push(make("td", {class: "q"}, isNaN(low) ? "–" : `${show(low, true)} to ${show(high, true)}`));
		table.tBodies[0].append(make("tr", {"data-differs": label}, make("th", {scope: "row"}, make("bdi", {class: "nm whole"}, nameOf(label))), make("td", {class: "wide"}, bar), ...cells));
	}
}
let PAIRED = [];
async function choose(a, b) {
	if (a === b) b = a === state.a ? state.b : state.a;
	Object.assign(state, {a, b});
	if (!hasPair) return;
	for (const side of ["a", "b"]) $("#" + side).value = state[side];
	await put(a);
	await put(pairKey());
	each("section > .title .of bdi", one => write(one, systemName(a)));
	each("[data-foot]", one => one.hidden = +one.dataset.foot !== a);
	each("[data-detector]", one => one.classList.toggle("chosen", [a, b].includes(+one.dataset.detector)));
	await strips();
}
// Objects that only one of the two detects, as crops
async function strips() {
	for (const box of $$("[data-only]")) {
		const [mine, other] = numbers(box.dataset.only), at = [mine, other].map(i => state.at[i]).join();
		if (box.at === at) continue;
		box.at = at;
		const isFound = one => one.isTruth && one.isCounted && one.outcome === "detected";
		const theirs = new Set(allObjects(other, await load(other)).filter(isFound).map(one => one.j));
		const found = allObjects(mine, await load(mine)).filter(one => isFound(one) && !theirs.has(one.j));
		const area = one => one.columns.w[one.j] * one.columns.h[one.j], order = [...new Set(found.map(one => one.image))];
		found.sort((a, b) => b.confidence - a.confidence || area(b) - area(a));
		const of = mine === state.a ? "a" : "b", all = press(`All ${whole(found.length)} in the contact sheet`, () => sheet.show({agree: of, type: "detected"}, of), {class: "btn"});
		box.replaceChildren(make("ul", {class: "tiles"}, ...spread(found).map(one => make("li", {}, tile(mine, one, order)))), make("p", {class: "row"}, all));
		rove($("ul", box), "button");
	}
}
// At most two of a class, as long as there are other classes
function spread(found, most = 12) {
	const seen = new Map(), first = found.filter(one => seen.set(one.label, (seen.get(one.label) ?? 0) + 1).get(one.label) <= 2);
	return seen.size * 2 < most ? found.slice(0, most) : first.slice(0, most);
}

// AP at another IoU, and as if errors were fixed
const whatif = {
	box: $("#whatif"),
	start() {
		if (!this.box) return;
		listen("input", "input", () => this.show(), this.box);
		this.show();
	},
	show() {
		if (!this.box) return;
		const slider = $("[type=range]", this.box), k = +slider.value, ticks = $$("[type=checkbox]", this.box), bits = sum(ticks.map((one, t) => one.checked ? 1 << one.value : 0));
		const {ious} = report.whatif, where = k ? `${words.overlap} ${fixed(ious[k - 1], 2)}` : `mean over ${words.overlap} ${fixed(ious[0], 2)} to ${fixed(ious.at(-1), 2)}`;
		const value = (i, set) => k ? report.whatif.ap[i][k - 1][set] : sum(report.whatif.ap[i].map(one => one[set])) / ious.length;
		write($(".where", this.box), where);
		slider.ariaValueText = where;
		each("[data-ap]", cell => {
			const i = +cell.dataset.ap, now = value(i, bits), [ap, more, bar] = ["b", "small", "rect"].map(query => $(query, cell));
			write(ap, fixed(now, 3));
			ap.dataset.value = now;
			write(more, bits ? `${signed(now - value(i, 0))} against ${fixed(value(i, 0), 3)}` : "");
			fill(bar, {width: `${100 * now}%`});
		}, this.box);
	},
};
