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

// Packed data: columns deflated one by one, in base 91: 13 bits are two digits
const canUnpack = "DecompressionStream" in window, DIGIT = new Uint8Array(127);
for (let code = 33, digit = 0; code < 127; code++) if (!"&<>".includes(String.fromCharCode(code))) DIGIT[code] = digit++;
function decode(text) {
	const bytes = new Uint8Array(text.length * 13 >> 4);
	for (let k = 0, at = 0, bits = 0, left = 0; k < text.length; k += 2) {
		bits |= DIGIT[text.charCodeAt(k)] + 91 * DIGIT[text.charCodeAt(k + 1)] << left;
		for (left += 13; left > 7; left -= 8, bits >>= 8) bytes[at++] = bits;
	}
	return bytes;
}
const inflate = bytes => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
async function unpack(id, layout) {
	const packed = decode($(id).textContent), found = {};
	let at = 0;
	for (const [name, type, , length] of layout ?? JSON.parse($(id).dataset.layout)) {
		const bytes = new Uint8Array(await inflate(packed.subarray(at, at += length)).arrayBuffer());
		const made = new window[type](bytes.length / window[type].BYTES_PER_ELEMENT), n = made.length;
		// All low bytes come first: they compress better apart from the high ones.
		const out = new Uint8Array(made.buffer), size = made.BYTES_PER_ELEMENT;
		if (size === 1) out.set(bytes);
		else for (let k = 0; k < size; k++) for (let j = 0; j < n; j++) out[j * size + k] = bytes[k * n + j];
		found[name] = made;
	}
	if (found.many) {
		let next = 0;
		found.start = Uint32Array.of(0, ...Array.from(found.many, many => next += many));
	}
	return found;
}
const report = canUnpack && await inflate(Uint8Array.from(atob($("#verite").textContent), c => c.charCodeAt())).json();
const {systems, images, words, truth: {labels, asked: objectCounts}, packed: {scale, fine, layout}} = report || {systems: [], images: {}, truth: {labels: []}, packed: {}};
const nameOf = label => shown(labels[label]), imageName = image => shown(images.names[image]), systemName = i => shown(systems[i].name);
const truths = report && await unpack("#objects", layout), ready = [], loaded = [];
const load = i => loaded[i] ??= unpack(`#objects-${i}`, systems[i].packed.layout).then(data => ready[i] = place(data, systems[i].steps.steps.length * fine));
// Most predictions are stored as differences to the ground-truth object that they match or miss.
function place(data, most) {
	const {start, ref, label, type, sure, iou, e0, e1, e2, e3} = data, n = ref.length, signed = value => value & 1 ? -(value + 1) / 2 : value / 2;
	const {x, y, w, h} = data, boxes = Object.fromEntries([..."xywh"].map(side => [side, new Uint16Array(n)])), levels = new Uint16Array(n), classes = new Uint32Array(n);
	const count = () => new Uint8Array(truths.label.length), found = {found: count(), "found+": count(), near: count(), "near+": count()};
	let other = 0, near = 0;
	for (let image = 0; image < start.length - 1; image++) for (let j = start[image], level = most; j < start[image + 1]; j++) {
		levels[j] = level -= sure[j];
		level = levels[j];
		if (!ref[j]) {
			[boxes.x[j], boxes.y[j], boxes.w[j], boxes.h[j]] = [x[other], y[other], w[other], h[other++]];
			classes[j] = label[j];
			if (iou) iou[j] = signed(iou[j]);
			continue;
		}
		const t = truths.start[image] + ref[j] - 1, [tx, ty, tw, th] = [truths.x[t], truths.y[t], truths.w[t], truths.h[t]], right = tx + tw + signed(e2[near]), below = ty + th + signed(e3[near]);
		const left = boxes.x[j] = tx + signed(e0[near]), top = boxes.y[j] = ty + signed(e1[near++]), wide = boxes.w[j] = right - left, high = boxes.h[j] = below - top;
		classes[j] = truths.label[t] + signed(label[j]);
		if (iou) {
			const shared = Math.max(0, Math.min(right, tx + tw) - Math.max(left, tx)) * Math.max(0, Math.min(below, ty + th) - Math.max(top, ty));
			iou[j] = signed(iou[j]) + Math.floor(100 * shared / Math.max(1, wide * high + tw * th - shared));
		}
		if (!truths.asked[t]) continue;
		const step = Math.floor(level / fine) + 1;
		for (const name of type[j] & 15 ? ["near"] : ["near", "found"]) {
			found[name][t] = Math.max(found[name][t], step);
			found[name + "+"][t] |= type[j] >> 4;
		}
	}
	// What predictions that are not stored would change
	for (const name in found) data[name]?.forEach((bits, t) => found[name][t] ^= bits);
	return {...data, ...boxes, ...found, sure: levels, label: classes, iou};
}

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
