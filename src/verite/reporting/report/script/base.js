// Optional: the report is readable without this script. Names become text only, never keys of objects.
const $ = (query, from = document) => from.querySelector(query), $$ = (query, from = document) => [...from.querySelectorAll(query)];
const each = (query, act, from) => $$(query, from).forEach(act), dialog = $("#viewer");
const on = (element, type, act) => element.addEventListener(type, act);
const listen = (query, type, act, from) => each(query, one => on(one, type, event => act(one, event)), from);
const write = (element, text) => element?.replaceChildren(text), say = text => write($("#said"), text);
const fixed = (value, digits) => isFinite(value) ? value.toFixed(digits) : "–", whole = value => value.toLocaleString("en");
const signed = (value, digits = 3) => isFinite(value) ? (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits) : "–";
const writeAll = (query, texts, from) => each(query, (cell, k) => write(cell, texts[k]), from);
const read = cell => parseFloat(cell?.textContent.replaceAll(",", "").replace("−", "-"));
const numbers = text => text.split(" ").map(Number), sum = values => values.reduce((a, b) => a + b, 0);
const percent = (part, all, unit = "\u00a0%") => all ? fixed(100 * part / all, 0) + unit : "–";
const nearest = (list, far) => list.reduce((best, one) => far(one) < far(best) ? one : best);
const NAMELESS = "(no name)", mark = c => c < " " ? String.fromCharCode(0x2400 + c.charCodeAt()) : "\ufffd";
const shown = name => String(name).trim().slice(0, 120).replace(/[\0-\x1f\x7f-\x9f]/g, mark) || NAMELESS;

function fill(made, about, ...children) {
	for (const key in about) made.setAttribute(key, about[key]);
	made.append(...children);
	return made;
}
const make = (name, about, ...children) => fill(document.createElement(name), about, ...children);
const draw = (name, about, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), about, ...children);
function press(text, act, about) {
	const made = make("button", {type: "button", ...about}, text);
	on(made, "click", act);
	return made;
}

// Packed data: deflated, in base64
const canUnpack = "DecompressionStream" in window;
async function inflate(id) {
	const text = $(id).textContent, bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), c => c.charCodeAt());
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}
async function unpack(id, layout) {
	const raw = await (await inflate(id)).arrayBuffer(), found = {};
	let at = 0;
	for (const [name, type, length] of layout) {
		const bytes = new Uint8Array(raw, at, length), made = new window[type](length / window[type].BYTES_PER_ELEMENT), n = made.length;
		// All low bytes come first: they compress better apart from the high ones.
		const out = new Uint8Array(made.buffer), size = made.BYTES_PER_ELEMENT;
		if (size === 1) out.set(bytes);
		else for (let k = 0; k < size; k++) for (let j = 0; j < n; j++) out[j * size + k] = bytes[k * n + j];
		found[name] = made;
		at += length;
	}
	return found;
}
const report = canUnpack && await (await inflate("#verite")).json();
const {systems, images, words, truth: {labels, asked: objectCounts}, packed: {scale, layout}} = report || {systems: [], images: {}, truth: {labels: []}, packed: {}};
const nameOf = label => shown(labels[label]), imageName = image => shown(images.names[image]), systemName = i => shown(systems[i].name);
const truths = report && await unpack("#objects", layout), ready = [], loaded = [];
const load = i => loaded[i] ??= unpack(`#objects-${i}`, systems[i].packed.layout).then(data => {
	// Of attributed objects only the difference to matched ones is stored.
	for (const end of ["", "+"]) data["near" + end].forEach((bits, j) => data["near" + end][j] = bits ^ data["found" + end][j]);
	return ready[i] = data;
});

// One tab stop for a grid of buttons; arrow keys move inside it
function rove(box, query) {
	const all = () => $$(query, box).filter(one => one.checkVisibility());
	const stop = chosen => all().forEach(one => one.tabIndex = one === chosen ? 0 : -1);
	if (all().length < 2) return;
	box.dataset.rove = "";
	stop(all()[0]);
	if (box.dataset.roves === query) return;
	box.dataset.roves = query;
	on(box, "focusin", event => event.target.matches(query) && stop(event.target));
	on(box, "keydown", event => {
		const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key], from = event.target.getBoundingClientRect();
		if (!way || !event.target.matches(query) || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		event.stopPropagation();
		const center = box => [box.x + box.width / 2, box.y + box.height / 2], [x, y] = center(from);
		const ahead = all().map(one => {
			const [u, v] = center(one.getBoundingClientRect()), [along, off] = way[0] ? [way[0] * (u - x), v - y] : [way[1] * (v - y), u - x];
			return {one, along, far: along + 4 * Math.abs(off)};
		}).filter(place => place.along > 2);
		if (ahead.length) nearest(ahead, place => place.far).one.focus();
	});
}
