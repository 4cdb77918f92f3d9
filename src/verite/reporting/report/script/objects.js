// Outlines, where more than boxes is compared
function trace({lines = [], points, across, down}) {
	let ring = 0, point = 0;
	return Array.from(lines, many => {
		let path = "";
		for (; many--; path += "Z") {
			let x = 0, y = 0, sign = "M";
			for (let left = points[ring++]; left--; point++, sign = "L") path += `${sign}${(x += across[point]) * scale} ${(y += down[point]) * scale}`;
		}
		return path;
	});
}
function objectsOf(i, data, image, at = state.at[i]) {
	const found = [], {types, confusion} = systems[i], bit = 1 << at - steps, low = valueAt(i, 0), high = valueAt(i, steps - 1);
	const {start, label: classes, type: bits, sure: levels, iou, to, claims: candidates = []} = data, isFirst = confusion?.matching === "same-first";
	const reaches = (name, j) => at < steps ? data[name][j] > at : data[name + "+"][j] & bit;
	const certain = level => low + (high - low) * level / (steps - 1);
	let next = 0;
	data.first ??= Uint32Array.from(candidates, many => (next += many) - many);
	for (let j = truths.start[image]; j < truths.start[image + 1]; j++) {
		const matched = reaches("found", j), label = truths.label[j], isCounted = truths.asked[j], isError = !matched && isCounted > 0;
		const outcome = matched ? "detected" : isError ? "missed" : "ignored", other = matched && isFirst ? label : isCounted - 2;
		const confidence = matched ? certain(data.found[j] - 1) : NaN;
		found.push({i, image, j, label, outcome, other, isError, isCounted, isTruth: true, isAttributed: reaches("near", j), confidence, columns: truths});
	}
	for (let j = start[image]; j < start[image + 1]; j++) {
		const level = levels[j], type = bits[j] & 15, label = classes[j];
		if (at < steps ? level < at * fine : !(bits[j] >> 4 & bit)) continue;
		// As the matrix matches: the first unmatched ground truth with sufficient IoU.
		const mine = found[to?.subarray(data.first[j], data.first[j] + candidates[j]).find(k => found[k].other === -1)];
		if (mine) mine.other = label;
		const confidence = certain((level + .5) / fine), other = mine?.label ?? (type || !isFirst ? -1 : label);
		found.push({i, image, j, label, outcome: types[type], other, isError: type > 0, isTruth: false, confidence, iou: iou?.[j] / 100, columns: data});
	}
	return found;
}
function allObjects(i, data, at = state.at[i]) {
	if (data.all?.at !== at) {
		data.all = [];
		for (let image = 0; image < truths.start.length - 1; image++) for (const one of objectsOf(i, data, image, at)) data.all.push(one);
		data.all.at = at;
	}
	return data.all;
}
function shapeOf({columns, j}) {
	const [x, y, w, h] = [..."xywh"].map(side => columns[side][j] * scale), paths = columns.paths ??= trace(columns);
	return {x, y, right: x + w, below: y + h, d: paths[j] || `M${x} ${y}h${w}v${h}h${-w}Z`};
}
const errorsFirst = (a, b) => b.isError - a.isError;
const typeName = type => ({class: "classification", wrong: "false positive", right: "true positive"})[type] ?? type;
function describe({isTruth, isError, outcome, label, confidence, iou}) {
	if (isTruth) return `${isError ? "○" : outcome === "detected" ? "●" : "◌"} ${outcome} ${nameOf(label)}`;
	return `${isError ? "✗" : "✓"} ${nameOf(label)} ${fixed(confidence, 2)}${isError ? ` (${typeName(outcome)})` : ""}${iou > 0 ? `, ${words.overlap} ${fixed(iou, 2)}` : ""}`;
}
function backdrop(image, width, height) {
	const href = images.links[image];
	return href && draw(href[0] === "#" ? "use" : "image", {href, width, height, preserveAspectRatio: "none"});
}
function sizeOf(image, shapes) {
	return images.sizes[image] ?? ["right", "below"].map(side => Math.max(1, ...shapes.map(one => one[side])) * 1.02);
}
const hatchOf = side => `url(#hatch-${Math.min(9, Math.max(0, Math.round(Math.log2(side / 18))))})`;
const kindOf = ({isTruth, isError}) => (isTruth ? "tru" : "prd") + (isError ? " bad" : "");
// A square around an object, with its neighbours in thin lines
function cropOf(i, one) {
	const objects = objectsOf(i, ready[i], one.image), shapes = objects.map(shapeOf), {x, y, right, below} = shapeOf(one);
	const [wide, high] = sizeOf(one.image, shapes), side = Math.max(48, 1.6 * Math.max(right - x, below - y)), w = Math.min(side, wide), h = Math.min(side, high);
	const left = Math.min(Math.max((x + right - w) / 2, 0), wide - w), top = Math.min(Math.max((y + below - h) / 2, 0), high - h), photo = backdrop(one.image, wide, high);
	const made = draw("svg", {viewBox: `${left} ${top} ${w} ${h}`, class: photo ? "pic" : "pic blank", role: "img", "aria-label": describe(one)});
	if (photo) made.append(photo);
	objects.forEach((other, k) => {
		const s = shapes[k], isMe = other.j === one.j && other.isTruth === one.isTruth;
		if (isMe || s.right < left || s.x > left + w || s.below < top || s.y > top + h) return;
		made.append(draw("path", {d: s.d, class: kindOf(other) + " near"}));
	});
	const d = shapeOf(one).d, about = {d, class: kindOf(one)};
	if (one.isTruth && one.isError) about.fill = hatchOf(Math.max(w, h));
	made.append(draw("path", {d, class: one.isTruth ? "halo" : "halo prdh"}), draw("path", about));
	return made;
}
