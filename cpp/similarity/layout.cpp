#include "similarity/layout.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace verite {
namespace {

const Shapes& shapes_of(const Regions& regions) {
    static const Shapes none;
    return regions.shapes ? regions.shapes->get() : none;
}

std::int64_t count_labelled(std::span<const double> points) {
    std::int64_t count = 0;
    for (std::size_t at = 2; at < points.size(); at += 3) count += points[at] > 0;
    return count;
}

}  // namespace

std::string name_of(const Images& images, std::size_t image) {
    std::string name = "'";
    if (images.names)
        name.append(images.names[image].begin(), images.names[image].end());
    else
        name += std::to_string(images.ids[image]);
    return name += "'";
}

std::string Layout::place_of(const Columns& columns, std::size_t row) const {
    return " in image " + name_of(images_, static_cast<std::size_t>(columns.image[row]));
}

Objects Layout::prepare_truths(const Columns& columns, ComputedColumns& computed) const {
    if (similarity_.wants.outlines) check_outlines(columns);
    return prepare({columns, "truth", false, similarity_.wants.outlines}, computed);
}

Objects Layout::prepare_preds(const Columns& columns, bool needs_outlines, ComputedColumns& computed) const {
    return prepare({columns, "predictions", true, similarity_.wants.outlines || needs_outlines}, computed);
}

void Layout::ignore_without_keypoints(const Columns& columns, Array<std::uint8_t>& ignored) const {
    if (!similarity_.wants.keypoints) return;
    const auto& keypoints = columns.regions.keypoints;
    ignored.resize(columns.count(), 0);
    for (std::size_t i = 0; i < columns.count(); ++i) {
        const std::int64_t stated = columns.labelled ? columns.labelled[i] : -1;
        const auto points = keypoints ? keypoints[i] : std::span<const double>{};
        ignored[i] |= (stated < 0 ? count_labelled(points) : stated) == 0;
    }
}

Objects Layout::prepare(const RequestedSide& side, ComputedColumns& computed) const {
    computed.boxes = boxes_as(side.columns.regions, similarity_.wants.corners ? BoxLayout::corners : BoxLayout::sizes);
    Objects objects;
    objects.boxes = computed.boxes.values;
    if (similarity_.wants.keypoints) add_keypoints(side, objects);
    if (similarity_.wants.quads) add_quads(side, computed, objects);
    if (similarity_.wants.points) add_points(side, computed, objects);
    if (side.needs_outlines) add_outlines(side, computed, objects);
    return objects;
}

void Layout::check_outlines(const Columns& truth) const {
    std::size_t boxes = 0, first = truth.count();
    for (std::size_t i = truth.count(); i-- > 0;)
        if (truth.regions.kind(i) == RegionKind::box) ++boxes, first = i;
    if (boxes > 0)
        throw std::invalid_argument("truth: expected a polygon or mask for every object, found " +
                                    std::to_string(boxes) + " of " + std::to_string(truth.count()) +
                                    " without, the first" + place_of(truth, first) + "; evaluate boxes with --on box");
}

void Layout::add_outlines(const RequestedSide& side, ComputedColumns& computed, Objects& objects) const {
    const Columns& columns = side.columns;
    const Shapes& shapes = shapes_of(columns.regions);
    computed.sizes.resize(2 * columns.count());
    for (std::size_t i = 0; i < columns.count(); ++i) {
        const auto image = static_cast<std::size_t>(columns.image[i]);
        computed.sizes[2 * i] = images_.heights[image];
        computed.sizes[2 * i + 1] = images_.widths[image];
        const bool is_drawn = !shapes.has_runs() || shapes.run_objects[i] == shapes.run_objects[i + 1];
        if (is_drawn && std::min(computed.sizes[2 * i], computed.sizes[2 * i + 1]) <= 0)
            throw std::invalid_argument(
                std::string(side.name) + ": expected the size of every image to draw masks, found none for " +
                name_of(images_, image) + "; give --image-size WIDTH,HEIGHT or --images FOLDER");
    }
    objects.outlines = list_outlines(shapes, computed.boxes.values, computed.sizes);
}

// Polygons of four corners as they are, boxes by theirs.
void Layout::add_quads(const RequestedSide& side, ComputedColumns& computed, Objects& objects) const {
    const Columns& columns = side.columns;
    const Regions& regions = columns.regions;
    const bool has_quads = std::ranges::any_of(regions.kinds.values, [](std::uint8_t kind) { return kind == 1; });
    if (columns.count() > 0 && !has_quads)
        throw std::invalid_argument(std::string(side.name) +
                                    ": expected rotated boxes, found none; evaluate boxes with --on box");
    const Shapes& shapes = shapes_of(regions);
    computed.quads.resize(8 * columns.count());
    for (std::size_t i = 0; i < columns.count(); ++i) {
        double* const quad = &computed.quads[8 * i];
        if (regions.kind(i) == RegionKind::box) {
            const double *box = &computed.boxes[4 * i], right = box[0] + box[2], bottom = box[1] + box[3];
            const double corners[8] = {box[0], box[1], right, box[1], right, bottom, box[0], bottom};
            std::copy_n(corners, 8, quad);
            continue;
        }
        const auto refuse = [&](const std::string& found) {
            throw std::invalid_argument(std::string(side.name) + ": expected four corners for every object, found " +
                                        found + place_of(columns, i) + "; compare polygons and masks with --on mask");
        };
        if (regions.kind(i) == RegionKind::mask) refuse("a mask");
        const auto ring = static_cast<std::size_t>(shapes.ring_objects[i]);
        if (shapes.ring_objects[i + 1] - shapes.ring_objects[i] != 1) refuse("a polygon of several rings");
        const std::int64_t corners = shapes.rings[ring + 1] - shapes.rings[ring];
        if (corners != 4) refuse("a polygon of " + std::to_string(corners));
        std::copy_n(shapes.points.data() + 2 * shapes.rings[ring], 8, quad);
    }
    objects.quads = computed.quads;
}

// The mean of the labelled keypoints, else the centre of the box.
void Layout::add_points(const RequestedSide& side, ComputedColumns& computed, Objects& objects) const {
    const Columns& columns = side.columns;
    const auto& keypoints = columns.regions.keypoints;
    computed.points.resize(3 * columns.count());
    for (std::size_t i = 0; i < columns.count(); ++i) {
        const double* const box = &computed.boxes[4 * i];
        double* const point = &computed.points[3 * i];
        point[0] = box[0] + box[2] / 2;
        point[1] = box[1] + box[3] / 2;
        const auto points = keypoints ? keypoints[i] : std::span<const double>{};
        if (const auto labelled = static_cast<double>(count_labelled(points)); labelled > 0) {
            point[0] = point[1] = 0;
            for (std::size_t at = 0; at < points.size(); at += 3)
                if (points[at + 2] > 0) point[0] += points[at] / labelled, point[1] += points[at + 1] / labelled;
        }
        if (side.is_pred) continue;
        const auto image = static_cast<std::size_t>(columns.image[i]);
        const double width = images_.widths[image], height = images_.heights[image];
        if (reach_.diagonal > 0 && !(width > 0 && height > 0))
            throw std::invalid_argument(
                "truth: expected the size of every image for a maximum distance relative to "
                "its diagonal, found none for " +
                name_of(images_, image) +
                "; give --max-distance in pixels, --image-size WIDTH,HEIGHT or --images "
                "FOLDER");
        const double size = std::sqrt(box[2] * box[3]);
        if (reach_.size > 0 && !(size > 0))
            throw std::invalid_argument(
                "truth: expected boxes with an area for a maximum distance relative to the "
                "size of objects, found one without" +
                place_of(columns, i) + "; give --max-distance in pixels");
        point[2] = reach_.pixels + reach_.diagonal * std::hypot(width, height) + reach_.size * size;
    }
    objects.points = computed.points;
}

void Layout::add_keypoints(const RequestedSide& side, Objects& objects) const {
    const Columns& columns = side.columns;
    const auto& keypoints = columns.regions.keypoints;
    objects.sigmas = {sigmas_.values.values, sigmas_.starts.values};
    objects.labels = columns.label.values;
    if (columns.count() == 0) return;
    if (!keypoints)
        throw std::invalid_argument(std::string(side.name) +
                                    ": expected keypoints, found none; evaluate boxes with --on box");
    for (std::size_t i = 0; i < columns.count(); ++i) {
        const auto label = static_cast<std::size_t>(columns.label[i]);
        const std::size_t found = keypoints[i].size() / 3;
        if (label >= sigmas_.size() || (found == 0 && !side.is_pred)) continue;
        const std::size_t wanted = sigmas_[label].size();
        if (found != wanted || found == 0)
            throw std::invalid_argument(std::string(side.name) + ": expected " + std::to_string(wanted) +
                                        " keypoints, as there are sigmas, found " + std::to_string(found) +
                                        place_of(columns, i) + " (V420); are these of the same skeleton?");
    }
    objects.keypoints = {keypoints.values.values, keypoints.starts.values};
}

}  // namespace verite
